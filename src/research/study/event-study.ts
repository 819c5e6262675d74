import { InvalidParameter } from '../../errors.js'
import type { Market } from '../../market.js'
import { type Day, formatDay } from '../../model/day.js'
import type { Trials } from '../../model/trials.js'
import { type CellSpec, cellTrial } from '../cell/trial.js'
import { assumptionsOf } from './assumptions.js'
import { hintsOf } from './hints.js'
import { modelledEvents } from './models.js'
import { occurrencesOf } from './occurrences.js'
import { pathOf } from './path.js'
import type { StudyQuery } from './query.js'
import type { EventStudy, StudyWindow } from './result.js'
import { type Subject, subjectsOf } from './subject.js'
import { warningsOf } from './warnings.js'
import { type Material, studyWindow } from './window.js'

export type { StudyQuery } from './query.js'

export interface StudyWays {
  /** Told what is being done, often; the text is made when it is asked for. */
  step?: (text: () => string) => void
  /** Where every cell that was looked at is noted. */
  trials?: Trials | null
}

/**
 * What followed the events, against what follows any bar, random entries and the other bands of the field.
 * The same query of the same data gives the same bytes, in whatever order its tickers are named. Throws NotFound,
 * TierRestricted and Busy as the market does, InvalidParameter for a market model without a benchmark.
 */
export async function eventStudy(market: Market, query: StudyQuery, ways: StudyWays = {}): Promise<EventStudy> {
  const { step = () => {}, trials = null } = ways
  const { filter, benchmark } = query
  if (query.abnormal === 'market' && benchmark === null)
    throw new InvalidParameter('abnormal "market" needs a benchmark to measure the market by.', { param: 'benchmark' })
  const held = benchmark === null ? null : (await market.bars(benchmark, filter.timeframe)).series
  const subjects = await subjectsOf(market, query, step)
  const modelled = query.abnormal === 'none' ? [] : modelledEvents(subjects, query.abnormal, held)
  const { context } = filter
  const contextDays = context === null ? null : (await market.bars(context.ticker, filter.timeframe)).series.days
  const material: Material = { query, subjects, benchmark: held, contextDays, modelled, asOf: await market.asOf() }
  const cells = query.horizons.map((horizon, i) => {
    step(() => `study  ${horizon} bars  ${i + 1}/${query.horizons.length}`)
    return studyWindow(material, horizon)
  })
  const windows = cells.map(({ window }) => window)
  const range = rangeOf(subjects)
  const noted = await trials?.note(
    'cell',
    cells.map(cell => trialOf(query, range, cell)),
  )
  step(() => 'study  path')
  return {
    ...headOf(material, range),
    trials: { run: windows.length, ledger: noted?.ofKind ?? null },
    windows,
    path: pathOf(subjects, modelled, query),
    occurrences: occurrencesOf(subjects, query.horizons),
    assumptions: assumptionsOf(material, windows),
    warnings: [...warningsOf(material, windows), ...market.remarks()],
    hints: hintsOf(material),
  }
}

interface Range {
  first: Day | null
  last: Day | null
}

/** Of the bars that count. */
function rangeOf(subjects: readonly Subject[]): Range {
  const range: Range = { first: null, last: null }
  for (const { eligible, prices } of subjects) {
    if (eligible.length === 0) continue
    const { days } = prices.series
    range.first = Math.min(range.first ?? days[eligible[0]!]!, days[eligible[0]!]!)
    range.last = Math.max(range.last ?? days[eligible.at(-1)!]!, days[eligible.at(-1)!]!)
  }
  return range
}

function headOf({ query, subjects, asOf }: Material, { first, last }: Range) {
  const { filter, benchmark, abnormal, seed, reps, resamples, minEvents } = query
  const { context } = filter
  const copy = <Value>(values: readonly Value[] | null): Value[] | null => (values === null ? null : [...values])
  return {
    schema: 'bands.study/1' as const,
    tickers: subjects.map(({ ticker }) => ticker),
    field: filter.field,
    timeframe: filter.timeframe,
    bands: copy(filter.bands),
    prev_bands: copy(filter.prevBands),
    stability: copy(filter.stability),
    max_flips: filter.maxFlips,
    context: context === null ? null : { ...context, bands: copy(context.bands) },
    after: dateOf(filter.after),
    before: dateOf(filter.before),
    first: dateOf(first),
    last: dateOf(last),
    as_of: dateOf(asOf),
    ...barsOf(subjects),
    benchmark,
    abnormal,
    seed,
    reps: reps === 'all' ? null : reps,
    resamples,
    min_events: minEvents,
    events: subjects.reduce((sum, { signals }) => sum + signals.bars.length, 0),
  }
}

/** Of the tickers, whatever was asked. */
function barsOf(subjects: readonly Subject[]): { first_bar: string | null; last_bar: string | null } {
  const ends = subjects.flatMap(({ prices: { series } }) => [...series.days.slice(0, 1), ...series.days.slice(-1)])
  if (ends.length === 0) return { first_bar: null, last_bar: null }
  return { first_bar: formatDay(Math.min(...ends)), last_bar: formatDay(Math.max(...ends)) }
}

function dateOf(day: Day | null): string | null {
  return day === null ? null : formatDay(day)
}

function trialOf(
  { tickers, filter }: StudyQuery,
  range: Range,
  { window, sharpe }: { window: StudyWindow; sharpe: number | null },
) {
  const spec: CellSpec = { tickers: [...new Set(tickers)], filter, horizon: window.horizon, ...range }
  return cellTrial(spec, { p: window.tests[0]!.p, sharpe })
}
