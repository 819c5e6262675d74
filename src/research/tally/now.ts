import { InvalidParameter, invalid, suggest } from '../../core/errors.js'
import { type Day, parseDay } from '../../core/model/day.js'
import { type BandPeriods, dateIn, NO_NUMBER } from '../../core/model/history.js'
import { UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { LastBars } from '../../core/params/questions.js'
import { type Omitted, type RunContext, type Source, vocabulariesOf } from '../../core/source.js'
import { quantile } from '../../core/statistics/moments.js'
import { type AnsweredRange, scopeOf, tickersInOrder } from './pool.js'

export interface NowQuery {
  /** Each counts once, whatever the order. */
  tickers: readonly string[]
  /** In display order. */
  fields: readonly string[]
  timeframe: Timeframe
  /** Fields to leave out of a ticker; ignored where it would leave out all of them. */
  skip?: ((key: { ticker: string; field: string; timeframe: Timeframe }) => boolean) | undefined
  /** Only fields whose current band is one of these, and was entered on that day or later, or in the last bars. */
  band?: readonly string[]
  since?: Day | LastBars
  /** Fields that the query leaves out. */
  omitted?: readonly Omitted[]
}

/** The current band of every field of every ticker. */
export interface Now {
  schema: 'bands.now/2'
  timeframe: Timeframe
  query_range: string | null
  as_of: string | null
  /** Ticker by ticker, ascending; the fields in the order of the query. */
  states: FieldState[]
  /** Fields left out because they need an import; absent without any. */
  omitted?: Omitted[]
}

export interface FieldState {
  ticker: string
  field: string
  /** The current band; null when there is none. */
  band: string | null
  /** The date of its entry; for an initial band the first bar with a band. */
  since: string | null
  /** Bars in that band so far, with the first and the newest one. */
  bars: number | null
  /** True when no band came before it, so that `since` is the start of the data. */
  initial: boolean | null
  prev_band: string | null
  /**
   * Completed periods in that band, in the range of the tier if one is set, in bars; quantiles linear between order
   * statistics.
   */
  completed_stays: { n: number; median: number | null; p90: number | null }
  /** Why a value above is null, by its name. */
  reasons: Record<string, string>
}

/**
 * Answers `bands now`: the current bands of the queried fields and tickers, as filtered by `band` and `since`. Throws
 * NotFound for an unknown ticker, TierRestricted for a field above the tier, InvalidParameter for no ticker or field.
 */
export async function now(source: Source, query: NowQuery, { step }: RunContext = {}): Promise<Now> {
  const { fields, timeframe, omitted = [] } = query
  const tickers = tickersInOrder(query.tickers, 'now needs')
  if (fields.length === 0) throw new InvalidParameter('now needs a field.', { param: 'field' })
  await refuseUnknownBands(source, query)
  const answers: AnsweredRange[] = []
  const states: FieldState[] = []
  for (const group of groupByFields({ ...query, tickers })) {
    for await (const periods of source.bandPeriods({ ...group, timeframe })) {
      step?.(() => `now  ${periods.ticker}  ${states.length + 1} questions`)
      answers.push({ query_range: periods.query_range, after: periods.after, as_of: periods.as_of })
      for (let f = 0; f < periods.fields.length; f++) states.push(stateOf(periods, f))
    }
  }
  // Only these two of the scope: the query has no bounds.
  const { query_range, as_of } = scopeOf(answers, {})
  const wanted = states.filter(state => matchesBandAndSince(state, query))
  const result: Now = { schema: 'bands.now/2', timeframe, query_range, as_of, states: wanted }
  if (omitted.length > 0) result.omitted = [...omitted]
  return result
}

/** Whether a field is in a queried band, and entered it on or after the queried day, or in the last bars. */
function matchesBandAndSince({ band, since, bars, initial }: FieldState, query: NowQuery): boolean {
  if (query.band !== undefined && (band === null || !query.band.includes(band))) return false
  if (query.since === undefined) return true
  if (typeof query.since === 'number') return since !== null && parseDay(since)! >= query.since
  // No transition entered an initial band.
  return initial === false && bars !== null && bars <= query.since.last
}

/** Throws InvalidParameter for a band that none of the fields has. */
async function refuseUnknownBands(source: Source, { band: bands = [], fields }: NowQuery): Promise<void> {
  if (bands.length === 0) return
  const vocabularies = await vocabulariesOf(source)
  const allowed = [...new Set(fields.flatMap(field => vocabularies.get(field) ?? []))]
  const value = bands.find(band => !allowed.includes(band))
  if (value === undefined) return
  throw invalid('not_allowed', { param: 'band', value, allowed, suggestions: suggest(value, allowed) })
}

/** Splits a query into groups whose tickers have the same fields, in the order of the tickers. */
function groupByFields({ tickers, fields, timeframe, skip }: NowQuery): { tickers: string[]; fields: string[] }[] {
  const distinctFields = [...new Set(fields)]
  if (skip === undefined) return [{ tickers: [...tickers], fields: distinctFields }]
  const groups: { tickers: string[]; fields: string[] }[] = []
  for (const ticker of tickers) {
    const notSkipped = distinctFields.filter(field => !skip({ ticker, field, timeframe }))
    // Each ticker must be in the answer, so a ticker whose fields are all skipped gets all of them.
    const fieldsOfTicker = notSkipped.length > 0 ? notSkipped : distinctFields
    const previous = groups.at(-1)
    if (previous?.fields.join() === fieldsOfTicker.join()) previous.tickers.push(ticker)
    else groups.push({ tickers: [ticker], fields: fieldsOfTicker })
  }
  return groups
}

/** The current band of a field, its period, and the completed periods in it. @param fieldIndex in `periods.fields` */
function stateOf(periods: BandPeriods, fieldIndex: number): FieldState {
  const { ticker, fields, bands, present, after } = periods
  const field = fields[fieldIndex]!
  const code = present.band[fieldIndex]!
  if (code === UNDEFINED) return stateWithoutBand(ticker, field)
  const since = dateIn(present.since, fieldIndex)
  // The entry bar counts, too.
  const bars = present.bars[fieldIndex] === NO_NUMBER ? null : present.bars[fieldIndex]! + 1
  const initial = present.initial[fieldIndex] === 1
  const prev_band = bands[fieldIndex]![present.left[fieldIndex]!] ?? null
  const completed = completedStays(periods, fieldIndex)
  const reasons: Record<string, string> = {}
  const enteredBefore = 'entered before the range'
  if (since === null) reasons.since = enteredBefore
  if (bars === null) reasons.bars = since === null ? enteredBefore : 'not given by the server'
  if (prev_band === null) reasons.prev_band = initial ? 'nothing came before it' : enteredBefore
  if (completed.n === 0) reasons.completed_stays = `no such stay began and ended${after === null ? '' : ' in range'}`
  return {
    ticker,
    field,
    band: bands[fieldIndex]![code]!,
    since,
    bars,
    initial,
    prev_band,
    completed_stays: completed,
    reasons: Object.keys(reasons).length === 0 ? NO_REASONS : reasons,
  }
}

/** The state of a field that has no band: all values are null, each with its reason. */
function stateWithoutBand(ticker: string, field: string): FieldState {
  return {
    ticker,
    field,
    band: null,
    since: null,
    bars: null,
    initial: null,
    prev_band: null,
    completed_stays: NO_STAYS,
    reasons: REASONS_WITHOUT_BAND,
  }
}

// States share these: a whole market has hundreds of thousands.
const NO_STAYS = Object.freeze({ n: 0, median: null, p90: null })
const NO_REASONS: FieldState['reasons'] = Object.freeze({})
const UNSEEN = 'no band of this field can be seen'
const REASONS_WITHOUT_BAND = Object.freeze({
  band: UNSEEN,
  since: UNSEEN,
  bars: UNSEEN,
  initial: UNSEEN,
  prev_band: UNSEEN,
  completed_stays: 'there is no band',
})

/** The number of completed periods in the current band of a field, and quantiles of their lengths. */
function completedStays(periods: BandPeriods, fieldIndex: number): FieldState['completed_stays'] {
  const ascending = sortLengths(periods.completed(fieldIndex))
  return { n: ascending.length, median: quantile(ascending, 0.5), p90: quantile(ascending, 0.9) }
}

/** The number of periods of each length, up to one that nearly none reaches. All are 0 between calls. */
const lengthCounts = new Int32Array(512)

/** Sorts lengths in place, and returns them. Most are small: counting each takes less time than `sort`. */
function sortLengths(lengths: Int32Array): Int32Array {
  let least = 0
  let greatest = 0
  for (let i = 0; i < lengths.length; i++) {
    least = Math.min(least, lengths[i]!)
    greatest = Math.max(greatest, lengths[i]!)
  }
  if (least < 0 || greatest >= lengthCounts.length) return lengths.sort()
  for (let i = 0; i < lengths.length; i++) lengthCounts[lengths[i]!]!++
  for (let length = 0, i = 0; length <= greatest; length++) {
    const end = i + lengthCounts[length]!
    while (i < end) lengths[i++] = length
    lengthCounts[length] = 0
  }
  return lengths
}
