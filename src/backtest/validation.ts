import { counted, InvalidParameter, invalid, parameter, sentence, whole } from '../errors.js'
import { countBelow, countUpTo, formatDay, parseDay } from '../model/day.js'
import { percent } from '../params/figures.js'
import type { RunOptions, Strategy } from '../params/strategy.js'
import type { WalkForward } from '../params/studies.js'
import { rollingFolds } from '../statistics/folds.js'
import { naiveT } from '../statistics/robust.js'
import type { Gravity, Warning } from '../study/gravity.js'
import { lacksDividends } from '../study/signals.js'
import { chance, NOTHING_FOUND } from '../study/words.js'
import { curveOf } from './equity.js'
import { type Part, type Simulation, simulate } from './portfolio.js'
import type { Backtest, Validation } from './result.js'
import { idlePlaces } from './sizing.js'
import { barsAYearOf, chained, closedOf, equityStatistics, returnsOf, tradeStatistics } from './statistics.js'
import { type Lived, lived, type Member } from './trade.js'
import { differences } from './words.js'

/** A strategy with its tickers loaded. */
export interface Ready {
  strategy: Strategy
  members: readonly Member[]
}

/** What is chosen on, and what it is checked on. */
export interface Fold {
  name: string
  train: Part
  test: Part
}

/** A strategy in one part of the data, begun anew with its capital. */
interface Half {
  simulation: Simulation
  closed: Lived[]
}

interface Tested {
  half: Half
  ready: Ready
}

/** The days that there are, and the last that a run of any of the strategies on all of them has. */
interface Days {
  calendar: Int32Array
  last: number
}

/**
 * The strategy in parts of its calendar, each begun anew with its capital and without the trades that reach out of it. Of
 * several candidates the training part of each fold chooses the one whose mean net return a trade has the highest t
 * statistic. null where no parts were asked for. Throws InvalidParameter for a date or lengths that leave a part empty.
 * @param chosen of each fold the place of the candidate that its training part chooses, where that was looked up before;
 *   null where nothing told one from another: the first is traded there, and counts in no result of all tests
 */
export function validate(
  own: Ready,
  candidates: readonly Ready[],
  { calendar, last }: Days,
  run: RunOptions,
  chosen: readonly (number | null)[] | null = null,
): Validation | null {
  const days = countUpTo(calendar, last)
  const folds = foldsOf(calendar.subarray(0, days), run)
  if (folds === null) return null
  const names = differences(candidates.map(({ strategy }) => strategy))
  const [told, tests]: [Validation['folds'], Tested[]] = [[], []]
  let purged = 0
  for (const [i, { name, train, test }] of folds.entries()) {
    const choice = chosen === null ? null : (chosen[i] ?? null)
    const known = chosen === null ? candidates : [candidates[choice ?? 0]!]
    const { ready, half: trained } = chosenOn(known.length > 0 ? known : [own], calendar, train)
    // The last part goes on until its own trades are closed.
    const tested = halfOf(ready, calendar, test.to === days ? { ...test, to: calendar.length } : test)
    const named = names[candidates.indexOf(ready)] ?? null
    for (const [role, half] of [
      ['train', trained],
      ['test', tested],
    ] as const) {
      purged += half.simulation.purged
      told.push({ name, role, chosen: named, ...statisticsOf(half, ready) })
    }
    if (chosen === null || choice !== null) tests.push({ half: tested, ready })
  }
  const kind = run.split === null ? 'walk_forward' : 'split'
  return { kind, purged, candidates: names, folds: told, test: tests.length === 0 ? null : together(tests, own) }
}

/** @param calendar up to the last day of any run */
export function foldsOf(calendar: Int32Array, run: RunOptions): Fold[] | null {
  if (run.split !== null) return [splitAt(calendar, run.split, run.embargo ?? 0)]
  if (run.walk_forward === null) return null
  refuseOverlap(run.walk_forward)
  const folds = rollingFolds(calendar.length, run.walk_forward)
  if (folds.length === 0) {
    const { train, embargo } = run.walk_forward
    const allowed = `fewer bars of training and embargo than the ${calendar.length} that there are`
    throw new InvalidParameter(`walk_forward: ${train + embargo} bars leave none to test on; it needs ${allowed}.`, {
      param: 'walk_forward',
      value: train + embargo,
      allowed,
    })
  }
  return folds.map((fold, i) => {
    const [train, test] = [fold.train[0]!, fold.test[0]!]
    return { name: `${i + 1}`, train: { from: train.from, to: test.from, signalsTo: train.to }, test }
  })
}

/** Test parts that share bars cannot be put one after the other. */
function refuseOverlap({ test, step }: WalkForward): void {
  if (step >= test) return
  const allowed = `at least the ${test} bars of a test`
  const message = `walk_forward: a step of ${step} bars lets tests overlap; it must be ${allowed}.`
  throw new InvalidParameter(message, { param: 'walk_forward', value: step, allowed })
}

/** Before the date, and from it on; signals of the last `embargo` bars before it count in neither. */
function splitAt(calendar: Int32Array, date: string, embargo: number): Fold {
  const day = parseDay(date)
  const place = day === null ? 0 : countBelow(calendar, day)
  if (place - embargo > 0 && place < calendar.length)
    return {
      name: date,
      train: { from: 0, to: place, signalsTo: place - embargo },
      test: { from: place, to: calendar.length },
    }
  const [first, last] = [calendar[embargo], calendar.at(-1)]
  const allowed =
    first === undefined || last === undefined
      ? 'a date with bars on both of its sides, and there are too few bars'
      : `a date after ${formatDay(first)}, up to ${formatDay(last)}`
  throw invalid('not_allowed', { param: 'split', value: date, allowed })
}

/** The first of equals; one without a t statistic is chosen only where none has one. */
function chosenOn(candidates: readonly Ready[], calendar: Int32Array, train: Part): { ready: Ready; half: Half } {
  const halves = candidates.map(ready => ({ ready, half: halfOf(ready, calendar, train) }))
  const score = ({ half }: { half: Half }): number =>
    naiveT(half.closed.map(({ taken }) => taken.net))?.t ?? Number.NEGATIVE_INFINITY
  return halves.reduce((best, other) => (score(other) > score(best) ? other : best))
}

function halfOf({ strategy, members }: Ready, calendar: Int32Array, part: Part): Half {
  const simulation = simulate(members, strategy, calendar, part)
  return { simulation, closed: closedOf(simulation.trades.map(trade => lived(strategy.fill, trade))) }
}

function statisticsOf({ simulation, closed }: Half, { strategy, members }: Ready) {
  const { days } = simulation
  return {
    from: formatDay(days[0]!),
    to: formatDay(days.at(-1)!),
    trades: closed.length,
    statistics: equityStatistics(curveOf(simulation, strategy, barsAYearOf(members, days))),
    trade_statistics: tradeStatistics(strategy.costs, closed),
  }
}

function together(tests: readonly Tested[], { strategy, members }: Ready): Validation['test'] {
  const { costs, risk_free: riskFree } = strategy
  const all = tests.map(({ half }) => half.simulation.days)
  const barsAYear = barsAYearOf(members, ...all)
  const parts = tests.map(({ half, ready }) => {
    const curve = curveOf(half.simulation, ready.strategy, barsAYear)
    return { curve, returns: returnsOf(curve) }
  })
  return {
    statistics: chained(parts, { barsAYear, riskFree }),
    trade_statistics: tradeStatistics(
      costs,
      tests.flatMap(({ half }) => half.closed),
    ),
  }
}

type Found = Pick<
  Backtest,
  'signals' | 'ranking' | 'statistics' | 'benchmarks' | 'random_entry' | 'interest' | 'validation'
>

/** What kind of warning a sentence is, whether it holds, and the sentence. */
type Condition = readonly [Gravity, boolean, string]

/** What a reader should know before believing it. */
export function warningsOf(
  strategy: Strategy,
  members: readonly Member[],
  simulation: Simulation,
  found: Found,
  run: RunOptions,
): Warning[] {
  const all: Condition[] = [
    ...ofTests(found),
    ...ofTrades(strategy, simulation, found, run),
    ...ofPlaces(strategy, members, simulation, found),
    ...ofMoney(strategy, simulation, found),
    ...ofData(members, simulation, found),
    ...ofChoices(found.validation, run),
  ]
  return all.map(([kind, holds, sentence]) => [kind, holds ? sentence : null])
}

/** Two tests that ask different things of the same trades. */
function ofTests({ statistics: { probabilistic_sharpe: above }, random_entry: { p } }: Found): Condition[] {
  return [
    [
      'disputed',
      above !== null && p !== null && 1 - above < NOTHING_FOUND && p >= NOTHING_FOUND,
      `the Sharpe ratio is above 0 (probability ${chance(above ?? 0)}), and random entry finds nothing (p ${chance(p ?? 1)}): ` +
        'of the signals believe random entry, whose dates have the rise of the market and the exits, too',
    ],
  ]
}

function ofTrades(
  { fill, exit, overlap }: Strategy,
  simulation: Simulation,
  { signals }: Found,
  { min_trades }: RunOptions,
): Condition[] {
  const delisted = simulation.trades.filter(({ left }) => left.why === 'delisted').length
  const few = `${counted(signals.closed, 'closed trade')}: fewer than ${min_trades} say little`
  return [
    ['few', signals.closed < min_trades, few],
    ['impossible', fill === 'close', 'same close: not tradable on end-of-day data'],
    ['allowed', overlap === 'allow', 'overlapping trades share bars, so that they are not as many independent ones'],
    [
      'settings',
      overlap === 'extend' && exit.hold === null,
      'there is no hold that a signal could extend; they are skipped',
    ],
    ['left_out', delisted > 0, `${counted(delisted, 'trade')} ended with a delisting, at its final price`],
    ...ofEnds(simulation),
    [
      'partial',
      signals.late > 0,
      `${counted(signals.late, 'signal')} filled more than 5 days late: ${signals.late === 1 ? 'its ticker' : 'their tickers'} had no bar before`,
    ],
  ]
}

/** A trade is closed where its ticker ends: at a price that nobody may have been paid. */
function ofEnds({ trades }: Simulation): Condition[] {
  const ended = trades.filter(({ left }) => left.why === 'data_end')
  const days = new Map(ended.map(({ member, left }) => [member.ticker, left.day]))
  const tickers = [...days].map(([ticker, day]) => `${ticker} on ${formatDay(day)}`).sort()
  const are = ended.length === 1 ? 'trade ends' : 'trades end'
  return [
    [
      'partial',
      ended.length > 0,
      `the bars end, and no delisting says how: ${tickers.join(', ')}; ${whole(ended.length)} ${are} at the last close (data_end)`,
    ],
  ]
}

function ofPlaces(
  strategy: Strategy,
  members: readonly Member[],
  { trades }: Simulation,
  { signals, ranking }: Found,
): Condition[] {
  const { shuffle, whole_shares } = strategy.portfolio
  const idle = idlePlaces(strategy, members.length)
  const without = signals.skipped.no_place ?? 0
  const lots = shuffle
    ? `drawn by seed ${strategy.seed}: another seed takes others, see how far results differ`
    : `taken in order of ticker: ${firstOf(trades, members)}; shuffle draws them by seed: see how far results differ`
  const which = ranking === null ? lots : `taken by rank: the ${ranking.first} ${ranking.by} first`
  return [
    [
      'partial',
      idle !== null,
      `only ${idle?.most} of ${idle?.places} positions can be on at once, one a ticker: the rest of the ` +
        `equity stays cash; at most ${counted(members.length, 'position')} would invest it all`,
    ],
    [
      'partial',
      without >= signals.total * MANY && without > 0,
      `${whole(without)} of ${counted(signals.total, 'signal')} found no place, ${which}`,
    ],
    ...ofRanks(strategy, ranking),
    ['partial', 'no_size' in signals.skipped, `some signals bought nothing: ${whole_shares ? NO_SHARE : NO_SIZE}`],
  ]
}

/** Where a rank decided nothing, or less than it seems to. */
function ofRanks({ portfolio, seed }: Strategy, ranking: Found['ranking']): Condition[] {
  if (ranking === null) return []
  const { by, contested_days: contested, tied_days: tied, without_rank: without } = ranking
  const ties = portfolio.shuffle ? `seed ${seed}` : 'the order of tickers'
  return [
    ['settings', contested === 0, 'the rank decided nothing: on no day were there more signals than places'],
    [
      'partial',
      tied > 0,
      `on ${whole(tied)} of ${counted(contested, 'day')} with more signals than places equal ranks left it to ${ties} which were traded`,
    ],
    [
      'partial',
      without > 0,
      `${counted(without, 'signal')} had no ${by} on ${without === 1 ? 'its' : 'their'} bar yet, and came last`,
    ],
  ]
}

/** From this share of all signals on, which of them are traded is a choice of its own. */
const MANY = 0.1
/** Of fewer tickers the first is told by its name. */
const ALPHABET = 26

/** How many trades the first by name have. */
function firstOf(trades: Simulation['trades'], members: readonly Member[]): string {
  const names = trades.map(({ member }) => member.ticker)
  const first = names.reduce((least, name) => (name < least ? name : least), names[0] ?? '')
  const start = members.length < ALPHABET ? first : first.slice(0, 1)
  const n = names.filter(name => (start === first ? name === first : name.startsWith(start))).length
  const [are, begin] = n === 1 ? ['is', 'begins'] : ['are', 'begin']
  return `of ${counted(trades.length, 'trade')} ${whole(n)} ${start === first ? `${are} of ${first}` : `${begin} with ${start}`}`
}

function ofMoney(
  { costs, side, portfolio, risk_free }: Strategy,
  { equity }: Simulation,
  { interest, statistics }: Found,
): Condition[] {
  const isFree = costs.bps + costs.slippage_bps + costs.per_share + costs.fixed === 0
  const { total_return: total } = statistics
  const whole = total === null ? 'the total return' : `the total return of ${signed(total)}`
  return [
    ['flattering', isFree, 'no costs: nobody trades for nothing'],
    ['settings', side === 'long' && costs.borrow > 0, 'borrow is paid on shorts; these are long trades'],
    [
      'flattering',
      portfolio.cash_rate > risk_free && interest.money > 0,
      `${whole} contains ${signed(interest.of_capital)} of the capital that is interest on cash, and the Sharpe ratio asks for ` +
        `no more than ${percent(risk_free)} a year: an rf of ${percent(portfolio.cash_rate).replace(' ', '')} counts what is above it`,
    ],
    ['impossible', !equity.every(value => value > 0), 'the equity fell to 0 or below: the strategy was ruined'],
  ]
}

function ofData(members: readonly Member[], { days }: Simulation, { benchmarks }: Found): Condition[] {
  const isCrowded = barsAYearOf(members, days) !== members[0]?.prices.barsAYear
  const calendars = [...new Set(members.map(({ prices }) => prices.barsAYear))].sort((a, b) => a - b)
  const raw = members.filter(({ prices }) => lacksDividends(prices))
  return [
    ['prices', raw.length > 0, `prices of ${namesOf(raw)} are not adjusted for dividends`],
    [
      'settings',
      calendars.length > 1 || isCrowded,
      `tickers ${calendars.length > 1 ? `of ${calendars.join(' and ')} bars a year` : 'whose bars end on different days'} are on one calendar of all days: it is annualised by the bars a year ` +
        'that it has',
    ],
    ...benchmarks.map(({ name, first, last }): Condition => {
      if (first === null || last === null) return ['left_out', days.length > 0, `${name} has no bar on these dates`]
      const [late, early] = [parseDay(first)! - days[0]!, days.at(-1)! - parseDay(last)!]
      return [
        'left_out',
        late > A_WEEK || early > A_WEEK,
        `${name} has bars from ${first} to ${last} only, and is measured over those: not over the dates of the strategy`,
      ]
    }),
  ]
}

/** Calendars of two markets part by a few days. */
const A_WEEK = 7

/** Whether luck chose, because there was little to choose on. */
export function ofChoices(validation: Validation | null, { min_trades }: RunOptions): Condition[] {
  if (validation === null || validation.candidates.length === 0) return []
  const parts = validation.folds.filter(({ role }) => role === 'train')
  const few = parts.filter(({ trades }) => trades < min_trades).length
  const which = parts.length === 1 ? 'the part to choose on has' : `${few} of ${parts.length} parts to choose on have`
  return [['few', few > 0, `${which} fewer than ${min_trades} trades of what was chosen: luck chooses there`]]
}

const NO_SIZE = 'what they were given does not pay the costs, or there is no ATR yet'
const NO_SHARE = `${NO_SIZE}, or it does not pay one whole share`

export function namesOf(members: readonly Member[]): string {
  return members.length <= 3 ? members.map(({ ticker }) => ticker).join(', ') : `${members.length} tickers`
}

function signed(share: number): string {
  return `${share < 0 ? '' : '+'}${(share * 100).toFixed(1)} %`
}

/** A cost of each share is of shares as they were traded: adjusted prices make others of them, and no factors are stored. */
export function checkShares({ costs: { per_share } }: Strategy, members: readonly Member[]): void {
  const adjusted = members.filter(({ prices }) => prices.adjustment === 'adjusted')
  if (per_share === 0 || adjusted.length === 0) return
  const param = 'cost_per_share'
  const are = `the prices of ${namesOf(adjusted)} are adjusted, so that their shares are not those that were traded`
  throw new InvalidParameter(
    sentence`${parameter(param)} ${per_share}: ${are}; give the cost as ${parameter('costs_bps')} of the price, or load prices as they were traded.`,
    { param, value: per_share },
  )
}
