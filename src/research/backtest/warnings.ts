import { parseDay } from '../../model/day.js'
import { counted, whole } from '../amounts.js'
import { lacksDividends } from '../dividends.js'
import type { Member } from './member.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, Validation } from './result.js'
import type { RunOptions, Strategy } from './strategy.js'
import { percent } from './words.js'
import { barsAYearOf } from './years.js'

type Found = Pick<Backtest, 'signals' | 'statistics' | 'benchmarks' | 'interest' | 'validation'>

/** Whether a sentence holds, and the sentence. */
type Warning = readonly [boolean, string]

/** What a reader should know before believing it. */
export function warningsOf(
  strategy: Strategy,
  members: readonly Member[],
  simulation: Simulation,
  found: Found,
  run: RunOptions,
): string[] {
  const all: Warning[] = [
    ...ofTrades(strategy, simulation, found, run),
    ...ofPlaces(strategy, members, simulation, found),
    ...ofMoney(strategy, simulation, found),
    ...ofData(members, simulation, found),
    ...ofChoices(found.validation, run),
  ]
  return all.flatMap(([holds, sentence]) => (holds ? sentence : []))
}

function ofTrades(
  { fill, exit, overlap }: Strategy,
  simulation: Simulation,
  { signals }: Found,
  { minTrades }: RunOptions,
): Warning[] {
  const delisted = simulation.trades.filter(({ left }) => left.why === 'delisted').length
  const few = `${counted(signals.closed, 'closed trade')}: fewer than ${minTrades} say little`
  return [
    [signals.closed < minTrades, few],
    [fill === 'close', 'same close: not tradable on end-of-day data'],
    [overlap === 'allow', 'overlapping trades share bars, so that they are not as many independent ones'],
    [overlap === 'extend' && exit.hold === null, 'there is no hold that a signal could extend; they are skipped'],
    [delisted > 0, `${counted(delisted, 'trade')} ended with a delisting, at its final price`],
  ]
}

function ofPlaces(
  { overlap, portfolio, seed }: Strategy,
  members: readonly Member[],
  { trades }: Simulation,
  { signals }: Found,
): Warning[] {
  const { sizing, maxPositions, shuffle } = portfolio
  const without = signals.skipped.no_place ?? 0
  const lots = shuffle
    ? `drawn by seed ${seed}: another seed takes others, see how far results differ`
    : `taken in order of ticker: ${firstOf(trades, members)}; --shuffle draws them by seed: see how far results differ`
  return [
    [
      overlap !== 'allow' && sizing.method === 'equal' && members.length < maxPositions,
      `only ${members.length} of ${maxPositions} positions can be on at once, one a ticker: the rest of the ` +
        `equity stays cash; at most ${counted(members.length, 'position')} would invest it all`,
    ],
    [
      without >= signals.total * MANY && without > 0,
      `${whole(without)} of ${counted(signals.total, 'signal')} found no place, ${lots}`,
    ],
    ['no_size' in signals.skipped, `some signals bought nothing: ${portfolio.wholeShares ? NO_SHARE : NO_SIZE}`],
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
  { costs, side, portfolio, riskFree }: Strategy,
  { equity }: Simulation,
  { interest, statistics }: Found,
): Warning[] {
  const isFree = costs.bps + costs.slippageBps + costs.perShare + costs.fixed === 0
  const { total_return: total } = statistics
  const whole = total === null ? 'the total return' : `the total return of ${signed(total)}`
  return [
    [isFree, 'no costs: nobody trades for nothing'],
    [side === 'long' && costs.borrow > 0, 'borrow is paid on shorts; these are long trades'],
    [
      portfolio.cashRate > riskFree && interest.money > 0,
      `${whole} contains ${signed(interest.of_capital)} of the capital that is interest on cash, and the Sharpe ratio asks for ` +
        `no more than ${percent(riskFree)} a year: --rf ${percent(portfolio.cashRate).replace(' ', '')} counts what is above it`,
    ],
    [!equity.every(value => value > 0), 'the equity fell to 0 or below: the strategy was ruined'],
  ]
}

function ofData(members: readonly Member[], { days }: Simulation, { benchmarks }: Found): Warning[] {
  const isCrowded = barsAYearOf(members, days) !== members[0]?.prices.barsAYear
  const calendars = [...new Set(members.map(({ prices }) => prices.barsAYear))].sort((a, b) => a - b)
  const raw = members.filter(({ prices }) => lacksDividends(prices))
  return [
    [raw.length > 0, `prices of ${namesOf(raw)} are not adjusted for dividends`],
    [
      calendars.length > 1 || isCrowded,
      `tickers ${calendars.length > 1 ? `of ${calendars.join(' and ')} bars a year` : 'whose bars end on different days'} are on one calendar of all days: it is annualised by the bars a year ` +
        'that it has',
    ],
    ...benchmarks.map(({ name, first, last }): Warning => {
      if (first === null || last === null) return [days.length > 0, `${name} has no bar on these dates`]
      const [late, early] = [parseDay(first)! - days[0]!, days.at(-1)! - parseDay(last)!]
      return [
        late > A_WEEK || early > A_WEEK,
        `${name} has bars from ${first} to ${last} only, and is measured over those: not over the dates of the strategy`,
      ]
    }),
  ]
}

/** Calendars of two markets part by a few days. */
const A_WEEK = 7

function ofChoices(validation: Validation | null, { minTrades }: RunOptions): Warning[] {
  if (validation === null || validation.candidates.length === 0) return []
  const parts = validation.folds.filter(({ role }) => role === 'train')
  const few = parts.filter(({ trades }) => trades < minTrades).length
  const which = parts.length === 1 ? 'the part to choose on has' : `${few} of ${parts.length} parts to choose on have`
  return [[few > 0, `${which} fewer than ${minTrades} trades of what was chosen: luck chooses there`]]
}

const NO_SIZE = 'what they were given does not pay the costs, or there is no ATR yet'
const NO_SHARE = `${NO_SIZE}, or it does not pay one whole share`

function namesOf(members: readonly Member[]): string {
  return members.length <= 3 ? members.map(({ ticker }) => ticker).join(', ') : `${members.length} tickers`
}

function signed(share: number): string {
  return `${share < 0 ? '' : '+'}${(share * 100).toFixed(1)} %`
}
