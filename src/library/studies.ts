import type { Market } from '../market.js'
import type { Tier } from '../model/tier.js'
import type { Trials } from '../model/trials.js'
import { version } from '../open/version.js'
import type { ReportAbout } from '../report/about.js'
import type { Backtest } from '../research/backtest/result.js'
import type { BacktestParams } from '../research/params/backtest.js'
import type { StudyParams } from '../research/params/study.js'
import type { SweepParams } from '../research/params/sweep.js'
import type { EventStudy } from '../research/study/result.js'
import type { Sweep } from '../research/sweep/result.js'
import { Questions } from './questions.js'

/** How progress of long work is told: often, the text only made when it is asked for. */
export interface StudyWays {
  step?: (text: () => string) => void
}

/**
 * The questions that need prices beside events. Parameters are spelled as the options of the command line, answers are
 * those that it prints with `--json`. What is looked at is noted in the ledger of trials unless that was refused at the
 * opening. Each may throw InvalidParameter, NotFound, TierRestricted and Busy, StorageError for a ledger that cannot be
 * opened; where it cannot be written in the end, the answer's warnings say so.
 */
export abstract class Studies extends Questions {
  #market: Promise<Market> | null = null
  #trials: Promise<Trials | null> | null = null

  /** What followed events, against what follows any bar: returns, an average path, intervals and tests. */
  async study(params: StudyParams, ways: StudyWays = {}): Promise<EventStudy> {
    const [{ parseStudy }, { eventStudy }] = await Promise.all([
      import('../research/params/study.js'),
      import('../research/study/event-study.js'),
    ])
    const query = parseStudy(params)
    const market = await this.#prices()
    return this.#counted(trials => eventStudy(market, query, { ...ways, trials }))
  }

  /** Events traded by rules: trades, equity and their statistics. */
  async backtest(params: BacktestParams, ways: StudyWays = {}): Promise<Backtest> {
    const [{ parseBacktest }, { backtest }] = await Promise.all([
      import('../research/params/backtest.js'),
      import('../research/backtest/backtest.js'),
    ])
    const { strategy, run } = parseBacktest(params, { tier: this.tier })
    const market = await this.#prices()
    return this.#counted(trials => backtest(market, strategy, run, { ...ways, trials }))
  }

  /** Every field, band and window at once, with p-values corrected for so many looks. */
  async sweep(params: SweepParams, ways: StudyWays = {}): Promise<Sweep> {
    const [{ parseSweep }, { sweep }] = await Promise.all([
      import('../research/params/sweep.js'),
      import('../research/sweep/sweep.js'),
    ])
    const query = parseSweep(params)
    const market = await this.#prices()
    return this.#counted(trials => sweep(market, query, { ...ways, trials }))
  }

  /** The page of an answer, as `--report` writes it: one HTML document that needs nothing else. */
  async report(found: EventStudy | Backtest | Sweep, { command = '' }: { command?: string } = {}): Promise<string> {
    const [{ studyReport, backtestReport, sweepReport }, { strategyOf }, pictured] = await Promise.all([
      import('../report/report.js'),
      import('../research/backtest/schema.js'),
      import('../research/pictured.js'),
    ])
    const market = await this.#prices()
    const about: ReportAbout = {
      command,
      version: version(),
      source: this.source,
      as_of: found.as_of,
      tier: this.tier,
      ...(await pictured.inputsOf(market, found)),
    }
    if (found.schema === 'bands.sweep/1') return sweepReport(found, about)
    if (found.schema === 'bands.study/1') return studyReport(found, await pictured.studyCharts(market, found), about)
    const charts = await pictured.backtestCharts(market, found)
    return backtestReport(found, strategyOf(found.strategy), charts, about)
  }

  override async close(): Promise<void> {
    try {
      await (await this.#trials?.catch(() => null))?.close()
    } finally {
      await super.close()
    }
  }

  async #counted<Found extends { warnings: string[] }>(ask: (trials: Trials | null) => Promise<Found>): Promise<Found> {
    const { counted } = await import('../research/counted.js')
    return counted(await this.#ledger(), ask)
  }

  /** A refusal is not kept: another time there may be an answer. */
  #prices(): Promise<Market> {
    this.#market ??= this.market()
    this.#market.catch(() => {
      this.#market = null
    })
    return this.#market
  }

  #ledger(): Promise<Trials | null> {
    this.#trials ??= this.trials()
    this.#trials.catch(() => {
      this.#trials = null
    })
    return this.#trials
  }

  /** Prices, and bands on them. */
  protected abstract market(): Promise<Market>

  /** Where looks are noted; null where they are not. */
  protected abstract trials(): Promise<Trials | null>

  /** The tier that is emulated; null: everything that is loaded. */
  protected abstract get tier(): Tier | null

  /** Where the data are from, in words. */
  protected abstract get source(): string
}
