import type { Day } from '../../model/day.js'
import type { Series } from '../../model/series.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import { deviation, mean } from '../../statistics/moments.js'
import { overlap } from '../../statistics/overlap.js'
import { quantile } from '../../statistics/quantile.js'
import { wilson } from '../../statistics/wilson.js'
import { type Base, baseOf, gains } from '../cell/base.js'
import { cellOf } from '../cell/cell.js'
import { excursions } from '../cell/excursions.js'
import { histogram } from '../cell/histogram.js'
import { type MemberBars, memberBars } from '../cell/member.js'
import { portfolioSharpe } from '../cell/portfolio.js'
import { stretches } from '../cell/series.js'
import { streamOf } from '../cell/streams.js'
import { aftermathTally } from '../cell/tally.js'
import { forwardReturns, lostOf } from '../forward.js'
import { abnormalOver } from './abnormal.js'
import { contextBase } from './context-base.js'
import { tooFew } from './enough.js'
import { heldPositions } from './held.js'
import { intervalsOf, randomEntries, testsOf } from './inference.js'
import type { ModelledEvent } from './models.js'
import { otherBands } from './other-bands.js'
import type { StudyQuery } from './query.js'
import { reasonsOf } from './reasons.js'
import type { StudyWindow } from './result.js'
import type { Subject } from './subject.js'

/** What all windows of a study stand on. */
export interface Material {
  query: StudyQuery
  subjects: readonly Subject[]
  benchmark: Series | null
  /** Dates of the bars of the context ticker; null without one. */
  contextDays: Int32Array | null
  /** Empty without a model. */
  modelled: readonly ModelledEvent[]
  asOf: Day | null
}

/** One cell, and the Sharpe ratio of the portfolio that holds its events. */
export function studyWindow(material: Material, horizon: number): { window: StudyWindow; sharpe: number | null } {
  const { query, subjects } = material
  const forwards = subjects.map(({ prices }) => forwardReturns(prices, horizon))
  const members = subjects.map(({ ticker, prices, eligible, signals }, i) =>
    memberBars(ticker, prices.series.days, forwards[i]!, eligible, signals.bars),
  )
  const cell = cellOf(members, horizon)
  const held = heldPositions(subjects, members, horizon, material.benchmark)
  const counts = countsOf(material, members, horizon)
  const few = tooFew(counts.n, counts.n_indep, query.minEvents)
  const returns = eventReturns(members)
  const base = baseOf(members)
  const figures = figuresOf(returns, base)
  const tally = tallyOf(material, horizon, few)
  const window = {
    window: `${horizon}${TIMEFRAMES[query.filter.timeframe].unit}`,
    horizon,
    ...counts,
    n_stretches: stretches(cell.series.events, horizon),
    ...figures,
    ...meanExcursions(subjects, members, horizon),
    base: { n: base.n, mean: base.mean, median: base.median, hit: base.hit, deviation: base.deviation },
    context_base: contextBase(subjects, members, figures.mean),
    intervals: intervalsOf(cell, query, few),
    tests: testsOf(cell, held, query, few),
    random_entry: randomEntries(cell, query, few),
    other_bands: otherBands(subjects, forwards, query.filter.bands),
    abnormal: abnormalIn(material, horizon),
    aftermath: tally && { counts: tally.counts, base: tally.base, lift: tally.lift, g: tally.g, p: tally.p },
    histogram: histogram(returns, base.columns),
    grey: few !== null,
  }
  const reasons = reasonsOf(window, query, tally?.reason ?? null)
  return { window: { ...window, reasons }, sharpe: counts.n === 0 ? null : portfolioSharpe(held.portfolio) }
}

function countsOf({ subjects, asOf }: Material, members: readonly MemberBars[], horizon: number) {
  const lost = { not_elapsed: 0, too_early: 0, delisted: 0 }
  for (const { prices, signals } of subjects) {
    const { notElapsed, delisted } = lostOf(prices, horizon, signals.bars, asOf)
    lost.not_elapsed += notElapsed
    lost.delisted += delisted
  }
  const sum = (of: (i: number) => number): number => subjects.reduce((total, _, i) => total + of(i), 0)
  return {
    events: sum(i => subjects[i]!.signals.bars.length),
    n: sum(i => members[i]!.events.length),
    n_indep: sum(
      i =>
        overlap(
          Array.from(members[i]!.events, at => members[i]!.bars[at]!),
          horizon,
        ).independent,
    ),
    lost,
  }
}

/** Ascending, so that the order of the tickers leaves no trace in the last digit of what is added up. */
function eventReturns(members: readonly MemberBars[]): Float64Array {
  return Float64Array.from(members.flatMap(({ returns, events }) => Array.from(events, i => returns[i]!))).sort()
}

function figuresOf(returns: Float64Array, base: Base) {
  const n = returns.length
  const up = gains(returns)
  const average = mean(returns)
  const share = n === 0 ? null : up / n
  const interval = wilson(up, n)
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
    hit: { share, low: interval?.low ?? null, high: interval?.high ?? null },
    diff: average === null ? null : average - base.mean!,
    lift: share === null || base.hit === 0 ? null : share / base.hit!,
  }
}

function meanExcursions(subjects: readonly Subject[], members: readonly MemberBars[], horizon: number) {
  const each = members.flatMap(({ bars, events }, i) =>
    Array.from(events, at => excursions(subjects[i]!.prices, bars[at]!, horizon)),
  )
  return { mfe: mean(each.map(({ mfe }) => mfe)), mae: mean(each.map(({ mae }) => mae)) }
}

function tallyOf({ query, subjects }: Material, horizon: number, few: string | null) {
  const tickers = subjects.map(({ prices, eligible, signals }) => ({ prices, eligible, signals: signals.bars }))
  const options = { reps: query.reps, random: streamOf(query.seed, 'aftermath', horizon) }
  return aftermathTally(tickers, horizon, few, options)
}

function abnormalIn({ query, modelled }: Material, horizon: number): StudyWindow['abnormal'] {
  const { abnormal: model, benchmark, minEvents } = query
  if (model === 'none') return null
  return abnormalOver(modelled, horizon, { model, benchmark: model === 'market' ? benchmark : null, minEvents })
}
