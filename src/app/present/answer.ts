import { title } from '../../core/errors.js'
import type { Timeframe } from '../../core/model/terms.js'
import {
  count,
  listNames,
  numberText,
  probability,
  returnRange,
  returnText,
  shareText,
  UNKNOWN,
} from '../../core/numbers.js'
import { isFinding, LEVEL } from '../../core/statistics/verdict.js'
import { type Backtest, SAME_EXPOSURE, type Tests } from '../../research/backtest/result.js'
import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { SHORT, type Sweep, type SweepCell } from '../../research/sweep/result.js'
import type { Tally } from '../../research/tally/tally.js'
import type { LogComparison } from '../../research/trials.js'
import { strategiesText } from './words.js'

/** Answers: the finding of a result and its certainty in a sentence or two, for the head of its page or output. */

/** About the middle window, or the significant one; then other significant windows, the context and the trial log. */
export function studyAnswer(study: EventStudy): string {
  if (study.events === 0) return study.warnings[0] ?? 'No such event, so there is nothing to compare.'
  const testedWindows = study.windows.filter(({ diff, p_corrected }) => diff !== null && p_corrected !== null)
  const middleWindow = middleItem(testedWindows)
  if (middleWindow === undefined) return untestedAnswer(study)
  const findings = testedWindows.filter(({ verdict }) => isFinding(verdict))
  const mainWindow = findings.length === 0 || findings.includes(middleWindow) ? middleWindow : middleItem(findings)!
  // Any bar in the same context, which is not tested.
  const contextDiff = mainWindow.context_base?.diff ?? null
  const sentences = [
    `${title(mainWindow.verdict)}: ${comparedText(mainWindow, study)}; ${pText(mainWindow, testedWindows.length)}.`,
    contextDiff === null ? '' : ` Against any bar of the same context, not tested: ${pointsText(contextDiff)}.`,
    trialLogSentence(study.log, mainWindow.log_q),
  ]
  for (const window of findings) {
    if (window === mainWindow) continue
    const finding = `${title(overText(window.horizon, study))} ${window.verdict}: ${pointsText(window.diff!)}`
    sentences.push(` ${finding}; ${pText(window, testedWindows.length)}.`)
  }
  return sentences.join('')
}

/** `118 events, about 88 independent cases`: those of the middle window. Only the events if there are as many. */
export function eventsAndCases(events: number, windows: readonly { n: number; n_independent: number }[]): string {
  const eventsText = count(events, 'event')
  const cases = middleItem(windows.filter(({ n }) => n > 0))?.n_independent ?? events
  return cases >= events ? eventsText : `${eventsText}, about ${count(cases, 'independent case')}`
}

/**
 * The sentence after a verdict about the other questions that were asked of the same data. It has the number of them
 * that would have p < .05 by chance. It begins with a space. Empty if the trial log has no other question.
 * @param q p of the verdict corrected over the log; null if it is not known, `untested` for a question without a p
 * @param qName name of this q in the sentence
 */
export function trialLogSentence(
  log: LogComparison | null,
  q: number | 'untested' | null,
  qName = 'corrected for all of them q',
): string {
  if (log === null || log.questions < 2) return ''
  const { family, questions, windows, expected } = log
  const oneOf = ` One of ${numberText(questions)} questions`
  if (family === 'run') return `${oneOf} tested on these data so far; the others are not counted (--family run).`
  const counted = `${oneOf} (${numberText(windows)} windows) tested on these data so far (bands trials)`
  if (q === 'untested') return `${counted}.`
  const qText = q === null ? '' : `; ${qName} ${probability(q)}`
  return `${counted}: by chance ${chanceFindingsText(expected)} p < .05${qText}.`
}

/** `about 3 have`, `fewer than one has`: the number of windows that would be significant by chance. */
function chanceFindingsText(expected: number): string {
  if (expected < 0.95) return 'fewer than one has'
  const rounded = Math.round(expected)
  return rounded === 1 ? 'about one has' : `about ${numberText(rounded)} have`
}

/** `p .030, .090 corrected for 3 windows`: corrected only if it is significant without. @param windows tested ones */
function pText({ tests, p_corrected: corrected }: StudyWindow, windows: number): string {
  const p = tests[0]?.p ?? null
  const isSignificant = p !== null && p < LEVEL
  if (windows === 1 || !isSignificant) return `p ${probability(p)}`
  return `p ${probability(p)}, ${probability(corrected)} corrected for ${windows} windows`
}

/** How often prices rose, and returns were among the best 40%, over the middle window; none for several groups. */
export function tallyAnswer({ groups, events, timeframe, log }: Tally): string {
  if (events === 0) return 'No such event, so there is nothing to count.'
  if (groups.length > 1)
    return `${count(events, 'event')} in ${count(groups.length, 'group')}; a tally makes no test: bands study does.`
  const window = middleItem(groups[0]!.windows.filter(({ n }) => n > 0))
  if (window === undefined)
    return `Nothing can be said yet: of ${count(events, 'event')} no window has ended and been ranked.`
  const { n_independent, top_share, returns, base } = window
  // The same share after any bar, to compare with.
  const anyBarText = (share: number | null): string =>
    share === null ? '' : ` (any ${BAR_NAMES[timeframe]}: ${shareText(share)})`
  const later = `${count(Number.parseInt(window.window, 10), BAR_NAMES[timeframe])} later`
  const rose =
    returns.hit_rate === null ? '' : ` up in ${shareText(returns.hit_rate)}${anyBarText(base.returns.hit_rate)},`
  const top = ` among the best 40% of its own past in ${shareText(top_share)}${anyBarText(base.top_share)}`
  const text = `${later}${rose}${top}`
  const opening = n_independent < LEAST_CASES ? `Too few: ${text}` : title(text)
  return `${opening}.${trialLogSentence(log, 'untested')}`
}

/** With fewer independent cases the answer of a tally begins with `Too few`; a study has no p-value then. */
const LEAST_CASES = 10

/** The answer for a study in which no window could be tested: its cases; the sentence of the trial log has no q. */
function untestedAnswer(study: EventStudy): string {
  const { events, windows } = study
  const ended = windows.filter(({ n }) => n > 0)
  const window = middleItem(ended)
  if (window === undefined)
    return `Nothing can be said yet: of ${count(events, 'event')} no window has ended with a price that is known.`
  const comparison =
    window.diff === null ? '' : `; compared with any ${BAR_NAMES[study.timeframe]}: ${comparedText(window, study)}`
  const { n, n_independent: cases } = window
  const among = cases === n ? '' : ` among ${count(n, 'event')}`
  return `Too few: ${count(cases, 'independent case')}${among}${comparison}.${trialLogSentence(study.log, null)}`
}

/** `+3.8 points over 20 days (95%: +1.0 to +6.0)`: the difference from any bar. */
function comparedText({ diff, horizon, intervals }: StudyWindow, study: EventStudy): string {
  const { low = null, high = null } = intervals[0] ?? {}
  const range = low === null || high === null ? '' : ` (95%: ${signedPoints(low)} to ${signedPoints(high)})`
  return `${pointsText(diff ?? 0)} ${overText(horizon, study)}${range}`
}

const BAR_NAMES: Readonly<Record<Timeframe, string>> = { daily: 'day', weekly: 'week' }

/** `over 20 days` */
function overText(horizon: number, { timeframe }: { timeframe: Timeframe }): string {
  return `over ${count(horizon, BAR_NAMES[timeframe])}`
}

/** `+3.8 points`: a difference of returns in percentage points; `no difference` if it rounds to 0. */
function pointsText(difference: number): string {
  const text = signedPoints(difference)
  if (Number(text) === 0) return 'no difference'
  return `${text} ${text === '+1.0' || text === '-1.0' ? 'point' : 'points'}`
}

/** `+3.8`: a difference of returns in percentage points, with a second decimal below 1. */
function signedPoints(difference: number): string {
  const size = Math.abs(difference * 100)
  const digits = size.toFixed(size < 0.995 ? 2 : 1)
  const text = digits.replace(THOUSANDS_BOUNDARY, ',')
  return Number(text) === 0 ? text : `${difference < 0 ? '-' : '+'}${text}`
}

const THOUSANDS_BOUNDARY = /\B(?=(\d{3})+(?:\.|$))/g

/** The item in the middle of a list, the earlier of two; undefined for an empty list. */
function middleItem<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor((items.length - 1) / 2)]
}

/** The answer of a backtest: about the test days of its validation, or about all days without a validation. */
export function backtestAnswer(backtest: Backtest): string {
  const { equity, signals, trade_statistics: trades, statistics } = backtest
  if (equity.length === 0) return backtest.warnings[0] ?? 'No bar to trade on, so nothing came of it.'
  if (signals.total === 0) return 'No signal, so no trade.'
  const tests = backtest.validation?.test ?? null
  if (tests !== null) return testedAnswer(backtest, tests)
  const ruin = equity.find(point => point.equity <= 0)
  if (ruin !== undefined)
    return `Ruined: on ${ruin.date} the equity was gone, after ${count(trades.n, 'closed trade')}.`
  if (trades.n === 0)
    return `No closed trade of ${count(signals.total, 'signal')}, so nothing can be said of the rules.`
  const { log, log_q } = backtest.trials
  const holdingReturn = benchmarkReturn(backtest, 'buy and hold')
  const holding = holdingReturn === null ? '' : `; holding made ${returnText(holdingReturn)}`
  const verdict = title(backtest.verdict.word)
  const firstSentence = `${verdict}: ${returnText(statistics.total_return)}${drawsText(backtest)}${holding}.`
  return `${firstSentence}${sameExposureText(backtest)}${trialLogSentence(log, log_q)}${deflatedDoubtText(backtest)}`
}

/** The total return of the benchmark with a name; null if there is none. */
function benchmarkReturn({ benchmarks }: Pick<Backtest, 'benchmarks'>, benchmarkName: string): number | null {
  return benchmarks.find(({ name }) => name === benchmarkName)?.statistics.total_return ?? null
}

/** What a benchmark with the same exposure made; empty for a strategy in the market half of the time or more. */
function sameExposureText(backtest: Pick<Backtest, 'benchmarks' | 'statistics'>): string {
  const { invested } = backtest.statistics
  const exposureReturn = benchmarkReturn(backtest, SAME_EXPOSURE)
  if (invested === null || exposureReturn === null || invested >= 0.5) return ''
  return ` In the market ${shareText(invested)} of the time; the same exposure made ${returnText(exposureReturn)}.`
}

/** `better than 70% of random entries (p .136)`, or why there is no comparison. */
export function randomEntryText({
  random_entry: { p, better_than: share, reason },
}: Pick<Backtest, 'random_entry'>): string {
  if (p === null || share === null) return `not compared with random entries${reason === null ? '' : ` (${reason})`}`
  const comparison = share >= 0.5 ? `better than ${shareText(share)}` : `worse than ${shareText(1 - share)}`
  return `${comparison} of random entries (p ${probability(p)})`
}

/** A sentence with the deflated Sharpe ratio of a finding, if the number of tried strategies makes it doubtful. */
function deflatedDoubtText({ trials: { deflated_sharpe: deflated, n }, verdict }: Backtest): string {
  if (verdict.word !== 'beats chance' || deflated === null || 1 - deflated < LEVEL) return ''
  return ` Of ${strategiesText(n)} tried the deflated Sharpe ratio is ${probability(deflated)}.`
}

/** The answer of a walk-forward or a split, only about its test days; then the number of questions in the trial log. */
export function testedAnswer(backtest: Pick<Backtest, 'validation' | 'trials'>, tests: Tests): string {
  const { statistics, trade_statistics: trades, holding, verdict } = tests
  const { log, log_q } = backtest.trials
  const testParts = backtest.validation?.folds.filter(({ role }) => role === 'test') ?? []
  const testDays = `${testParts[0]?.from ?? UNKNOWN} to ${testParts.at(-1)?.to ?? UNKNOWN}`
  const resultText = `${returnText(statistics.total_return)}${drawsText(tests)} on the days of the tests (${testDays})`
  const holdingText = `holding over the same days made ${returnText(holding.total_return)}`
  const tradesText = `${count(trades.n, 'trade')}, worst drawdown ${returnText(statistics.max_drawdown)}`
  return `${title(verdict.word)}: ${resultText}; ${holdingText}.${trialLogSentence(log, log_q)} ${title(randomEntryText(tests))}; ${tradesText}.`
}

/** ` (5-95% of 200 draws: -6.1 to +28.5%)`: the return over random choices among equal signals; empty without draws. */
function drawsText({ draws }: Pick<Backtest, 'draws'> | Pick<Tests, 'draws'>): string {
  if (draws === null) return ''
  const { p05, p95 } = draws.return
  return ` (5-95% of ${draws.n} draws: ${returnRange({ low: p05, high: p95 })})`
}

/** `.412, by the 40 of the ledger`: the deflated Sharpe ratio and the trials it allows for, or why it is not known. */
export function deflatedText({ deflated_sharpe: deflated, reason, n, family }: Backtest['trials']): string {
  if (deflated === null) return reason ?? UNKNOWN
  return `${probability(deflated)}, by the ${numberText(n)} of ${family === 'ledger' ? 'the ledger' : 'this run'}`
}

/**
 * The findings of a sweep, whose combinations are sorted by q. Then the number of other windows in the trial log, the
 * test of the best of all (SPA), and the result on the test days.
 */
export function sweepAnswer(sweep: Sweep): string {
  const { tried, cells, adjust, best } = sweep
  const smallestQ = cells.find(({ q, diff }) => q !== null && diff !== null)
  if (smallestQ === undefined) {
    if (cells.every(({ events }) => events === 0)) return 'No such event, so there is nothing to compare.'
    return `Too few: none of ${count(tried.cells, 'combination')} has enough independent cases to be tested.`
  }
  const findings = findingsText(sweep)
  let rule = 'q < .05'
  if (adjust === 'none') rule = `p < .05, not corrected: chance gives about ${(tried.tested * LEVEL).toFixed(0)}`
  // A q below the level may still be in the table, where only the combinations of this sweep count.
  else if (findings === null && smallestQ.q! < LEVEL) rule = 'q < .05 over all questions'
  const opening = findings ?? `Not told from chance: none of ${count(tried.tested, 'tested combination')}`
  const spa = best.spa?.consistent ?? null
  const spaSentence = spa === null ? '' : ` ${spaText(spa, findings !== null)}`
  return `${opening} (${rule})${otherWindowsText(sweep, smallestQ)}${spaSentence}${testDaysText(sweep)}`
}

/** `2 of 30 tested combinations beat chance and 1 is worse than chance`; null without a finding. */
function findingsText({ cells, tried }: Sweep): string | null {
  const countOf = (verdict: SweepCell['verdict']): number => cells.filter(cell => cell.verdict === verdict).length
  const better = countOf('beats chance')
  const worse = countOf('worse than chance')
  const ofTested = ` of ${count(tried.tested, 'tested combination')}`
  const texts: string[] = []
  if (better > 0) texts.push(`${numberText(better)}${ofTested} ${better === 1 ? 'beats chance' : 'beat chance'}`)
  if (worse > 0)
    texts.push(`${numberText(worse)}${better > 0 ? '' : ofTested} ${worse === 1 ? 'is' : 'are'} worse than chance`)
  return texts.length === 0 ? null : listNames(texts)
}

/** The sentence about all combinations tested together. @param hasFinding whether a single one is significant */
function spaText(p: number, hasFinding: boolean): string {
  const pInBrackets = `(SPA p ${probability(p)})`
  if (p >= LEVEL) return `Tested together they are not told from chance ${pInBrackets}.`
  if (hasFinding) return `Tested together they differ from chance ${pInBrackets}.`
  return `Tested together they differ from chance ${pInBrackets}: some effect is there, but no single combination is certain.`
}

/**
 * The end of a sweep's sentence, with its full stop: `. The smallest q is .305 in this table, and .992 with the 911
 * other windows …`. Only the full stop if no other window was asked of the same data.
 */
function otherWindowsText({ log, tried, adjust }: Sweep, { q, log_q }: SweepCell): string {
  const otherCount = log === null ? 0 : log.windows - tried.cells
  if (log === null || otherCount <= 0) return '.'
  const otherWindows = `${count(otherCount, 'other window')} tested on these data`
  if (log.family === 'run') return `; the ${otherWindows} are not counted (--family run).`
  const qInTable = adjust === 'none' ? '' : `${probability(q)} in this table, and `
  return `. The smallest q is ${qInTable}${probability(log_q)} with the ${otherWindows} (bands trials).`
}

/** The combinations that were chosen in any training part, each once, as `rsi_zone = oversold, 20d (short)`. */
export function chosenNames({ folds }: NonNullable<Sweep['validation']>): string[] {
  return [...new Set(folds.flatMap(({ chosen }) => chosen))].map(name => name.replaceAll('; ', ', '))
}

/** The chosen combinations on the test days; empty without a validation. Short ones gain where prices fall. */
function testDaysText({ validation, timeframe }: Sweep): string {
  if (validation === null || validation.test.diff === null) return ''
  const { mean, base, diff } = validation.test
  const names = chosenNames(validation)
  const shortCount = names.filter(name => name.endsWith(SHORT)).length
  const shortText = shortCount === 0 ? '' : ` (${numberText(shortCount)} short)`
  const chosenText =
    names.length === 1
      ? `the chosen ${names[0]}`
      : `the ${numberText(names.length)} combinations chosen in training${shortText}`
  let baseText = `any ${BAR_NAMES[timeframe]}`
  if (shortCount === names.length) baseText = `shorting on ${baseText}`
  else if (shortCount > 0) baseText = `the same trades on ${baseText}`
  return ` On the test days ${chosenText} made ${returnText(mean)}; ${baseText} made ${returnText(base)} (difference ${pointsText(diff)}).`
}
