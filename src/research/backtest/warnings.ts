import { noBandClause } from '../../core/empty.js'
import { counted, numberText, parameter, sentence, wrong } from '../../core/errors.js'
import { dependsOnLevels, rankedText, readRank } from '../../core/language/rank.js'
import { rangeOf } from '../../core/model/calendar.js'
import { formatDay, parseDay } from '../../core/model/day.js'
import { percent, signedPercent } from '../../core/numbers.js'
import type { RunOptions, Strategy } from '../../core/params/strategy.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import type { Warning } from '../study/result.js'
import { excludesDividends } from '../study/signals.js'
import { formatProbability } from '../study/words.js'
import { AGREEMENT, DEPENDS_ON_DRAW, DRAWS, type DrawnRun } from './draws.js'
import type { LoadedStrategy, Member } from './members.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, EquityStatistics, Validation } from './result.js'
import { usableSlots } from './sizing.js'
import { barsAYearOf } from './statistics.js'
import type { TakenTrade } from './trade.js'

/** The parts of a result that every traded strategy has. */
type TradedResult = Pick<Backtest, 'signals' | 'ranking' | 'statistics' | 'benchmarks' | 'interest'>

type TestedResult = TradedResult & Pick<Backtest, 'random_entry' | 'validation'>

/** All warnings of a backtest: about its signals, slots, money, data, test of random entry and choice of candidates. */
export function warningsOf(simulation: DrawnRun, results: TestedResult, run: RunOptions): Warning[] {
  return [
    ...disputeWarnings(results),
    ...strategyWarnings(simulation, results, run),
    ...choiceWarnings(results.validation, run),
  ]
}

/** Warnings about one of several strategies, over all its own days. The caller itself warns about few trades. */
export function warningsOfOne(simulation: DrawnRun, statistics: EquityStatistics): Warning[] {
  return strategyWarnings(simulation, { ...signalOutcomes(simulation), statistics, benchmarks: [] }, { min_trades: 0 })
}

/** Warnings about the trades, slots, money and data of a strategy. */
function strategyWarnings(simulation: DrawnRun, results: TradedResult, run: Pick<RunOptions, 'min_trades'>): Warning[] {
  return [
    ['nothing', noDaySentence(simulation)],
    ...tradeWarnings(simulation, results, run),
    ...slotWarnings(simulation, results),
    ...moneyWarnings(simulation, results),
    ...dataWarnings(simulation, results),
  ]
}

/** Why a strategy has no day; null if it has one. */
export function noDaySentence({ members, strategy: { entry } }: LoadedStrategy): string | null {
  if (members.some(({ eligible }) => eligible.length > 0)) return null
  const tickers = members.map(({ ticker }) => ticker)
  return `No trade: ${noBandClause(entry, tickers, rangeOf(members.map(({ bars }) => bars.days)))}.`
}

/** The outcome of a strategy's signals, and of its cash. */
export function signalOutcomes(simulation: Simulation): Pick<Backtest, 'signals' | 'ranking' | 'interest'> {
  const { interest, strategy } = simulation
  return {
    signals: signalCounts(simulation),
    ranking: rankingOf(simulation),
    interest: { money: interest, of_capital: interest / strategy.portfolio.capital },
  }
}

/** Warns where the Sharpe ratio is significantly above 0, but the trades are not better than random entry. */
function disputeWarnings({ statistics, random_entry }: TestedResult): Warning[] {
  const { probabilistic_sharpe } = statistics
  const { p, better_than } = random_entry
  if (probabilistic_sharpe === null || p === null || 1 - probabilistic_sharpe >= LEVEL) return []
  if (p < LEVEL && better_than! > 0.5) return []
  const dispute = `the Sharpe ratio is above 0 (probability ${formatProbability(probabilistic_sharpe)}), and random entry finds no edge (p ${formatProbability(p)})`
  const why = 'of the signals believe random entry, whose dates have the rise of the market and the exits, too'
  return [['disputed', `${dispute}: ${why}`]]
}

export const SAME_CLOSE = 'same close: not tradable on end-of-day data'

/** Warnings about few, overlapping, delisted or late trades. @param min_trades closed trades that get no warning */
function tradeWarnings(
  { strategy, trades }: Simulation,
  { signals: { closed, late } }: TradedResult,
  { min_trades }: Pick<RunOptions, 'min_trades'>,
): Warning[] {
  const { fill, exit, overlap } = strategy
  const delisted = trades.filter(({ end }) => end.why === 'delisted').length
  const hasNothingToExtend = overlap === 'extend' && exit.hold === null
  const tickers = late === 1 ? 'its ticker' : 'their tickers'
  return [
    ['few', closed < min_trades && `${counted(closed, 'closed trade')}: fewer than ${min_trades} say little`],
    ['impossible', fill === 'close' && SAME_CLOSE],
    ['allowed', overlap === 'allow' && 'overlapping trades share bars, so that they are not as many independent ones'],
    ['settings', hasNothingToExtend && 'there is no hold that a signal could extend; they are skipped'],
    ['left_out', delisted > 0 && `${counted(delisted, 'trade')} ended with a delisting, at its final price`],
    ['partial', describeEndedBars(trades)],
    ['partial', late > 0 && `${counted(late, 'signal')} filled more than 5 days late: ${tickers} had no bar before`],
  ]
}

/** Lists the tickers whose bars ended during a trade without a known delisting; null without any. */
function describeEndedBars(trades: Simulation['trades']): string | null {
  const ended = trades.filter(({ end }) => end.why === 'data_end')
  if (ended.length === 0) return null
  const days = new Map(ended.map(({ member, end }) => [member.ticker, end.day]))
  const tickers = [...days].map(([ticker, day]) => `${ticker} on ${formatDay(day)}`).sort()
  const are = ended.length === 1 ? 'trade ends' : 'trades end'
  return `the bars end, and no delisting says how: ${tickers.join(', ')}; ${numberText(ended.length)} ${are} at the last close (data_end)`
}

/** Warnings about slots that stay empty, and about signals that got no slot or bought nothing. */
function slotWarnings(simulation: DrawnRun, { signals, ranking }: TradedResult): Warning[] {
  const { strategy, members } = simulation
  const { max_positions, whole_shares } = strategy.portfolio
  const usable = usableSlots(strategy, members.length)
  const withoutSlot = signals.skipped.no_place ?? 0
  const areMany = withoutSlot >= signals.total * MANY_SHARE && withoutSlot > 0
  const choice = ranking === null ? `, ${choiceInWords(simulation)}` : rankChoiceInWords(ranking)
  const slotless = `${numberText(withoutSlot)} of ${counted(signals.total, 'signal')} found no place${choice}`
  const noSize = whole_shares ? NO_WHOLE_SHARE_WORDS : NO_SIZE_WORDS
  return [
    ['partial', usable !== null && idleSlotsInWords(usable, max_positions)],
    ['partial', areMany && slotless],
    ...rankWarnings(simulation, ranking),
    ['partial', 'no_size' in signals.skipped && `some signals bought nothing: ${noSize}`],
  ]
}

/** How equal signals were chosen. */
function choiceInWords({ strategy, members, trades, draws }: DrawnRun): string {
  const { portfolio, seed } = strategy
  if (portfolio.shuffle)
    return `chosen at random once, by seed ${seed}: without shuffle, ${DRAWS} choices show how results differ`
  if (draws === null)
    return `chosen in order of ticker: ${firstTickersInWords(trades, members)}; without order, the choice is random`
  const n = draws.returns.length
  return `chosen at random ${n} times, shown is draw ${draws.shown}`
}

/** Says that a strategy has more slots than tickers. @param usable slots that can be in use at the same time */
function idleSlotsInWords(usable: number, slots: number): string {
  const cash = 'one a ticker: the rest of the equity stays cash'
  return `only ${usable} of ${slots} positions can be on at once, ${cash}; at most ${counted(usable, 'position')} would invest it all`
}

/** How the rank chose among signals; empty where all slots were taken on each such day, so that there was no choice. */
function rankChoiceInWords({ by, first, contested_days: days }: NonNullable<TradedResult['ranking']>): string {
  return days === 0 ? '' : `; on ${counted(days, 'day')} the rank chose which: the ${first} ${by} first`
}

const RANK_OF_PRICES =
  'the rank compares levels of prices or volume, which later splits and dividends change: use a ratio such as close / sma(close, 200)'

/** Warns where a rank decided nothing or less than it seems, or compares prices or volumes that adjustments change. */
function rankWarnings({ strategy, members, draws }: DrawnRun, ranking: TradedResult['ranking']): Warning[] {
  const { portfolio, seed, rank } = strategy
  if (ranking === null || rank === undefined) return []
  const { by, contested_days: contested, tied_days: tied, without_rank: without } = ranking
  const parsedRank = readRank(rank)
  let ties = draws === null ? 'the order of tickers' : 'a random choice'
  if (portfolio.shuffle) ties = `seed ${seed}`
  const tiesSentence = `on ${numberText(tied)} of ${counted(contested, 'day')} signals of equal rank competed for a place: ${ties} decided`
  const unrankedSentence = `${counted(without, 'signal')} had no ${by} on ${without === 1 ? 'its' : 'their'} bar yet, and came last`
  const comparesPrices = members.some(({ prices, signals }) => dependsOnLevels(parsedRank, prices.series, signals.bars))
  return [
    ['settings', contested === 0 && RANK_DECIDED_NOTHING],
    ['flattering', comparesPrices && RANK_OF_PRICES],
    ['partial', tied > 0 && tiesSentence],
    ['partial', without > 0 && unrankedSentence],
  ]
}

const RANK_DECIDED_NOTHING = 'the rank decided nothing: on no day did several signals compete for a free place'

/** From this share of all signals on, the choice of traded signals matters. */
const MANY_SHARE = 0.1
/** With fewer tickers the first ones are listed by name. */
const ENOUGH_FOR_LETTERS = 26

/**
 * Number of trades of the first ticker by name: `of 40 trades 12 are of AAPL`. With many tickers it counts those with
 * the same first letter: `of 40 trades 12 begin with A`.
 */
function firstTickersInWords(trades: Simulation['trades'], members: readonly Member[]): string {
  const names = trades.map(({ member }) => member.ticker)
  const [first = ''] = names.toSorted()
  const start = members.length < ENOUGH_FOR_LETTERS ? first : first.slice(0, 1)
  const isOfTicker = start === first
  const n = names.filter(name => (isOfTicker ? name === first : name.startsWith(start))).length
  const [are, begin] = n === 1 ? ['is', 'begins'] : ['are', 'begin']
  const which = isOfTicker ? `${are} of ${first}` : `${begin} with ${start}`
  return `of ${counted(trades.length, 'trade')} ${numberText(n)} ${which}`
}

/** Warnings about missing or unused costs, interest on cash, and a ruined strategy. */
function moneyWarnings({ strategy, equity }: Simulation, { interest, statistics }: TradedResult): Warning[] {
  const { costs, side, portfolio, risk_free } = strategy
  const isFree = costs.bps + costs.slippage_bps + costs.per_share + costs.fixed === 0
  const { total_return: total } = statistics
  const totalInWords = total === null ? 'the total return' : `the total return of ${signedPercent(total)}`
  const earned = `${totalInWords} contains ${signedPercent(interest.of_capital)} of the capital that is interest on cash`
  const aboveRate = `the Sharpe ratio asks for no more than ${percent(risk_free)} a year`
  const advice = `an rf of ${percent(portfolio.cash_rate, '')} counts the excess over it`
  return [
    ['flattering', isFree && 'no costs: real trades cost something'],
    ['settings', side === 'long' && costs.borrow > 0 && 'borrow is paid on shorts; these are long trades'],
    ['flattering', portfolio.cash_rate > risk_free && interest.money > 0 && `${earned}, and ${aboveRate}: ${advice}`],
    ['impossible', !equity.every(value => value > 0) && 'the equity fell to 0 or below: the strategy was ruined'],
  ]
}

/** Warnings about dividends, mixed calendars, and benchmarks that do not cover the dates. */
function dataWarnings({ members, days }: Simulation, { benchmarks }: TradedResult): Warning[] {
  const hasOtherDays = barsAYearOf(members, days) !== members[0]?.prices.barsAYear
  const calendars = barsAYearIn(members)
  const kinds = calendars.length > 1 ? `of ${calendars.join(' and ')} bars a year` : 'whose bars end on different days'
  const mixed = `tickers ${kinds} are on one calendar of all days: it is annualised by the bars a year that it has`
  return [
    dividendWarning(members),
    ['settings', (calendars.length > 1 || hasOtherDays) && mixed],
    ...benchmarks.map(({ name, first, last }): Warning => {
      if (first === null || last === null) return ['left_out', days.length > 0 && `${name} has no bar on these dates`]
      const isShort = parseDay(first)! - days[0]! > WEEK_DAYS || days.at(-1)! - parseDay(last)! > WEEK_DAYS
      const datesOfBenchmark = `${name} has bars from ${first} to ${last} only, and is measured over those`
      return ['left_out', isShort && `${datesOfBenchmark}: not over the dates of the strategy`]
    }),
  ]
}

export function dividendWarning(members: readonly Member[]): Warning {
  const raw = members.filter(({ prices }) => excludesDividends(prices))
  return ['prices', raw.length > 0 && `prices of ${tickersInWords(raw)} are not adjusted for dividends`]
}

/** The numbers of bars a year that tickers have, each once, ascending. */
export function barsAYearIn(members: readonly Member[]): number[] {
  return [...new Set(members.map(({ prices }) => prices.barsAYear))].sort((a, b) => a - b)
}

/** Calendars of two markets differ by a few days. */
export const WEEK_DAYS = 7

/** Warns where chance decided the choice on a training part: few trades, or draws that choose differently. */
export function choiceWarnings(validation: Validation | null, { min_trades }: RunOptions): Warning[] {
  if (validation === null || validation.candidates.length === 0) return []
  const parts = validation.folds.filter(({ role }) => role === 'train')
  const few = parts.filter(({ trades }) => trades < min_trades).length
  const fewHave = parts.length === 1 ? 'the part to choose on has' : `${few} of ${parts.length} parts to choose on have`
  const drawDependent = parts.filter(({ agreement }) => agreement !== null && agreement < AGREEMENT).length
  const where = parts.length === 1 ? 'the part to choose on' : `${drawDependent} of ${parts.length} parts to choose on`
  return [
    ['few', few > 0 && `${fewHave} fewer than ${min_trades} trades of the chosen combinations: chance chooses there`],
    ['few', drawDependent > 0 && `on ${where} the choice ${DEPENDS_ON_DRAW}`],
  ]
}

const NO_SIZE_WORDS = 'what they were given does not pay the costs, or there is no ATR yet'
const NO_WHOLE_SHARE_WORDS = `${NO_SIZE_WORDS}, or it does not pay one whole share`

function tickersInWords(members: readonly Member[]): string {
  return members.length <= 3 ? members.map(({ ticker }) => ticker).join(', ') : `${members.length} tickers`
}

/** Throws InvalidParameter for a cost a share on adjusted prices: their share counts differ from those traded. */
export function refuseShareCostsOnAdjusted({ strategy, members }: LoadedStrategy): void {
  const { per_share } = strategy.costs
  const adjusted = members.filter(({ prices }) => prices.adjustment === 'adjusted')
  if (per_share === 0 || adjusted.length === 0) return
  const param = 'costs'
  const are = `the prices of ${tickersInWords(adjusted)} are adjusted, so that their shares are not those that were traded`
  throw wrong(
    param,
    sentence`${parameter(param, `share ${per_share}`)}: ${are}; give the cost in basis points of the price, or load prices as they were traded.`,
    { value: per_share },
  )
}

/** The ranking of signals where there were more than slots; null without a rank. */
function rankingOf({ strategy: { rank }, members, contested, tied }: Simulation): Backtest['ranking'] {
  if (rank === undefined) return null
  const parsedRank = readRank(rank)
  let without_rank = 0
  for (const { ranks } of members) without_rank += ranks?.filter(Number.isNaN).length ?? 0
  return {
    by: rankedText(parsedRank),
    first: parsedRank.isLowestFirst ? 'lowest' : 'highest',
    contested_days: contested,
    tied_days: tied,
    without_rank,
  }
}

/** The outcome counts of the signals: all but `late` add up to the total, unless a part of the data purges some. */
function signalCounts({ strategy, trades, skipped, extended, pending, purged }: Simulation): Backtest['signals'] {
  const open = trades.filter(({ end }) => end.why === 'open').length
  const daysToFill = ({ member: { bars }, signal, entryBar }: TakenTrade): number =>
    bars.days[entryBar]! - bars.days[signal]!
  const reasons: Record<string, number> = {}
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1
  return {
    total: trades.length + skipped.length + extended + pending + purged,
    closed: trades.length - open,
    open,
    pending,
    skipped: Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => (a < b ? -1 : 1))),
    extended,
    late: trades.filter(trade => daysToFill(trade) > DAYS_TO_NEXT[strategy.timeframe] + LATE_DAYS).length,
  }
}

/** Longer than any weekend with its holidays: the ticker was halted, or its bars have a gap. */
const LATE_DAYS = 5

/** Expected days to the next bar, beyond a weekend: daily bars fill on the next day, weekly bars a week later. */
const DAYS_TO_NEXT: Readonly<Record<Strategy['timeframe'], number>> = { daily: 0, weekly: 7 }
