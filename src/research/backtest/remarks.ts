import type { Member } from './member.js'
import type { Simulation } from './portfolio.js'
import type { Backtest } from './result.js'
import type { RunOptions, Strategy } from './strategy.js'
import { costsInWords, exitsInWords, FILLS_IN_WORDS, percent, sizingInWords } from './words.js'

/** What a run assumes, line by line. */
export function assumptionsOf(
  strategy: Strategy,
  members: readonly Member[],
  barsAYear: number,
  run: RunOptions,
  { draws }: Backtest['random_entry'],
): string[] {
  const { costs, portfolio, overlap, riskFree, seed } = strategy
  return [
    `fills: ${FILLS_IN_WORDS[strategy.fill]}; exits: ${exitsInWords(strategy)}`,
    'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
    `costs: ${costsInWords(costs, strategy.side)}; gross is before them, net after`,
    `positions: at most ${portfolio.maxPositions}, each ${sizingInWords(portfolio.sizing, portfolio.maxPositions)} at the ` +
      `close before, never more than the cash, which earns ${percent(portfolio.cashRate)} a year`,
    OVERLAPS[overlap],
    `prices: ${pricesOf(members)}`,
    `statistics: ${barsAYear} bars a year, standard deviations with n - 1, risk-free rate ${percent(riskFree)} a year`,
    'reference: buy and hold of the same tickers, equal money in each, without costs',
    draws === 0 ? `null: no random entries; seed ${seed}` : `null: ${DRAWS}, ${draws} times; seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

/** What a reader should know before believing it. */
export function warningsOf(
  strategy: Strategy,
  members: readonly Member[],
  simulation: Simulation,
  { signals }: Pick<Backtest, 'signals'>,
  run: RunOptions,
): string[] {
  const { costs, exit, fill, overlap, side, portfolio } = strategy
  const isFree = costs.bps + costs.slippageBps + costs.perShare + costs.fixed === 0
  const calendars = new Set(members.map(({ prices }) => prices.barsAYear))
  const delisted = simulation.trades.filter(({ left }) => left.why === 'delisted').length
  const raw = members.filter(({ prices }) => prices.adjustment === 'raw' && prices.assetClass !== 'crypto')
  const all: [boolean, string][] = [
    [
      signals.closed < run.minTrades,
      `${counted(signals.closed, 'closed trade')}: fewer than ${run.minTrades} say little`,
    ],
    [fill === 'close', 'same close: not tradable on end-of-day data'],
    [
      overlap !== 'allow' && portfolio.sizing.method === 'equal' && members.length < portfolio.maxPositions,
      `only ${members.length} of ${portfolio.maxPositions} positions can be on at once, one a ticker: the rest of the ` +
        `equity stays cash; at most ${counted(members.length, 'position')} would invest it all`,
    ],
    [isFree, 'no costs: nobody trades for nothing'],
    [overlap === 'allow', 'overlapping trades share bars, so that they are not as many independent ones'],
    [overlap === 'extend' && exit.hold === null, 'there is no hold that a signal could extend; they are skipped'],
    [side === 'long' && costs.borrow > 0, 'borrow is paid on shorts; these are long trades'],
    [raw.length > 0, `prices of ${namesOf(raw)} are not adjusted for dividends`],
    [
      calendars.size > 1,
      `tickers of ${[...calendars].sort().join(' and ')} bars a year are on one calendar of all days`,
    ],
    [delisted > 0, `${counted(delisted, 'trade')} ended with a delisting, at its final price`],
    ['no_size' in signals.skipped, `some signals bought nothing: ${portfolio.wholeShares ? NO_SHARE : NO_SIZE}`],
    [!simulation.equity.every(value => value > 0), 'the equity fell to 0 or below: the strategy was ruined'],
  ]
  return all.flatMap(([holds, sentence]) => (holds ? sentence : []))
}

const DRAWS = 'the signals of all trades moved to other dates together, same exits and costs'

const NO_SIZE = 'what they were given does not pay the costs, or there is no ATR yet'
const NO_SHARE = `${NO_SIZE}, or it does not pay one whole share`

const OVERLAPS: Readonly<Record<Strategy['overlap'], string>> = {
  skip: 'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
  allow: 'overlap: every signal is a position of its own',
  extend: 'overlap: one position a ticker; signals while it is on restart its hold',
}

function pricesOf(members: readonly Member[]): string {
  const kinds = [...new Set(members.map(({ prices }) => prices.adjustment))].sort()
  return kinds.length === 1 ? kinds[0]! : `some ${kinds.join(', some ')}`
}

function namesOf(members: readonly Member[]): string {
  return members.length <= 3 ? members.map(({ ticker }) => ticker).join(', ') : `${members.length} tickers`
}

function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
