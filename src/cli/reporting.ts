import { basename } from 'node:path'
import { redacted } from '../accounts/redact.js'
import type { Market } from '../market.js'
import { version } from '../open/version.js'
import type { ReportAbout } from '../report/about.js'
import type { Backtest } from '../research/backtest/result.js'
import type { Strategy } from '../research/backtest/strategy.js'
import { backtestCharts, inputsOf, studyCharts } from '../research/pictured.js'
import type { EventStudy } from '../research/study/result.js'
import type { Sweep } from '../research/sweep/result.js'
import type { Context } from './context.js'
import { line } from './retype.js'

/** The report of an event study. */
export async function studyPage(context: Context, market: Market, found: EventStudy): Promise<string> {
  const { studyReport } = await import('../report/report.js')
  const about = await aboutOf(context, market, found)
  return studyReport(found, await studyCharts(market, found), about)
}

export async function backtestPage(
  context: Context,
  market: Market,
  found: Backtest,
  strategy: Strategy,
): Promise<string> {
  const { backtestReport } = await import('../report/report.js')
  const about = await aboutOf(context, market, found)
  return backtestReport(found, strategy, await backtestCharts(market, found), about)
}

export async function sweepPage(context: Context, market: Market, found: Sweep): Promise<string> {
  const { sweepReport } = await import('../report/report.js')
  return sweepReport(found, await aboutOf(context, market, found))
}

/** How a result came about, so that it can be made again and checked. */
async function aboutOf(context: Context, market: Market, found: EventStudy | Backtest | Sweep): Promise<ReportAbout> {
  const { config } = context
  return {
    command: redacted(line(context.argv)),
    version: version(),
    source: sourceOf(context),
    as_of: found.as_of,
    tier: context.asked === null && config.from.tier !== undefined ? config.tier : null,
    ...(await inputsOf(market, found)),
  }
}

function sourceOf({ asked, opened }: Context): string {
  const sample = opened === null || opened.sample
  const here = sample ? 'the sample that comes with bands' : `files imported into ${basename(opened.path)}`
  return asked === null ? here : `events of ${asked.url}, prices of ${here}`
}
