import type { Backtest } from '../backtest/result.js'
import { independentTrades } from '../backtest/verdict.js'
import { title } from '../errors.js'
import type { Timeframe } from '../model/terms.js'
import { holm } from '../statistics/selection.js'
import { LEVEL } from '../statistics/verdict.js'
import { type EventStudy, LEAST_UNITS, type StudyWindow } from '../study/result.js'
import type { Sweep, SweepCell } from '../sweep/result.js'
import type { Tally } from '../tally/tally.js'
import { correctedByLog, correctedPs, type LogStanding } from '../trials.js'
import { compact } from './description.js'
import { cellText } from './long-tables.js'
import { count, probability, returnRange, returnText, shareText, UNKNOWN, whole } from './numbers.js'
import { logText, strategies } from './words.js'

/**
 * What was found, how sure that is, and on how many independent cases: what stands first on a page and last on a
 * terminal. Where tests disagree it goes by the one that finds nothing. Luck is never ruled out: it is said to do as much
 * seldom, or not.
 */

/** What a test says: p as it is, p corrected for all that was looked at, in words, and what else speaks against it. */
export interface Evidence {
  p: number
  corrected: number
  told: string
  doubts: readonly string[]
}

function isBelieved({ corrected, doubts }: Evidence): boolean {
  return corrected < LEVEL && doubts.length === 0
}

export function surenessText(found: Evidence): string {
  if (isBelieved(found)) return `luck alone seldom does as much: ${found.told}`
  const may = found.p < LEVEL ? 'could be luck' : 'could well be luck'
  return `${may}: ${[found.told, ...(found.p < LEVEL ? found.doubts : [])].join('; ')}`
}

/** Of a study: the window in the middle, whatever came of it, unless others stand out from luck and it does not. */
export function studyAnswer(study: EventStudy): string {
  if (study.events === 0) return 'No such event, so there is nothing to compare.'
  const tested = testedWindows(study)
  const middle = middleOf(tested)
  if (middle === undefined) return untestedAnswer(study)
  const believed = tested.filter(isBelieved)
  const headline = believed.length === 0 || believed.includes(middle) ? middle : middleOf(believed)!
  const { diff, horizon } = headline.window
  const first = `${title(comparedText(diff, horizon, study))}; ${casesText(headline.window)}; ${surenessText(headline)}.`
  const least = tested.reduce((a, b) => (b.p < a.p ? b : a))
  // A p that finds something by itself is not passed over: what it is worth is said.
  const others = believed.length > 0 ? believed : least.p < LEVEL ? [least] : []
  const more = others
    .filter(one => one !== headline)
    .map(one => ` ${title(overText(one.window.horizon, study))} ${pointsText(one.window.diff)}; ${surenessText(one)}.`)
  return [first, ...more, ...logTexts(study.log, headline.window.log_q)].join('')
}

function logTexts(log: LogStanding | null, q: number | null): string[] {
  const text = logText(log, q)
  return text === null ? [] : [` ${text}`]
}

/** Of a tally: the window in the middle, whatever came of it. It counts and tests nothing, which is said. */
export function tallyAnswer({ groups, events, timeframe, log }: Tally): string {
  if (events === 0) return 'No such event, so there is nothing to count.'
  const [only, other] = groups
  if (other !== undefined)
    return `${count(events, 'event')} in ${count(groups.length, 'group')}; a tally tests none of them: bands study does.`
  const window = middleOf(only!.windows.filter(({ n }) => n > 0))
  if (window === undefined)
    return `Nothing can be said yet: of ${count(events, 'event')} no window has ended and been ranked.`
  const { n, n_independent, top_share, returns, base } = window
  const any = (value: number | null): string =>
    value === null ? '' : ` (after any ${UNITS[timeframe]} ${shareText(value)})`
  const luck = 'a tally does not test whether that is luck: bands study does'
  const over = overText(Number.parseInt(window.window, 10), { timeframe })
  const rose =
    returns.hit_rate === null ? '' : `rose in ${shareText(returns.hit_rate)}${any(base.returns.hit_rate)}, and `
  const top = `was among the best 40% of its own past in ${shareText(top_share)}${any(base.top_share)}`
  return `${title(over)} the price ${rose}${top}, of ${count(n, 'event')}; ${independent(n_independent)}; ${luck}.${logTexts(log, null).join('')}`
}

type TestedWindow = Evidence & { window: StudyWindow & { diff: number } }

function testedWindows(study: EventStudy): TestedWindow[] {
  const tested = study.windows.flatMap(window => {
    const p = window.tests[0]?.p ?? null
    return p === null || window.diff === null ? [] : [{ window: { ...window, diff: window.diff }, p }]
  })
  const own = holm(tested.map(({ p }) => p))
  const corrected = correctedPs(
    tested.map(({ window, p }) => ({ p, log_q: window.log_q })),
    study.log,
  )
  const looks = tested.length
  return tested.map(({ window, p }, i) => {
    // What finds nothing as it is needs no correction for that.
    const beside = looks > 1 && p < LEVEL ? `, ${probability(own[i])} corrected for ${looks} windows` : ''
    const told = `p ${probability(p)}${beside}`
    return { window, p, corrected: corrected[i]!, told, doubts: windowDoubts(window) }
  })
}

function windowDoubts(window: TestedWindow['window']): string[] {
  const { low = null, high = null } = window.intervals[0] ?? {}
  return compact([
    intervalDoubt(window.diff, low, high),
    window.n_independent < LEAST_UNITS && 'so few cases show little',
  ])
}

function intervalDoubt(diff: number, low: number | null, high: number | null): string | null {
  if (low === null || high === null) return 'there is no interval beside it'
  return (diff > 0 ? low > 0 : high < 0) ? null : `the 95% interval is ${returnRange({ low, high })}`
}

/** Events, and nothing that could be tested. */
function untestedAnswer(study: EventStudy): string {
  const { events, windows } = study
  const ended = windows.filter(({ n }) => n > 0)
  const window = middleOf(ended)
  if (window === undefined)
    return `Nothing can be said yet: of ${count(events, 'event')} no window has ended with a price that is known.`
  const mean = window.diff === null ? '' : `; on average ${comparedText(window.diff, window.horizon, study)}`
  return `Too few to tell from luck: ${casesText(window)}${mean}.`
}

function casesText({ n, n_independent }: StudyWindow): string {
  return among(n_independent, n)
}

/** `7 independent cases among 12 events` */
function among(cases: number, events: number): string {
  return `${independent(cases)}${cases === events ? '' : ` among ${count(events, 'event')}`}`
}

function independent(cases: number): string {
  return count(cases, 'independent case')
}

/** `about 3.8 points better over 20 days than after any day` */
function comparedText(diff: number, horizon: number, { timeframe }: { timeframe: Timeframe }): string {
  const over = overText(horizon, { timeframe })
  const any = `any ${UNITS[timeframe]}`
  const text = pointsText(diff)
  return text === NO_DIFFERENCE ? `${text} ${over} from what follows ${any}` : `about ${text} ${over} than after ${any}`
}

const UNITS: Readonly<Record<Timeframe, string>> = { daily: 'day', weekly: 'week' }

function overText(horizon: number, { timeframe }: { timeframe: Timeframe }): string {
  return `over ${count(horizon, UNITS[timeframe])}`
}

/** `3.8 points better`: percentage points, with a second decimal where the first says nothing. */
function pointsText(difference: number): string {
  const size = Math.abs(difference * 100)
  const text = Number(size.toFixed(1)) === 0 ? size.toFixed(2) : size.toFixed(1)
  if (Number(text) === 0) return NO_DIFFERENCE
  return `${text.replace(/\B(?=(\d{3})+(?:\.|$))/g, ',')} points ${difference > 0 ? 'better' : 'worse'}`
}

const NO_DIFFERENCE = 'no different'

/** That in the middle, so that nobody has chosen it; undefined of none. */
export function middleOf<One>(all: readonly One[]): One | undefined {
  return all[Math.floor((all.length - 1) / 2)]
}

/** Of a backtest: out of the sample first, then against holding as much, by the dates of its entries. */
export function backtestAnswer(found: Backtest): string {
  const { equity, signals, trade_statistics: trades, statistics } = found
  if (equity.length === 0) return 'No bar to trade on, so nothing came of it.'
  if (signals.total === 0) return 'No signal, so no trade.'
  const ruin = equity.find(point => point.equity <= 0)
  if (ruin !== undefined)
    return `Ruined: on ${ruin.date} the equity was gone, after ${count(trades.n, 'closed trade')}.`
  if (trades.n === 0)
    return `No closed trade of ${count(signals.total, 'signal')}, so nothing can be said of the rules.`
  const tests = found.validation?.test ?? null
  if (tests !== null) return testedAnswer(found, tests)
  const held = found.benchmarks.find(({ name }) => name === 'buy and hold')?.statistics.total_return ?? null
  const total = statistics.total_return
  const head = title(headOf(found, held))
  const holding = held === null ? '' : `; holding made ${returnText(held)}`
  const n = count(trades.n, 'trade')
  const cases = independentTrades(found.trades)
  const among = cases === trades.n ? n : `${n}, about ${independent(cases)}`
  return `${head}: ${returnText(total)}${drawsText(found)}${holding}. ${title(entryText(found))}; ${among}.${deflatedDoubt(found)}${logTexts(found.trials.log, found.trials.log_q).join('')}`
}

/** The verdict. A result below what holding made is that, whatever chance does; 95 % of the draws must agree. */
function headOf({ statistics, draws, verdict, trades, random_entry, trials }: Backtest, held: number | null): string {
  const total = statistics.total_return
  const isBelow = total !== null && held !== null && total < held
  if (independentTrades(trades) < LEAST_UNITS) return 'too few'
  if (!isBelow && random_entry.p === null) return 'not tested'
  const isConfirmed = (correctedByLog(random_entry.p, trials.log, trials.log_q) ?? 1) < LEVEL
  if (!isBelow) return verdict.word === 'beats chance' && !isConfirmed ? 'not told from chance' : verdict.word
  if (draws === null || (draws.return.p95 ?? held) < held) return 'worse than holding'
  return 'depends on which signals got a place'
}

/** `better than 7% of random entries (p .136)` */
function entryText({ random_entry: { p, better_than: better, reason } }: Backtest): string {
  if (p === null || better === null) return `not compared with random entries${reason === null ? '' : ` (${reason})`}`
  const text = better >= 0.5 ? `better than ${shareText(better)} of` : `worse than ${shareText(1 - better)} of`
  return `${text} random entries (two-sided p ${probability(p)})`
}

/** What the number of strategies tried leaves of a finding. */
function deflatedDoubt({ trials: { deflated_sharpe: deflated, n }, verdict }: Backtest): string {
  if (verdict.word !== 'beats chance' || deflated === null || 1 - deflated < LEVEL) return ''
  return ` Of ${strategies(n)} tried the deflated Sharpe ratio is ${probability(deflated)}.`
}

/** Of a walk-forward or a split: the days of its tests only. */
function testedAnswer(found: Backtest, { statistics, trade_statistics: trades, holding }: Tested): string {
  const [first, last] = testedRange(found)
  const total = statistics.total_return
  const isBelow = total !== null && holding.total_return !== null && total < holding.total_return
  const head = isBelow ? 'worse than holding' : 'out of sample'
  const held = `holding over the same days made ${returnText(holding.total_return)}`
  return `${title(head)}: ${returnText(total)} on the days of the tests (${first} to ${last}); ${held}. ${count(trades.n, 'trade')}, worst drawdown ${returnText(statistics.max_drawdown)}.`
}

type Tested = NonNullable<NonNullable<Backtest['validation']>['test']>

function testedRange({ validation }: Backtest): [first: string, last: string] {
  const tests = validation?.folds.filter(({ role }) => role === 'test') ?? []
  return [tests[0]?.from ?? UNKNOWN, tests.at(-1)?.to ?? UNKNOWN]
}

/** ` (draw 44 of 200; 5-95% of them -6.1 to +28.5%)` */
function drawsText({ draws }: Backtest): string {
  if (draws === null) return ''
  const range = returnRange({ low: draws.return.p05, high: draws.return.p95 })
  return ` (draw ${draws.shown} of ${draws.n}; 5-95% of them ${range})`
}

/** What so many tries leave of the best Sharpe ratio. */
export function deflatedText({ deflated_sharpe: deflated, reason, n, family }: Backtest['trials']): string {
  if (deflated === null) return reason ?? UNKNOWN
  return `${probability(deflated)}, by the ${whole(n)} of ${family === 'ledger' ? 'the ledger' : 'this run'}`
}

/** Of a sweep: how many stand out from so many looks, and whether the first of them does. */
export function sweepAnswer(sweep: Sweep): string {
  const { tried, cells, adjust, validation, log } = sweep
  // A p that is not corrected for the run is not corrected for the log either.
  const beating = cells.filter(({ q, log_q }) => (correctedByLog(q, log, log_q) ?? 1) < LEVEL)
  const found = adjust === 'none' || log === null ? sweep.found : beating.length
  const lead = cells.find(({ q, diff }) => q !== null && diff !== null)
  if (lead === undefined)
    return cells.every(({ events }) => events === 0)
      ? 'No such event, so there is nothing to compare.'
      : `None of ${count(tried.cells, 'combination')} has enough independent cases to be tested.`
  const tested = count(tried.tested, 'tested combination')
  const opening =
    adjust === 'none'
      ? `${found === 0 ? 'None' : whole(found)} of ${tested} ${found > 1 ? 'have' : 'has'} a p below .05, where luck alone gives ${(tried.tested * LEVEL).toFixed(0)} or so`
      : found === 0
        ? `None of ${tested} stands out from luck`
        : `${whole(found)} of ${tested} ${found === 1 ? 'stands' : 'stand'} out after correction for so many looks`
  const chosen = validation?.test.diff ?? null
  const outside =
    chosen === null
      ? ''
      : ` On dates that did not choose them the chosen were ${pointsText(chosen)} than after any ${UNITS[sweep.timeframe]}.`
  return `${opening}. First is ${cellText(lead)}: ${comparedText(lead.diff!, lead.horizon, sweep)}; ${among(lead.n_independent, lead.n)}; ${surenessText(cellEvidence(lead, sweep))}.${outside}${logTexts(log, lead.log_q).join('')}`
}

/** The best of many is held against what asks about the best of many, too. */
function cellEvidence({ p, q, log_q, diff, low, high }: SweepCell, { adjust, best, log }: Sweep): Evidence {
  const contests = { SPA: best.spa?.consistent ?? null, 'the reality check': best.reality_check }
  const against = Object.entries(contests).map(
    ([name, p]) => (p ?? 0) >= LEVEL && `${name} of the best of all finds nothing (p ${probability(p)})`,
  )
  const isBare = adjust === 'none'
  return {
    p: p ?? q!,
    corrected: correctedByLog(q!, log, log_q)!,
    told: `p ${probability(p)}${isBare ? ', not corrected' : `, q ${probability(q)}`}`,
    doubts: compact([isBare && 'so many looks find something', intervalDoubt(diff!, low, high), ...against]),
  }
}
