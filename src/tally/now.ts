import { InvalidParameter, invalid, suggest } from '../errors.js'
import { type Day, parseDay } from '../model/day.js'
import { dateIn, type Stays, UNTOLD } from '../model/history.js'
import { UNDEFINED } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import { type Omitted, type RunContext, type Source, vocabulariesOf } from '../source.js'
import { quantile } from '../statistics/moments.js'
import { type Answered, scopeOf, tickersInOrder } from './pool.js'

export interface NowQuery {
  /** Each counts once, whatever the order. */
  tickers: readonly string[]
  /** In the order in which they are shown. */
  fields: readonly string[]
  timeframe: Timeframe
  /** Fields of a ticker that are left out; not where all of them would be. */
  skip?: ((key: { ticker: string; field: string; timeframe: Timeframe }) => boolean) | undefined
  /** Only where the band in force is one of them, was entered on that day or later, or on the newest bar. */
  band?: readonly string[]
  since?: Day
  changed?: boolean
  /** Fields that the question leaves out. */
  omitted?: readonly Omitted[]
}

/** Where every field of every ticker stands. */
export interface Now {
  schema: 'bands.now/1'
  timeframe: Timeframe
  query_range: string | null
  as_of: string | null
  /** Ticker by ticker, ascending; each with its fields in the order asked. */
  states: FieldState[]
  /** Fields that are left out, because they wait for an import; absent where none is. */
  omitted?: Omitted[]
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
export async function now(source: Source, query: NowQuery, { step }: RunContext = {}): Promise<Now> {
  const { fields, timeframe, omitted = [] } = query
  const tickers = tickersInOrder(query.tickers, 'now needs')
  if (fields.length === 0) throw new InvalidParameter('now needs a field.', { param: 'field' })
  await checkBands(source, query)
  const answers: Answered[] = []
  const states: FieldState[] = []
  for (const part of partsOf({ ...query, tickers })) {
    for await (const stays of source.stays({ ...part, timeframe })) {
      step?.(() => `now  ${stays.ticker}  ${states.length + 1} questions`)
      answers.push({ query_range: stays.query_range, after: stays.after, as_of: stays.as_of })
      for (let f = 0; f < stays.fields.length; f++) states.push(stateOf(stays, f))
    }
  }
  const { query_range, as_of } = scopeOf(answers, {})
  return {
    schema: 'bands.now/1',
    timeframe,
    query_range,
    as_of,
    states: states.filter(state => isWanted(state, query)),
    ...(omitted.length > 0 && { omitted: [...omitted] }),
  }
}

/** Of what is not known nothing is said to have changed. */
function isWanted({ band, since, bars, initial }: FieldState, query: NowQuery): boolean {
  if (query.band !== undefined && (band === null || !query.band.includes(band))) return false
  if (query.since !== undefined && (since === null || parseDay(since)! < query.since)) return false
  return !query.changed || (bars === 0 && initial === false)
}

/** Throws InvalidParameter for a band that none of the fields has. */
async function checkBands(source: Source, { band: bands = [], fields }: NowQuery): Promise<void> {
  if (bands.length === 0) return
  const vocabularies = await vocabulariesOf(source)
  const allowed = [...new Set(fields.flatMap(field => vocabularies.get(field) ?? []))]
  const value = bands.find(band => !allowed.includes(band))
  if (value === undefined) return
  throw invalid('not_allowed', { param: 'band', value, allowed, suggestions: suggest(value, allowed) })
}

/** What is asked in one call: everything, or of tickers in a row what is not left out of it. */
function partsOf({ tickers, fields, timeframe, skip }: NowQuery): { tickers: string[]; fields: string[] }[] {
  const all = [...new Set(fields)]
  if (skip === undefined) return [{ tickers: [...tickers], fields: all }]
  const parts: { tickers: string[]; fields: string[] }[] = []
  for (const ticker of tickers) {
    const left = all.filter(field => !skip({ ticker, field, timeframe }))
    const fields = left.length > 0 ? left : all
    const part = parts.at(-1)
    if (part?.fields.join() === fields.join()) part.tickers.push(ticker)
    else parts.push({ tickers: [ticker], fields })
  }
  return parts
}

/** @param f number of the field */
function stateOf(stays: Stays, f: number): FieldState {
  const { ticker, fields, bands, present, after } = stays
  const field = fields[f]!
  const code = present.band[f]!
  if (code === UNDEFINED) {
    const lack = 'no band of this field can be seen'
    return {
      ...{ ticker, field, band: null, since: null, bars: null, initial: null, prev_band: null },
      completed_stays: { n: 0, median: null, p90: null },
      reasons: {
        band: lack,
        since: lack,
        bars: lack,
        initial: lack,
        prev_band: lack,
        completed_stays: 'there is no band',
      },
    }
  }
  const since = dateIn(present.since, f)
  const bars = present.bars[f] === UNTOLD ? null : present.bars[f]!
  const initial = present.initial[f] === 1
  const prev_band = bands[f]![present.left[f]!] ?? null
  const completed = completedStays(stays, f)
  const reasons: Record<string, string> = {}
  const before = 'entered before the range'
  if (since === null) reasons.since = before
  if (bars === null) reasons.bars = since === null ? before : 'not told by the answerer'
  if (prev_band === null) reasons.prev_band = initial ? 'nothing came before it' : before
  if (completed.n === 0) reasons.completed_stays = `no such stay began and ended${after === null ? '' : ' in range'}`
  return {
    ...{ ticker, field, band: bands[f]![code]!, since, bars, initial, prev_band },
    completed_stays: completed,
    reasons,
  }
}

function completedStays(stays: Stays, f: number): FieldState['completed_stays'] {
  const ascending = stays.completed(f).sort()
  return { n: ascending.length, median: quantile(ascending, 0.5), p90: quantile(ascending, 0.9) }
}
