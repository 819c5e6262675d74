import type { Bands } from '../bands.js'
import { FIELDS, type Field, fieldNamed } from '../fields/index.js'
import type { EventHistory, EventsPage } from '../model/event.js'
import type { OversoldPage, OversoldParams } from '../model/oversold.js'
import type { EventsParams, HistoryParams, PoolParams } from '../model/query.js'
import type { Timeframe } from '../model/timeframe.js'
import { parseOversold } from '../query/oversold.js'
import { parseEvents, parseHistory, parsePool } from '../query/parse.js'
import { fieldValue, tickerValue, timeframeValue, wordValue } from '../query/values.js'
import { type Now, type NowQuery, now } from '../study/now.js'
import { type Tally, tally } from '../study/tally.js'
import { TALLY_GROUPINGS, type TallyGrouping } from '../study/tally-groups.js'
import { type Transitions, transitionsOf } from '../study/transitions.js'

/**
 * The questions that stand on events, as a program asks them of a database or of a server: parameters spelled as in the
 * specification, answers as the command line prints them with `--json`. Every question may throw InvalidParameter,
 * TierRestricted or NotFound.
 */
export abstract class Questions {
  readonly #bands: Bands

  constructor(bands: Bands) {
    this.#bands = bands
  }

  /** `GET /v1/events`: the newest matching transitions of one field of one ticker, with their aftermath. */
  async events(params: EventsParams): Promise<EventsPage> {
    return this.#bands.events(parseEvents(params))
  }

  /** `GET /v1/scan/oversold`: which tickers are oversold. */
  async oversold(params: OversoldParams = {}): Promise<OversoldPage> {
    return this.#bands.oversold(parseOversold(params))
  }

  /** All matching transitions, oldest first; of a database with raw returns and percentiles. */
  async history(params: HistoryParams): Promise<EventHistory> {
    return this.#bands.history(parseHistory(params))
  }

  /** How often each performance followed, and what a database knows of returns, beside what usually follows; by band unless one is given. */
  async tally({ by, ...params }: PoolParams & { by?: TallyGrouping }): Promise<Tally> {
    const pool = parsePool(params)
    const vocabularies = { field: bandsOf(pool.field), context: bandsOf(pool.context?.field) }
    return tally(
      this.#bands,
      by === undefined ? pool : { ...pool, by: wordValue('by', by, TALLY_GROUPINGS) },
      vocabularies,
    )
  }

  /** Which band follows which, and how long each lasts, in bars; with a context also by the band that it was in. */
  async transitions(params: Omit<PoolParams, 'band' | 'context_band'>): Promise<Transitions> {
    const query = parsePool(params)
    return transitionsOf(this.#bands, query, {
      field: bandsOf(query.field),
      context: bandsOf(query.context?.field),
    })
  }

  /** The present band of fields, since when, and how long such stays last; all fields of the tier unless some are named. */
  async now({
    tickers,
    fields,
    timeframe = 'daily',
  }: {
    tickers: readonly string[]
    fields?: readonly string[]
    timeframe?: string
  }): Promise<Now> {
    const names = tickers.map(ticker => tickerValue('ticker', ticker))
    const unit = timeframeValue('timeframe', timeframe)
    const asked = fields?.map(name => fieldValue('field', name)) ?? (await this.grantedFields(names, unit))
    const skip = fields === undefined ? await this.lacking() : undefined
    return now(this.#bands, { tickers: names, fields: asked.map(field => field.name), timeframe: unit, skip })
  }

  /** The 21 band fields with tier and vocabulary. */
  fields(): readonly Field[] {
    return FIELDS
  }

  async close(): Promise<void> {
    await this.#bands.close()
  }

  /** The fields that the caller's tier may ask for, when tickers are about to be asked. */
  protected abstract grantedFields(tickers: readonly string[], timeframe: Timeframe): Promise<readonly Field[]>

  /** What is left out where no fields are named. */
  protected abstract lacking(): Promise<NowQuery['skip']>
}

/** The vocabulary of a field, in its order; empty for none. */
export function bandsOf(field: string | undefined): readonly string[] {
  return field === undefined ? [] : (fieldNamed(field)?.bands ?? [])
}
