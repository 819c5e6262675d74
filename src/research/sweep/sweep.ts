import { InvalidParameter } from '../../errors.js'
import type { Market } from '../../market.js'
import { formatDay } from '../../model/day.js'
import type { Trials } from '../../model/trials.js'
import { adjusted, byEvidence } from './adjust.js'
import { Contest } from './best.js'
import { booksOf } from './books.js'
import { type Found, foundOf, sweepCell } from './found.js'
import { timelineOf } from './ground.js'
import { type Ledger, noted } from './ledger.js'
import { cellCount, lookAtAll, type Scene } from './look.js'
import { Pace } from './pace.js'
import { planOf } from './plan.js'
import { checkQuery, type SweepQuery } from './query.js'
import { assumptionsOf, warningsOf } from './remarks.js'
import { Resamples } from './resamples.js'
import type { Sweep } from './result.js'
import { CHOSEN_BELOW, validationOf } from './validation.js'

export type { SweepContext, SweepQuery } from './query.js'

export interface SweepWays {
  /** Told how far it is, a few times a second; the text is made when it is asked for. */
  step?: (text: () => string) => void
  /** Where every cell that was looked at is noted. */
  trials?: Trials | null
}

/**
 * Every band of the fields over every window, for all tickers together or each: what followed, against what follows any
 * bar, with p-values corrected for how many were looked at, and whether the best of them is real. The same query of the
 * same data gives the same bytes, in whatever order tickers are named; a cell has the same p whatever else is looked at.
 * Throws NotFound, TierRestricted and Busy as the market does, InvalidParameter for a question without cells, with too
 * many, or for parts that the days do not have.
 */
export async function sweep(market: Market, query: SweepQuery, ways: SweepWays = {}): Promise<Sweep> {
  const trials = ways.trials ?? null
  checkQuery(query, cellCount(query))
  if (query.family === 'ledger' && trials === null) throw noLedger()
  const pace = new Pace(ways.step)
  const books = await booksOf(market, query, pace)
  const timeline = timelineOf(books)
  const plan = planOf(query, timeline)
  const scene: Scene = { books, timeline, query, masks: query.horizons.map(() => null), name: 'sweep' }
  const contest = new Contest(timeline.days.length)
  const resamples = new Resamples(query)
  const found: Found[] = []
  await lookAtAll(scene, pace, look => found.push(foundOf(look, scene, resamples, contest)))
  const ledger = await noted(found, query, books, trials)
  const best = await contest.judge(query, familyOf(found, ledger, query), pace)
  const validation = plan === null ? null : await validationOf(scene, plan, pace)
  const asOf = await market.asOf()
  return { ...headOf(scene, asOf), ...resultOf(found, query, ledger, market), best, validation }
}

/** The cells in order of evidence, how many there were, and what must be said of them. */
function resultOf(found: readonly Found[], query: SweepQuery, ledger: Ledger | null, market: Market) {
  const corrected = adjusted(
    found.map(({ p }) => p),
    (ledger?.others ?? []).map(({ p }) => p),
    query.adjust,
  )
  const ranked = found.map((one, i) => ({ ...one, q: corrected[i]! })).sort(byEvidence)
  const cells = ranked.map(one => sweepCell(one, query))
  const tried = {
    cells: cells.length,
    tested: cells.filter(({ p }) => p !== null).length,
    ledger: ledger?.cells ?? null,
  }
  return {
    tried,
    found: cells.filter(({ q }) => q !== null && q < CHOSEN_BELOW).length,
    cells,
    assumptions: assumptionsOf(query, tried),
    warnings: warningsOf(ranked, query, tried, market),
  }
}

/** The looks that the best Sharpe ratio is deflated by: those of the run, or all of the ledger. */
function familyOf(found: readonly Found[], ledger: Ledger | null, { family }: SweepQuery) {
  const others = ledger?.others ?? []
  const sharpes = [...found, ...others].map(({ sharpe }) => sharpe).filter(sharpe => sharpe !== null)
  return { tried: family === 'ledger' ? ledger!.cells : found.length, sharpes }
}

function headOf({ books, timeline, query }: Scene, asOf: number | null) {
  const { timeframe, fields, horizons, contexts, by, prevBand, seed, reps, resamples, minEvents, adjust, family } =
    query
  const { days, end } = timeline
  return {
    schema: 'bands.sweep/1' as const,
    tickers: books.map(({ ticker }) => ticker),
    timeframe,
    fields: [...fields],
    horizons: [...horizons],
    contexts: contexts.map(context => ({ ...context })),
    by,
    prev_band: prevBand,
    first: end === 0 ? null : formatDay(days[0]!),
    last: end === 0 ? null : formatDay(days[end - 1]!),
    as_of: asOf === null ? null : formatDay(asOf),
    seed,
    reps: reps === 'all' ? null : reps,
    resamples,
    min_events: minEvents,
    adjust,
    family,
  }
}

function noLedger(): InvalidParameter {
  const why = 'there is no trial ledger beside the bundled sample'
  const message = `family "ledger" cannot be: ${why}; use family "run", or a database of your own.`
  return new InvalidParameter(message, { param: 'family', value: 'ledger', allowed: ['run'] })
}
