import { describeBacktest } from '../../../src/app/present/backtest.js'
import type { ChartPrices } from '../../../src/app/present/chart.js'
import { describeStudy } from '../../../src/app/present/study.js'
import { describeSweep } from '../../../src/app/present/sweep.js'
import { describeTallyPage } from '../../../src/app/present/tally.js'
import { type ReportAbout, reportPage } from '../../../src/app/report/report.js'
import type { Backtest } from '../../../src/research/backtest/result.js'
import type { EventStudy } from '../../../src/research/study/result.js'
import type { Sweep } from '../../../src/research/sweep/result.js'
import { ABOUT } from '../../support/results/about.js'
import { type MadeOptions, madePrices } from '../../support/results/prices.js'
import { madeBacktest, madeStudy, madeSweep } from '../../support/results/runs.js'
import { madeTally } from '../../support/results/tally.js'

export function studyReport(study: EventStudy, charts: readonly ChartPrices[], about: ReportAbout): string {
  return reportPage(describeStudy(study, charts), about)
}

export function backtestReport(found: Backtest, charts: readonly ChartPrices[], about: ReportAbout): string {
  return reportPage(describeBacktest(found, charts), about)
}

export function sweepReport(sweep: Sweep, about: ReportAbout): string {
  return reportPage(describeSweep(sweep), about)
}

/** A page of each kind, ten years of daily bars. */
export const REPORTS: Readonly<Record<string, () => string | Promise<string>>> = {
  study: () => madeStudyReport(),
  backtest: () => madeBacktestReport(),
  sweep: async () => sweepReport(await madeSweep(), ABOUT),
  tally: () => reportPage(describeTallyPage(madeTally()), TALLIED),
}

/** A tally reads no prices. */
const TALLIED: ReportAbout = { ...ABOUT, adjustment: null, inputs: null }

/** A sweep in which nothing was tried. */
const NO_CELL = { tickers: [], cells: [], found: 0, tried: { cells: 0, tested: 0, ledger: null } }

/** What there is hardly anything to tell of, or very much. */
export const EXTREMES: Readonly<Record<string, () => string | Promise<string>>> = {
  'a study without an event': () => madeStudyReport({ bars: 10 }),
  'a study without a bar': async () => studyReport(await madeStudy([]), [], ABOUT),
  'a study of one event': async () => {
    const prices = madePrices({ bars: 300 })
    const [first] = prices.events
    prices.events = [first!]
    prices.codes = prices.codes.map((code, at) => (code === 1 && at !== first!.at ? 2 : code))
    return studyReport(await madeStudy([prices]), [prices], ABOUT)
  },
  'a weekly study': async () => {
    const prices = madePrices({ weekly: true, bars: 520 })
    return studyReport(await madeStudy([prices], { timeframe: 'weekly' }), [prices], ABOUT)
  },
  'a study of one bar that never changes': async () => {
    const prices = madePrices({ bars: 1 })
    return studyReport(await madeStudy([prices]), [prices], ABOUT)
  },
  'a backtest without a trade': () => madeBacktestReport({ bars: 10 }),
  'a backtest without a bar': async () => backtestReport(await madeBacktest([]), [], ABOUT),
  'a tally of several bands': () => reportPage(describeTallyPage(madeTally(['oversold', 'deep_oversold'])), TALLIED),
  'a tally of no group': () => reportPage(describeTallyPage({ ...madeTally(), events: 0, groups: [] }), TALLIED),
  'a sweep without a cell': async () => sweepReport(await madeSweep(NO_CELL), ABOUT),
}

/** 505 tickers, most of which are in the numbers alone. */
export async function universeReport(): Promise<string> {
  const charts = Array.from({ length: 505 }, (_, i) => madePrices({ ticker: `T${i}`, bars: 260, seed: i + 1 }))
  return studyReport(await madeStudy(charts), charts.slice(0, 6), ABOUT)
}

export async function madeStudyReport(options: MadeOptions = {}, about: Partial<ReportAbout> = {}): Promise<string> {
  const prices = madePrices(options)
  return studyReport(await madeStudy([prices]), [prices], { ...ABOUT, ...about })
}

export async function madeBacktestReport(options: MadeOptions = {}): Promise<string> {
  const charts = [1, 2, 3].map(seed => madePrices({ ...options, seed, ticker: ['AAPL', 'MSFT', 'XOM'][seed - 1]! }))
  return backtestReport(await madeBacktest(charts), charts, ABOUT)
}
