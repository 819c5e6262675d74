// For: study every field, band and horizon at once.
// In: fields, horizons and a source with prices.
// Out: cells with corrected p-values, the best, and its validation.

import { numberText } from '../../core/errors.js'
import { type Range, rangeOf } from '../../core/model/calendar.js'
import { dateOf } from '../../core/model/day.js'
import type { SweepQuery } from '../../core/params/studies.js'
import { type PricedSource, type RunContext, type Trial, type Trials, vocabulariesOf } from '../../core/source.js'
import { LEVEL, TESTS_CHECKED_IN, verdictOf } from '../../core/statistics/verdict.js'
import { bySeverity, LEAST_UNITS, tooFewEvents, type Warning } from '../study/result.js'
import { commonAssumptions, RETURNS_ASSUMED } from '../study/words.js'
import { CELL_TEST, cellTrial, checkFamily, correctedByLog, noteAndCompare, type RunInLog } from '../trials.js'
import { type CellSummary, Contest, disagreements, sweepCell } from './best.js'
import { cellCount, compareByEvidence, correctedPs, type SweepRun } from './cells.js'
import { ADJUSTMENTS, type KnownSweep, refuseTooManyCells, type Sweep } from './result.js'
import {
  type Combination,
  checkpointOf,
  daysWithBand,
  filterOf,
  hasValidation,
  readTickers,
  type TickerData,
  timelineOf,
  validationPlanOf,
} from './ticker-data.js'
import { runCells, validationOf } from './validation.js'

export type { SweepContext, SweepQuery } from '../../core/params/studies.js'

/**
 * Every band of the fields over every window, for all tickers together or each. Compares later returns with those of
 * any bar, corrects p for the number of cells, and tests whether the best cell is real.
 * The same query on the same data gives the same bytes, in any order of tickers. The p of a cell does not depend on
 * other cells.
 * Throws NotFound, TierRestricted and Busy as the source does. Throws InvalidParameter for a query without cells, with
 * too many, or with parts that the days do not contain.
 */
export async function sweep(source: PricedSource, request: SweepQuery, options: RunContext = {}): Promise<Sweep> {
  const query: KnownSweep = { ...request, vocabularies: await vocabulariesOf(source, request.fields) }
  const trials = options.trials ?? null
  refuseTooManyCells(cellCount(query))
  checkFamily(query.family, trials)
  const checkpoint = checkpointOf(options.step)
  const tickerData = await readTickers(source, query, checkpoint)
  const timeline = timelineOf(tickerData)
  const plan = validationPlanOf(query, timeline)
  const run: SweepRun = { tickerData, timeline, query, masks: query.horizons.map(() => null), name: 'sweep' }
  const contest = new Contest(timeline.days.length)
  const summaries: CellSummary[] = []
  for await (const { outcomes } of runCells({ runs: [run], tests: true }, checkpoint, source)) {
    for (const { summary, details } of outcomes) {
      summaries.push(summary)
      if (details !== null) contest.enter(summary.name, details)
    }
  }
  const logged = await logCells(summaries, query, tickerData, trials)
  const best = await contest.judge(query, familyOf(summaries, logged, query), checkpoint)
  const validation = plan === null ? null : await validationOf(run, plan, checkpoint, source)
  const asOf = await source.asOfDay()
  const result = resultOf(summaries, query, logged)
  const disputed = disagreements(best).map((sentence): Warning => ['disputed', sentence])
  const warnings = [...bySeverity([...disputed, ...result.warnings]), ...source.remarks()]
  return { ...headOf(run, asOf), ...result, warnings, best, validation }
}

/**
 * The cells in order of evidence, their number, and the warnings. `q` is corrected for the cells of this run, and with
 * family `ledger` for the logged trials of other runs. `log_q` is corrected for all trials in the log.
 * @param logged the cells as the trial log has them; null without a log
 */
function resultOf(summaries: readonly CellSummary[], query: KnownSweep, logged: LoggedCells | null) {
  const ps = summaries.map(({ p }) => p)
  const otherPs = otherTrialsInFamily(logged, query).map(({ p }) => p)
  const qs = correctedPs(ps, otherPs, query.adjust)
  const logQ = (i: number): number | null => logged?.q.get(logged.hashes[i]!) ?? null
  const ranked = summaries.map((summary, i) => ({ ...summary, q: qs[i]!, log_q: logQ(i) })).sort(compareByEvidence)
  // Without correction for the run there is no correction for the log.
  const log = query.adjust === 'none' ? null : (logged?.log ?? null)
  const cells = ranked.map(({ log_q, ...summary }) => {
    const cell = sweepCell(summary, query)
    return { ...cell, log_q, verdict: verdictOf(correctedByLog(cell.q, log, log_q), cell.diff) }
  })
  const tried = {
    cells: cells.length,
    tested: cells.filter(({ p }) => p !== null).length,
    ledger: logged?.countOfKind ?? null,
  }
  return {
    tried,
    log: logged?.log ?? null,
    found: cells.filter(({ q }) => q !== null && q < LEVEL).length,
    cells,
    assumptions: assumptionsOf(query, cells.length + otherTrialsInFamily(logged, query).length),
    warnings: warningsOf(ranked, query, tried),
  }
}

/** The number of trials that deflate the best Sharpe ratio, and their ratios: those of the run, or all in the log. */
function familyOf(summaries: readonly CellSummary[], logged: LoggedCells | null, query: SweepQuery) {
  const counted = [...summaries, ...otherTrialsInFamily(logged, query)]
  return { tried: counted.length, sharpes: counted.map(({ sharpe }) => sharpe).filter(sharpe => sharpe !== null) }
}

/** The logged trials of other runs that q and the deflated Sharpe ratio count; empty without family `ledger`. */
function otherTrialsInFamily(logged: LoggedCells | null, { family }: SweepQuery): readonly Trial[] {
  return family === 'ledger' && logged !== null ? logged.others : []
}

/** The head of a sweep's result: its query and the dates of its bars. */
function headOf({ tickerData, timeline, query }: SweepRun, asOf: number | null) {
  const { timeframe, fields, bands, when, lag, horizons, contexts, by, prev_band, adjust, family } = query
  const { seed, resamples, min_events } = query
  const { days, end } = timeline
  return {
    schema: 'bands.sweep/2' as const,
    tickers: tickerData.map(({ ticker }) => ticker),
    timeframe,
    fields: [...fields],
    ...(bands === undefined ? {} : { bands: [...bands] }),
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    horizons: [...horizons],
    contexts: contexts.map(context => ({ ...context })),
    by,
    prev_band,
    first: dateOf(end === 0 ? null : days[0]),
    last: dateOf(end === 0 ? null : days[end - 1]),
    as_of: dateOf(asOf),
    seed,
    resamples,
    min_events,
    adjust,
    family: family ?? ('run' as const),
  }
}

/** What the figures of a sweep assume, one a line. @param cells the number that p is corrected for */
function assumptionsOf(query: SweepQuery, cells: number): string[] {
  const { resamples, pbo_blocks, seed } = query
  return [
    RETURNS_ASSUMED,
    `Base: every bar of the same ticker and dates on which the field has a band and whose window has elapsed${query.by === 'pool' ? '; each ticker counts in it as its events count' : ''}.`,
    `p (Newey-West t): the mean excess per event of the calendar series over its Newey-West error, lag window - 1. Two-sided Student t; its degrees of freedom are the effective number of blocks of dates less one.`,
    `q: p corrected ${correctionPhrase(query, cells)}.${query.adjust === 'none' ? '' : CAUTION}`,
    `Combinations with ${tooFewEvents(query)}, or fewer than ${LEAST_UNITS} windows that share no bar, get no p and no interval, and count as tests with p = 1.`,
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, ${numberText(resamples)} resamples, the same for all combinations with about as many days and as long blocks. Their ends are moved out if there are few periods (Hesterberg 2015).`,
    'Best of many: reality check and SPA test the greatest difference either way. All combinations are resampled on the same days, in blocks of the median length of the intervals.',
    `Sharpe ratios, also deflated and cross-validated (${pbo_blocks} blocks), are of the mean return a day of all open positions. Each event is held long over its window; cash earns nothing.`,
    ...(hasValidation(query) ? [VALIDATED] : []),
    ...commonAssumptions(seed),
  ]
}

const CAUTION = ` Corrections and the deflated Sharpe ratio are cautious. ${TESTS_CHECKED_IN}`

const VALIDATED = `Validation: combinations with a corrected p below ${LEVEL} on the training part are chosen (the best one if there is none). They are held in the direction of that part; no training window meets a test window.`

/** Warnings about combinations without a p, an uncorrected p, and lost windows. */
function warningsOf(summaries: readonly CellSummary[], query: SweepQuery, tried: Sweep['tried']): Warning[] {
  const lost = summaries.reduce((sum, { events, sums }) => sum + events - sums.n, 0)
  const untested = tried.tested > 0 ? tried.cells - tried.tested : 0
  const cells = numberText(tried.cells)
  const isUncorrected = query.adjust === 'none'
  return [
    ['nothing', tried.tested === 0 && 'No combination has enough events to be tested.'],
    ['left_out', untested > 0 && `${numberText(untested)} of ${cells} combinations have too few events for a p.`],
    ['flattering', isUncorrected && `p is not corrected for ${cells} tests: one in twenty is below .05 by chance.`],
    [
      'left_out',
      lost > 0 &&
        `${numberText(lost)} windows of events end after the newest bar, or have no final price, and are left out.`,
    ],
  ]
}

/** For example "for all 245 combinations by Benjamini-Hochberg". */
function correctionPhrase({ adjust, family }: SweepQuery, cells: number): string {
  if (adjust === 'none') return 'for nothing'
  const where = family === 'ledger' ? ' of the trial log' : ''
  return `for all ${numberText(cells)} combinations${where} by ${ADJUSTMENTS[adjust]}`
}

interface LoggedCell {
  key: Combination
  p: number | null
  sharpe: number | null
}

/** State of the trial log, and the hash of each cell in the order of the run. */
interface LoggedCells extends RunInLog {
  hashes: readonly string[]
}

/**
 * Logs every cell (combination), and compares the run with all trials of the log (family `ledger`), or only with itself
 * (`run`). Null without a trial log.
 */
async function logCells(
  cells: readonly LoggedCell[],
  query: KnownSweep,
  tickerData: readonly TickerData[],
  trials: Trials | null,
): Promise<LoggedCells | null> {
  const ranges = new Map<string, Range>()
  const cellTrials = cells.map(({ key, p, sharpe }) => {
    const { condition, horizon, ticker } = key
    const group = ticker === null ? tickerData : tickerData.filter(data => data.ticker === ticker)
    // Cells of one field and ticker have the same dates.
    const rangeKey = `${condition.field} ${ticker}`
    const range = ranges.get(rangeKey) ?? rangeOf(group.map(data => daysWithBand(data, condition.field)))
    ranges.set(rangeKey, range)
    const tickers = group.map(data => data.ticker)
    const spec = { tickers, filter: filterOf(condition, query), horizon, ...range }
    return cellTrial(spec, { p, test: CELL_TEST, sharpe })
  })
  const comparison = await noteAndCompare(trials, 'cell', cellTrials, query.family ?? 'ledger')
  return comparison && { ...comparison, hashes: cellTrials.map(({ hash }) => hash) }
}
