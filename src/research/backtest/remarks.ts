import type { Member } from './member.js'
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
    `statistics: ${yearInWords(members, barsAYear)}, standard deviations with n - 1, risk-free rate ${percent(riskFree)} a year`,
    `reference: buy and hold of the same tickers, equal money in each${members.length > 1 ? ' (cash before its first bar)' : ''}, without costs`,
    draws === 0 ? `null: no random entries; seed ${seed}` : `null: ${DRAWS}, ${draws} times; seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

const DRAWS = 'the signals of all trades moved to other dates together, same exits and costs'

const OVERLAPS: Readonly<Record<Strategy['overlap'], string>> = {
  skip: 'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
  allow: 'overlap: every signal is a position of its own',
  extend: 'overlap: one position a ticker; signals while it is on restart its hold',
}

/** Of calendars that differ the number is made of the days themselves. */
function yearInWords(members: readonly Member[], barsAYear: number): string {
  if (members.every(({ prices }) => prices.barsAYear === barsAYear)) return `${barsAYear} bars a year`
  const kinds = [...new Set(members.map(({ prices }) => prices.barsAYear))].sort((a, b) => a - b)
  return `${barsAYear.toFixed(1)} bars a year (as many as there are; the tickers have ${kinds.join(' and ')})`
}

function pricesOf(members: readonly Member[]): string {
  const kinds = [...new Set(members.map(({ prices }) => prices.adjustment))].sort()
  return kinds.length === 1 ? kinds[0]! : `some ${kinds.join(', some ')}`
}
