import { InvalidParameter } from '../errors.js'
import { parseDay } from '../model/day.js'
import type { History } from '../model/history.js'
import type { Timeframe } from '../model/terms.js'
import type { Source } from '../source.js'
import { quantile } from '../statistics/moments.js'
import { type Answered, scopeOf, type TallyWays, tickersInOrder } from './scope.js'

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
  /** Stays in that band that began and ended, in the range of a tier where one is asked for, in bars; quantiles linear between order statistics. */
  completed_stays: { n: number; median: number | null; p90: number | null }
  /** Why a value above is null, by its name. */
  reasons: Record<string, string>
}

/**
 * Throws NotFound for a ticker that is not there, TierRestricted for a field above the tier, InvalidParameter for no
 * ticker or field.
 */
export async function now(source: Source, query: NowQuery, { step }: TallyWays = {}): Promise<Now> {
  const { tickers, fields, timeframe } = query
  if (tickers.length === 0) throw new InvalidParameter('now needs a ticker.', { param: 'ticker' })
  if (fields.length === 0) throw new InvalidParameter('now needs a field.', { param: 'field' })
  const answers: Answered[] = []
  const states: FieldState[] = []
  for (const part of partsOf(query)) {
    // A history is let go as soon as its state is known: those of a whole market would fill the memory.
    for await (const history of source.histories({ ...part, timeframe })) {
      step?.(() => `now  ${history.ticker}  ${states.length + 1} questions`)
      answers.push({ query_range: history.query_range, after: history.after, as_of: history.as_of })
      states.push(stateOf(history))
    }
  }
  const { query_range, as_of } = scopeOf(answers, {})
  return { schema: 'bands.now/1', timeframe, query_range, as_of, states }
}

/** What is asked in one call: everything, or of tickers in a row what is not left out of it. */
function partsOf({ tickers, fields, timeframe, skip }: NowQuery): { tickers: string[]; fields: string[] }[] {
  const [names, all] = [tickersInOrder(tickers), [...new Set(fields)]]
  if (skip === undefined) return [{ tickers: names, fields: all }]
  const parts: { tickers: string[]; fields: string[] }[] = []
  for (const ticker of names) {
    const left = all.filter(field => !skip({ ticker, field, timeframe }))
    const fields = left.length > 0 ? left : all
    const part = parts.at(-1)
    if (part?.fields.join() === fields.join()) part.tickers.push(ticker)
    else parts.push({ tickers: [ticker], fields })
  }
  return parts
}

function stateOf(history: History): FieldState {
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

function prevBandOf({ present, days, left, bands }: History): string | null {
  if (present === null || present.initial || present.since === null) return null
  const at = days.lastIndexOf(parseDay(present.since)!)
  return at === -1 ? null : bands[left[at]!]!
}

function completedStays({ present, bands, entered, lasted }: History): FieldState['completed_stays'] {
  const code = present === null ? -1 : bands.indexOf(present.band)
  const found = lasted.slice()
  let n = 0
  // A loop by number: there is one such list for each field of each ticker.
  for (let i = 0; i < lasted.length; i++) if (entered[i] === code && lasted[i] !== -1) found[n++] = lasted[i]!
  const lengths = found.subarray(0, n).sort()
  return { n: lengths.length, median: quantile(lengths, 0.5), p90: quantile(lengths, 0.9) }
}

function reasonsOf({ present, after }: History, figures: object, completed: number): Record<string, string> {
  const reasons: Record<string, string> = {}
  for (const [name, value] of Object.entries(figures)) {
    if (value !== null) continue
    if (present === null) reasons[name] = 'no band of this field can be seen'
    else if (name === 'prev_band' && present.initial) reasons[name] = 'nothing came before it'
    else if (present.since === null || name === 'prev_band') reasons[name] = 'entered before the range'
    else reasons[name] = 'not told by the answerer'
  }
  if (completed === 0)
    reasons.completed_stays =
      present === null ? 'there is no band' : `no such stay began and ended${after === null ? '' : ' in range'}`
  return reasons
}
