import { isFinding, type Verdict, verdictOf } from '../statistics/verdict.js'
import { LEAST_UNITS } from '../study/result.js'
import { AGREEMENT, DEPENDS } from './draws.js'
import type { Backtest, Trade } from './result.js'

/** The p of random entry of one run, and the share of random entries that it is better than. */
export interface EntryRank {
  p: number
  better_than: number
}

type TradeDates = Pick<Trade, 'exit' | 'entry_date' | 'exit_date'>

/** Says whether trades beat random entry. A finding needs 95 % of the draws. @param draws none where the order is not open */
export function runVerdict(
  { trades, random_entry }: { trades: readonly TradeDates[]; random_entry: Backtest['random_entry'] },
  draws: readonly (EntryRank | null)[],
): Backtest['verdict'] {
  if (independentTrades(trades) < LEAST_UNITS) return { word: 'too few', agreement: null }
  const word = wordOf(random_entry)
  if (draws.length === 0) return { word, agreement: null }
  const agreement = draws.filter(draw => wordOf(draw) === word).length / draws.length
  return { word: isFinding(word) && agreement < AGREEMENT ? DEPENDS : word, agreement }
}

function wordOf(rank: { p: number | null; better_than: number | null } | null): Verdict {
  const { p = null, better_than: better = null } = rank ?? {}
  return verdictOf(p, better === null ? null : better - 0.5)
}

/** How many closed trades, of any ticker, were on at no time together. */
export function independentTrades(trades: readonly TradeDates[]): number {
  const closed = trades.filter(({ exit }) => exit !== 'open')
  let [n, end] = [0, '']
  for (const { entry_date, exit_date } of closed.toSorted((a, b) => (a.exit_date < b.exit_date ? -1 : 1))) {
    if (entry_date < end) continue
    n++
    end = exit_date
  }
  return n
}
