import { counted, parameter, sentence, whole, wrong } from '../errors.js'
import { comparesLevels, rankedBy, readRank } from '../language/rank.js'
import { formatDay, parseDay } from '../model/day.js'
import { percent } from '../params/figures.js'
import type { RunOptions, Strategy } from '../params/strategy.js'
import type { Gravity, Warning } from '../study/result.js'
import { lacksDividends } from '../study/signals.js'
import { chance, NOTHING_FOUND } from '../study/words.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, EquityStatistics, Validation } from './result.js'
import { idlePlaces } from './sizing.js'
import { barsAYearOf } from './statistics.js'
import type { Member, Taken } from './trade.js'

/** What must be said of a strategy that was traded: of its signals, places, money and data. */

/** What was found of any strategy that was traded. */
type Traded = Pick<Backtest, 'signals' | 'ranking' | 'statistics' | 'benchmarks' | 'interest'>

type Found = Traded & Pick<Backtest, 'random_entry' | 'validation'>

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
  return told(all)
}

/**
 * The same of one strategy among several, over all its own days. How few trades are few, whoever compares says for all of
 * them.
 */
export function warningsOfOne(
  strategy: Strategy,
  members: readonly Member[],
  simulation: Simulation,
  statistics: EquityStatistics,
): Warning[] {
  const found: Traded = { ...signalsFound(strategy, members, simulation), statistics, benchmarks: [] }
  return told([
    ...ofTrades(strategy, simulation, found, { min_trades: 0 }),
    ...ofPlaces(strategy, members, simulation, found),
    ...ofMoney(strategy, simulation, found),
    ...ofData(members, simulation, found),
  ])
}

/** What became of the signals of a strategy, and of its cash. */
export function signalsFound(
  strategy: Strategy,
  members: readonly Member[],
  simulation: Simulation,
): Pick<Backtest, 'signals' | 'ranking' | 'interest'> {
  return {
    signals: countsOf(simulation, strategy.timeframe),
    ranking: rankingOf(strategy, members, simulation),
    interest: { money: simulation.interest, of_capital: simulation.interest / strategy.portfolio.capital },
  }
}

function told(all: readonly Condition[]): Warning[] {
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

export const SAME_CLOSE = 'same close: not tradable on end-of-day data'

function ofTrades(
  { fill, exit, overlap }: Strategy,
  simulation: Simulation,
  { signals }: Traded,
  { min_trades }: Pick<RunOptions, 'min_trades'>,
): Condition[] {
  const delisted = simulation.trades.filter(({ left }) => left.why === 'delisted').length
  const few = `${counted(signals.closed, 'closed trade')}: fewer than ${min_trades} say little`
  return [
    ['few', signals.closed < min_trades, few],
    ['impossible', fill === 'close', SAME_CLOSE],
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
  { signals, ranking }: Traded,
): Condition[] {
  const { shuffle, whole_shares } = strategy.portfolio
  const idle = idlePlaces(strategy, members.length)
  const without = signals.skipped.no_place ?? 0
  const lots = shuffle
    ? `drawn by seed ${strategy.seed}: another seed takes others, see how far results differ`
    : `taken in order of ticker: ${firstOf(trades, members)}; shuffle draws them by seed: see how far results differ`
  const left = `${whole(without)} of ${counted(signals.total, 'signal')} found no place`
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
      ranking === null ? `${left}, ${lots}` : `${left}${chosenByRank(ranking)}`,
    ],
    ...ofRanks(strategy, members, ranking),
    ['partial', 'no_size' in signals.skipped, `some signals bought nothing: ${whole_shares ? NO_SHARE : NO_SIZE}`],
  ]
}

/** Of signals that found no place; on days on which none did there was nothing to choose. */
function chosenByRank({ by, first, contested_days: days }: Traded['ranking'] & {}): string {
  return days === 0 ? '' : `; on ${counted(days, 'day')} the rank chose which: the ${first} ${by} first`
}

const LEVELS =
  'the rank compares levels of prices or volume, which later splits and dividends change: use a ratio such as close / sma(close, 200)'

/** Where a rank decided nothing, or less than it seems to. */
function ofRanks(
  { portfolio, seed, rank }: Strategy,
  members: readonly Member[],
  ranking: Traded['ranking'],
): Condition[] {
  if (ranking === null || rank === undefined) return []
  const { by, contested_days: contested, tied_days: tied, without_rank: without } = ranking
  const read = readRank(rank)
  const ties = portfolio.shuffle ? `seed ${seed}` : 'the order of tickers'
  return [
    ['settings', contested === 0, 'the rank decided nothing: on no day did several signals compete for a free place'],
    ['flattering', members.some(({ prices, signals }) => comparesLevels(read, prices.series, signals.bars)), LEVELS],
    [
      'partial',
      tied > 0,
      `on ${whole(tied)} of ${counted(contested, 'day')} signals of equal rank competed for a place: ${ties} decided`,
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
  { interest, statistics }: Traded,
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

function ofData(members: readonly Member[], { days }: Simulation, { benchmarks }: Traded): Condition[] {
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
export const A_WEEK = 7

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
  throw wrong(
    param,
    sentence`${parameter(param)} ${per_share}: ${are}; give the cost as ${parameter('costs_bps')} of the price, or load prices as they were traded.`,
    { value: per_share },
  )
}

/** Who came first where there were more signals than places; null without a rank. */
function rankingOf({ rank }: Strategy, members: readonly Member[], simulation: Simulation): Backtest['ranking'] {
  if (rank === undefined) return null
  const all = members.map(({ ranks }) => ranks?.reduce((n, value) => n + Number(Number.isNaN(value)), 0) ?? 0)
  const { contested, tied } = simulation
  const read = readRank(rank)
  return {
    by: rankedBy(read),
    first: read.isLowestFirst ? 'lowest' : 'highest',
    contested_days: contested,
    tied_days: tied,
    without_rank: all.reduce((sum, n) => sum + n, 0),
  }
}

/** What became of each signal; all of them together are the total. */
function countsOf(simulation: Simulation, timeframe: Strategy['timeframe']): Backtest['signals'] {
  const { trades, skipped, extended, pending, purged } = simulation
  const open = trades.filter(({ left }) => left.why === 'open').length
  const reasons: Record<string, number> = {}
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1
  return {
    total: trades.length + skipped.length + extended + pending + purged,
    closed: trades.length - open,
    open,
    pending,
    skipped: Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => (a < b ? -1 : 1))),
    extended,
    late: trades.filter(trade => fillDelay(trade) > DAYS_TO_NEXT[timeframe] + LATE).length,
  }
}

/** Longer than any weekend with its holidays: the ticker was halted, or its bars have a gap. */
const LATE = 5

/** From the date of a bar on, beyond those of a weekend: a day is filled on the next one, a week is a week further on. */
const DAYS_TO_NEXT: Readonly<Record<Strategy['timeframe'], number>> = { daily: 0, weekly: 7 }

/** Calendar days from a signal to its fill. */
function fillDelay({ member, signal, entryBar }: Taken): number {
  return member.bars.days[entryBar]! - member.bars.days[signal]!
}
