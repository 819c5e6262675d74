import type { Field } from './fields/field.js'
import { FIELDS, fieldNamed } from './fields/index.js'
import { type Explanation, explain } from './local/explain.js'
import { type ExportFilter, exportBars, exportEvents } from './local/export.js'
import { exportSeries } from './local/export-series.js'
import { facts, type KnownFacts } from './local/facts.js'
import type { Local } from './local/index.js'
import { type Status, status } from './local/status.js'
import type { EventHistory, EventsPage } from './model/event.js'
import type { ExportedBar, ExportedEvent, ExportedSeriesBar } from './model/export.js'
import { FACT_KINDS, type FactKind } from './model/facts.js'
import type { EventsParams, HistoryParams, PoolParams } from './model/query.js'
import type { Tier } from './model/tier.js'
import { openLocal } from './open.js'
import { grantedFields } from './policy/entitle.js'
import { parseEvents, parseHistory, parsePool } from './query/parse.js'
import { dayValue, fieldValue, tickerValue, tierValue, timeframeValue, wordValue } from './query/values.js'
import type { TickerEntry } from './store/store.js'
import { type Now, now } from './study/now.js'
import { type Tally, tally } from './study/tally.js'
import { TALLY_GROUPINGS, type TallyGrouping } from './study/tally-groups.js'
import { type Transitions, transitionsOf } from './study/transitions.js'

export interface BandsOptions {
  /** The database file; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Default pro. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
}

/**
 * Opens a cache for questions; nothing is written. Throws InvalidParameter for an option, NotFound for a database that
 * was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands({ db, tier = 'pro', asOf }: BandsOptions = {}): Promise<BandsClient> {
  const { local } = await openLocal({
    ...(db === undefined ? {} : { db }),
    tier: tierValue('tier', tier),
    asOf: asOf === undefined ? null : dayValue('as_of', asOf),
  })
  return new BandsClient(local)
}

/**
 * The questions as a program asks them: parameters spelled as in the specification, answers as the command line prints
 * them with `--json`. Every question may throw InvalidParameter, TierRestricted or NotFound.
 */
export class BandsClient {
  readonly #local: Local

  constructor(local: Local) {
    this.#local = local
  }

  /** `GET /v1/events`: the newest matching transitions of one field of one ticker, with their aftermath. */
  async events(params: EventsParams): Promise<EventsPage> {
    return this.#local.events(parseEvents(params))
  }

  /** All matching transitions, oldest first, with raw returns and percentiles. */
  async history(params: HistoryParams): Promise<EventHistory> {
    return this.#local.history(parseHistory(params))
  }

  /** How often each performance followed, and the raw returns, beside what follows any bar; by band unless one is given. */
  async tally({ by, ...params }: PoolParams & { by?: TallyGrouping }): Promise<Tally> {
    const pool = parsePool(params)
    const vocabularies = { field: bandsOf(pool.field), context: bandsOf(pool.context?.field) }
    return tally(
      this.#local,
      by === undefined ? pool : { ...pool, by: wordValue('by', by, TALLY_GROUPINGS) },
      vocabularies,
    )
  }

  /** Which band follows which, and how long each lasts, in bars. */
  async transitions(
    params: Pick<PoolParams, 'tickers' | 'field' | 'timeframe' | 'before' | 'after'>,
  ): Promise<Transitions> {
    const query = parsePool(params)
    return transitionsOf(this.#local, query, bandsOf(query.field))
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
    const names =
      fields?.map(name => fieldValue('field', name).name) ??
      grantedFields(this.#local.cache.tier).map(field => field.name)
    return now(this.#local, {
      tickers: normalized(tickers),
      fields: names,
      timeframe: timeframeValue('timeframe', timeframe),
    })
  }

  /** Why a bar has the band that it has; the newest bar unless a date is given. */
  async explain({
    ticker,
    field,
    timeframe = 'daily',
    date,
  }: {
    ticker: string
    field: string
    timeframe?: string
    date?: string
  }): Promise<Explanation> {
    return explain(this.#local.cache, {
      ticker: tickerValue('ticker', ticker),
      field: fieldValue('field', field).name,
      timeframe: timeframeValue('timeframe', timeframe),
      ...(date === undefined ? {} : { date: dayValue('date', date) }),
    })
  }

  /** Every event with returns and percentiles, whatever the age; Pro. Rows come as they are read. */
  exportEvents(filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
    return exportEvents(this.#local.cache, filter)
  }

  /** Every bar with its indicators and the band of every field; Pro. */
  exportSeries(filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
    return exportSeries(this.#local.cache, filter)
  }

  /** Every daily bar; Pro. */
  exportBars(filter: Pick<ExportFilter, 'tickers'> = {}): AsyncGenerator<ExportedBar> {
    return exportBars(this.#local.cache, filter)
  }

  /** The 21 band fields with tier and vocabulary. */
  fields(): readonly Field[] {
    return FIELDS
  }

  /** What is loaded. */
  async tickers(): Promise<TickerEntry[]> {
    return this.#local.cache.store.tickers()
  }

  /** How much is loaded, how fresh, with which definitions. */
  async status(): Promise<Status> {
    return status(this.#local.cache)
  }

  /** What is known of a ticker beside its bars, since when, and from which file; all kinds unless one is given. */
  async facts({ ticker, kind }: { ticker: string; kind?: FactKind }): Promise<KnownFacts> {
    const name = tickerValue('ticker', ticker)
    if (kind === undefined) return facts(this.#local.cache, { ticker: name })
    return facts(this.#local.cache, { ticker: name, kind: wordValue('kind', kind, FACT_KINDS) })
  }

  async close(): Promise<void> {
    await this.#local.close()
  }
}

function normalized(tickers: readonly string[]): string[] {
  return tickers.map(ticker => tickerValue('ticker', ticker))
}

function bandsOf(field: string | undefined): readonly string[] {
  return field === undefined ? [] : fieldNamed(field)!.bands
}
