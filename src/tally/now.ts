import { InvalidParameter } from '../errors.js'
import type { EventHistory } from '../model/event.js'
import type { Timeframe } from '../model/terms.js'
import type { Bands } from '../source.js'
import { quantile } from '../statistics/moments.js'
import { staysOf } from './dwell.js'
import { concurrently, scopeOf, tickersInOrder } from './scope.js'

export interface NowQuery {
  /** Each counts once, whatever the order. */
  tickers: readonly string[]
  /** In the order in which they are shown. */
  fields: readonly string[]
  timeframe: Timeframe
  /** Fields of a ticker that are left out; not where all of them would be. */
  skip?: ((key: { ticker: string; field: string; timeframe: Timeframe }) => boolean) | undefined
}

/** Where every field of every ticker stands. */
export interface Now {
  schema: 'bands.now/1'
  timeframe: Timeframe
  query_range: string | null
  as_of: string | null
  /** Ticker by ticker, ascending; each with its fields in the order asked. */
  states: FieldState[]
}

export interface FieldState {
  ticker: string
  field: string
  /** The band in force; null when there is none. */
  band: string | null
  /** The date on which it was entered; of an initial band its first defined bar. */
  since: string | null
  /** Bars since then. */
  bars: number | null
  /** True when nothing came before it, so that `since` is the beginning of the data. */
  initial: boolean | null
  prev_band: string | null
  /** Stays in that band that began and ended in range, in bars; quantiles linear between order statistics. */
  completed_stays: { n: number; median: number | null; p90: number | null }
  /** Why a value above is null, by its name. */
  reasons: Record<string, string>
}

/**
 * Throws NotFound for a ticker that is not there, TierRestricted for a field above the tier, InvalidParameter for no
 * ticker or field.
 */
export async function now(bands: Bands, { tickers, fields, timeframe, skip = () => false }: NowQuery): Promise<Now> {
  if (tickers.length === 0) throw new InvalidParameter('now needs a ticker.', { param: 'ticker' })
  if (fields.length === 0) throw new InvalidParameter('now needs a field.', { param: 'field' })
  const names = [...new Set(fields)]
  const pairs = tickersInOrder(tickers).flatMap(ticker => {
    const all = names.map(field => ({ ticker, field }))
    const left = all.filter(pair => !skip({ ...pair, timeframe }))
    return left.length > 0 ? left : all
  })
  // A history is let go as soon as its state is known: those of a whole market would fill the memory.
  const answers = await concurrently(pairs, async pair => {
    const history = await bands.history({ ...pair, timeframe })
    const { query_range, after, as_of } = history
    return { query_range, after, as_of, state: stateOf(history) }
  })
  const { query_range, as_of } = scopeOf(answers, {})
  return { schema: 'bands.now/1', timeframe, query_range, as_of, states: answers.map(answer => answer.state) }
}

function stateOf(history: EventHistory): FieldState {
  const { ticker, field, present } = history
  const figures = {
    band: present?.band ?? null,
    since: present?.since ?? null,
    bars: present?.bars ?? null,
    initial: present?.initial ?? null,
    prev_band: prevBandOf(history),
  }
  const completed = completedStays(history)
  return { ticker, field, ...figures, completed_stays: completed, reasons: reasonsOf(history, figures, completed.n) }
}

function prevBandOf({ present, events }: EventHistory): string | null {
  if (present === null || present.initial) return null
  return events.findLast(event => event.date === present.since)?.prev_band ?? null
}

function completedStays(history: EventHistory): FieldState['completed_stays'] {
  const lengths = staysOf(history)
    .filter(stay => stay.ended && stay.band === history.present?.band)
    .map(stay => stay.bars!)
    .sort((a, b) => a - b)
  return { n: lengths.length, median: quantile(lengths, 0.5), p90: quantile(lengths, 0.9) }
}

function reasonsOf({ present }: EventHistory, figures: object, completed: number): Record<string, string> {
  const reasons: Record<string, string> = {}
  for (const [name, value] of Object.entries(figures)) {
    if (value !== null) continue
    if (present === null) reasons[name] = 'no band of this field can be seen'
    else if (name === 'prev_band' && present.initial) reasons[name] = 'nothing came before it'
    else if (present.since === null || name === 'prev_band') reasons[name] = 'entered before the range'
    else reasons[name] = 'not told by the answerer'
  }
  if (completed === 0)
    reasons.completed_stays = present === null ? 'there is no band' : 'no such stay began and ended in range'
  return reasons
}
