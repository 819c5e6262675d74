import type { Day } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import { TIMEFRAMES, windowName } from '../../core/model/terms.js'
import type { StudyQuery } from '../../core/params/studies.js'
import { Buckets, quantileIn } from '../../core/statistics/buckets.js'
import { countOverlap } from '../../core/statistics/counts.js'
import { deviation, mean, quantile, sum } from '../../core/statistics/moments.js'
import { sharpe } from '../../core/statistics/sharpe.js'
import { abnormalOver, eventPortfolio, type ModelledEvent } from './abnormal.js'
import {
  aftermathTally,
  baseOf,
  cellOf,
  countGains,
  histogram,
  hitRateOf,
  type MemberBars,
  memberBars,
  streamOf,
} from './cell.js'
import { type StudyWindow, type UncorrectedWindow, whyTooFew } from './result.js'
import { forwardReturns, lostWindowsOf, returnAfter } from './signals.js'
import { dailyReturns, extremesAfter, type Subject } from './subject.js'
import { intervalsOf, randomEntries, testsOf } from './tests.js'

/** The common data of all windows of a study. */
export interface Material {
  query: StudyQuery
  subjects: readonly Subject[]
  benchmark: Series | null
  /** Dates of the bars of the context ticker; null without one. */
  contextDays: Int32Array | null
  /** Whether the bands of the field are computed from bars only. */
  isFromBars: boolean
  asOf: Day | null
  /** The sector of each ticker that has one. */
  sectors: ReadonlyMap<string, string>
}

/** Memory for the returns of all base bars of the tickers with events, for one window after the other. */
export function returnsBuffer({ subjects }: Pick<Material, 'subjects'>): Float64Array {
  const bars = ({ eligible, signals }: Subject): number => (signals.bars.length > 0 ? eligible.length : 0)
  return new Float64Array(subjects.reduce((sum, subject) => sum + bars(subject), 0))
}

/**
 * The figures of a window that need the returns of all base bars, and the Sharpe ratio of the portfolio that holds its
 * events.
 * @param buffer overwritten with the returns of all base bars
 */
export function figuresWithBase(material: Material, horizon: number, buffer: Float64Array) {
  const { query } = material
  const subjects = material.subjects.filter(({ signals }) => signals.bars.length > 0)
  const members = membersIn(buffer, subjects, horizon)
  const cell = cellOf(members, horizon)
  const { independent, ...hit } = hitRateOf(cell)
  const portfolio = eventPortfolio(subjects, members, horizon, material.benchmark)
  const counts = countsOf(material, horizon)
  const tooFewReason = whyTooFew(counts.n, counts.n_indep, query)
  const returns = eventReturns(members)
  const average = mean(returns)
  const context_base = contextBase(subjects, members, average)
  const intervals = intervalsOf(cell, query, tooFewReason)
  const tests = testsOf(cell, portfolio, query, tooFewReason)
  const random_entry = randomEntries(cell, query, tooFewReason)
  const by_sector = sectorReturns(members, material.sectors)
  // Last, because it sorts the returns of the members.
  const { columns, ...base } = baseOf(members)
  const window = {
    window: windowName(horizon, query.filter.timeframe),
    horizon,
    ...counts,
    n_independent: independent,
    ...returnStatistics(returns, average, base),
    hit,
    lift: hit.share === null || base.hit === 0 ? null : hit.share / base.hit!,
    ...meanExcursions(subjects, query.horizons.indexOf(horizon), horizon),
    base,
    context_base,
    intervals,
    tests,
    random_entry,
    by_sector,
    histogram: histogram(returns, columns),
    grey: tooFewReason !== null,
  }
  return { window, sharpe: counts.n === 0 ? null : sharpe(dailyReturns(portfolio.portfolio), 1) }
}

/** Figures of a window without returns of base bars: bands and abnormal returns. @param modelled empty without any */
export function figuresWithoutBase(material: Material, modelled: readonly ModelledEvent[], horizon: number) {
  const { query, subjects } = material
  const { n, n_indep } = countsOf(material, horizon)
  const options = { reps: query.reps, random: streamOf(query.seed, 'aftermath', horizon) }
  return {
    other_bands: otherBands(subjects, horizon, query.filter.bands),
    abnormal: query.abnormal === 'none' ? null : abnormalOver(modelled, horizon, query.abnormal, query),
    aftermathTally: aftermathTally(subjects, horizon, whyTooFew(n, n_indep, query), options),
  }
}

/** A window from its two halves: the figures that need the returns of all bars (the base), and the others. */
export function joinWindow(
  { by_sector, histogram, grey, ...returnsFigures }: ReturnType<typeof figuresWithBase>['window'],
  { other_bands, abnormal, aftermathTally }: ReturnType<typeof figuresWithoutBase>,
  query: StudyQuery,
): UncorrectedWindow {
  let aftermath: UncorrectedWindow['aftermath'] = null
  if (aftermathTally !== null) {
    const { counts, base, lift, g, p } = aftermathTally
    aftermath = { counts, base, lift, g, p }
  }
  const window = { ...returnsFigures, other_bands, by_sector, abnormal, aftermath, histogram, grey }
  return { ...window, reasons: reasonsOf(window, query, aftermathTally?.reason ?? null) }
}

/** The base bars and events of each ticker, with their returns. @param buffer for the returns of all base bars */
function membersIn(buffer: Float64Array, subjects: readonly Subject[], horizon: number): MemberBars[] {
  let from = 0
  const longest = subjects.reduce((most, { prices }) => Math.max(most, prices.series.days.length), 0)
  const scratch = new Float64Array(longest)
  return subjects.map(({ ticker, prices, eligible, signals }) => {
    const forward = forwardReturns(prices, horizon, scratch.subarray(0, prices.series.days.length))
    const memberBuffer = buffer.subarray(from, from + eligible.length)
    from += eligible.length
    return memberBars(ticker, prices.series.days, forward, eligible, signals.bars, memberBuffer)
  })
}

/**
 * Counts all events of a window, the events with a return (`n`), those of them that share no bar (`n_indep`), and the
 * lost ones. No return comes too early: it needs no earlier bars.
 */
function countsOf({ subjects, asOf }: Material, horizon: number) {
  const counts = { events: 0, n: 0, n_indep: 0, lost: { not_elapsed: 0, too_early: 0, delisted: 0 } }
  for (const { prices, signals } of subjects) {
    const { bars } = signals
    const { notElapsed, delisted } = lostWindowsOf(prices, horizon, bars, asOf)
    counts.lost.not_elapsed += notElapsed
    counts.lost.delisted += delisted
    const elapsed = bars.filter(bar => !Number.isNaN(returnAfter(prices, bar, horizon)))
    counts.events += bars.length
    counts.n += elapsed.length
    counts.n_indep += countOverlap(elapsed, horizon).independent
  }
  return counts
}

/** The returns of all events, ascending, so that the order of the tickers does not change the last digit of a sum. */
function eventReturns(members: readonly MemberBars[]): Float64Array {
  const ascending = new Float64Array(sum(members.map(({ events }) => events.length)))
  let n = 0
  for (const { returns, events } of members) for (const i of events) ascending[n++] = returns[i]!
  return ascending.sort()
}

/**
 * The mean, quantiles and extremes of the returns after events; all null without returns.
 * @param returns ascending
 * @param average their mean
 * @param base the returns after any bar; its mean is known wherever an event has a return
 */
function returnStatistics(returns: Float64Array, average: number | null, base: StudyWindow['base']) {
  return {
    mean: average,
    median: quantile(returns, 0.5),
    deviation: deviation(returns),
    p10: quantile(returns, 0.1),
    p25: quantile(returns, 0.25),
    p75: quantile(returns, 0.75),
    p90: quantile(returns, 0.9),
    best: returns.at(-1) ?? null,
    worst: returns[0] ?? null,
    diff: average === null ? null : average - base.mean!,
  }
}

/** Mean greatest rise and fall within a window, of the events whose window has elapsed; null without any. */
function meanExcursions(subjects: readonly Subject[], windowIndex: number, horizon: number) {
  const sums = { mfe: 0, mae: 0 }
  let n = 0
  for (const subject of subjects) {
    for (const [i, bar] of subject.signals.bars.entries()) {
      if (Number.isNaN(returnAfter(subject.prices, bar, horizon))) continue
      const { mfe, mae } = extremesAfter(subject, i, windowIndex)
      n++
      sums.mfe += mfe
      sums.mae += mae
    }
  }
  return n === 0 ? { mfe: null, mae: null } : { mfe: sums.mfe / n, mae: sums.mae / n }
}

/** Statistics that need an event whose window has elapsed. */
const EVENT_STATISTICS = [
  'mean',
  'median',
  'deviation',
  'p10',
  'p25',
  'p75',
  'p90',
  'best',
  'worst',
  'mfe',
  'mae',
  'diff',
  'lift',
  'histogram',
] as const satisfies readonly (keyof StudyWindow)[]

/** The reason for each null of a window, by its name. Intervals and tests have their own reasons. */
function reasonsOf(
  window: Omit<UncorrectedWindow, 'reasons'>,
  { filter: { timeframe, context }, abnormal }: Pick<StudyQuery, 'filter' | 'abnormal'>,
  aftermathReason: string | null,
): Record<string, string> {
  const noReturns = whyNoReturns(window)
  const reasons: Record<string, string> = {}
  for (const name of EVENT_STATISTICS)
    if (window[name] === null) reasons[name] = noReturns ?? REASONS_WITH_RETURNS[name] ?? 'no value'
  if (window.hit.share === null) reasons.hit = noReturns!
  if (window.base.mean === null) reasons.base = noReturns!
  if (window.context_base === null)
    reasons.context_base = context?.bands == null ? 'no band of a context was asked for' : noReturns!
  if (window.abnormal === null && abnormal === 'none') reasons.abnormal = 'no model was asked for'
  const { aftermath } = window
  if (aftermath === null)
    reasons.aftermath =
      noReturns ?? `no event has ${TIMEFRAMES[timeframe].minReference} windows of its ticker that had ended before it`
  else {
    if (aftermath.p === null) reasons['aftermath.g'] = reasons['aftermath.p'] = aftermathReason!
    if (aftermath.lift.includes(null)) reasons['aftermath.lift'] = 'no bar at all has such an aftermath'
  }
  return reasons
}

/** Why a statistic is null although there are returns. */
const REASONS_WITH_RETURNS: Partial<Record<(typeof EVENT_STATISTICS)[number], string>> = {
  deviation: 'one return has no spread',
  lift: 'no bar at all was followed by a gain',
  histogram: 'all returns are the same',
}

/** Why no event has a return; null if one has. */
function whyNoReturns({ events, n, lost }: Pick<StudyWindow, 'events' | 'n' | 'lost'>): string | null {
  if (n > 0) return null
  if (events === 0) return 'no event'
  return lost.delisted === 0 ? 'no window has elapsed' : 'no window has elapsed, or trading ended for a price not known'
}

/** For each band that was not chosen: the returns after its events, which pass the other filters. */
function otherBands(
  subjects: readonly Subject[],
  horizon: number,
  chosen: readonly string[] | null,
): StudyWindow['other_bands'] {
  const otherBandReturns = (subjects[0]?.states.bands ?? []).flatMap((band, code) => {
    if (chosen?.includes(band)) return []
    const maxReturns = subjects.reduce((n, { byBand }) => n + byBand[code]!.length, 0)
    return [{ band, code, n: 0, returns: new Float64Array(maxReturns) }]
  })
  for (const { prices, byBand } of subjects) {
    for (const bandReturns of otherBandReturns) {
      for (const bar of byBand[bandReturns.code]!) {
        const value = returnAfter(prices, bar, horizon)
        if (!Number.isNaN(value)) bandReturns.returns[bandReturns.n++] = value
      }
    }
  }
  const buckets = new Buckets()
  return otherBandReturns.map(({ band, n, returns }) => {
    if (n === 0) return { band, n, mean: null, median: null, hit: null }
    const values = returns.subarray(0, n)
    buckets.fill(values)
    return { band, n, mean: mean(values), median: quantileIn(buckets.column, 0.5), hit: countGains(values) / n }
  })
}

/** Returns of the events in each sector, compared with any bar of the same tickers; empty with only one sector. */
function sectorReturns(members: readonly MemberBars[], sectors: Material['sectors']): StudyWindow['by_sector'] {
  const groups = new Map<string, MemberBars[]>()
  for (const member of members) {
    const sector = sectors.get(member.ticker)
    if (sector === undefined || member.events.length === 0) continue
    groups.set(sector, [...(groups.get(sector) ?? []), member])
  }
  if (groups.size < 2) return []
  const names = [...groups.keys()].sort()
  return names.map(sector => {
    const sectorMembers = groups.get(sector)!
    const returns = eventReturns(sectorMembers)
    const n = returns.length
    const baseSum = sectorMembers.reduce((sum, { events, base }) => sum + events.length * base, 0)
    const hit = countGains(returns) / n
    return { sector, n, mean: mean(returns), median: quantile(returns, 0.5), hit, base: baseSum / n }
  })
}

/**
 * Returns after the base bars on which the context ticker was in a chosen band; each ticker weighs by its events.
 * `diff` is the part of the difference that the event itself explains, not the context.
 *
 * @param members in the order of the subjects
 * @param mean of the returns of the events
 * @returns null without a chosen context band, and without events
 */
function contextBase(
  subjects: readonly Pick<Subject, 'inContext'>[],
  members: readonly MemberBars[],
  mean: number | null,
): StudyWindow['context_base'] {
  if (mean === null) return null
  let n = 0
  let totalWeight = 0
  let weightedMeans = 0
  let weightedHits = 0
  for (const [i, { bars, returns, events }] of members.entries()) {
    const inContext = subjects[i]!.inContext
    if (inContext === null) return null
    if (events.length === 0) continue
    const returnsInContext = returns.filter((_, at) => inContext[bars[at]!] === 1)
    if (returnsInContext.length === 0) continue
    n += returnsInContext.length
    totalWeight += events.length
    weightedMeans += (events.length * sum(returnsInContext)) / returnsInContext.length
    weightedHits += (events.length * countGains(returnsInContext)) / returnsInContext.length
  }
  if (totalWeight === 0) return null
  const contextMean = weightedMeans / totalWeight
  return { n, mean: contextMean, hit: weightedHits / totalWeight, diff: mean - contextMean }
}
