import { isFinding, type Verdict, verdictOf } from '../../core/statistics/verdict.js'
import { LEAST_UNITS } from '../study/result.js'
import { correctedByLog } from '../trials.js'
import { AGREEMENT, DEPENDS_ON_DRAW } from './draws.js'
import type { Backtest, Trade } from './result.js'

/** The p of random entry of one run, and the share of random entries that it beats. */
export interface EntryRank {
  p: number
  better_than: number
}

type TradeDates = Pick<Trade, 'exit' | 'entry_date' | 'exit_date'>

/** All inputs of a verdict on a strategy, except the trial log. */
export interface Evidence {
  trades: readonly TradeDates[]
  random_entry: Backtest['random_entry']
  /** Total return of the strategy and of holding; null without one. */
  total: number | null
  holding: number | null
  isRuined: boolean
  /** Rank and total return of each draw; empty where the order is not open. */
  ranks: readonly (EntryRank | null)[]
  returns: readonly number[]
  /** Whether another draw chooses another candidate on the training days. */
  isChoiceOpen: boolean
}

/**
 * The verdict on a strategy, and the share of its draws that agree. A result below holding is `worse than holding`,
 * regardless of chance. A finding needs 95 % of the draws and a q below .05 over the trial log. It also depends on the
 * draw where another draw chooses another candidate (`isChoiceOpen`).
 */
export function verdictOn(evidence: Evidence, { log, log_q }: Pick<Backtest['trials'], 'log' | 'log_q'>) {
  const { trades, random_entry, total, holding, isRuined, returns, isChoiceOpen } = evidence
  type Judgement = Backtest['verdict']
  const verdict = (word: Judgement['word'], agreement: number | null = null): Judgement => ({ word, agreement })
  if (isRuined) return verdict('ruined')
  if (independentTrades(trades) < LEAST_UNITS) return verdict('too few')
  if (total !== null && holding !== null && total < holding) {
    const agreement = shareOf(returns, drawReturn => drawReturn < holding)
    return verdict(isAgreed(agreement) ? 'worse than holding' : DEPENDS_ON_DRAW, agreement)
  }
  if (random_entry.p === null) return verdict('not tested')
  const uncorrected = verdictOfRank(random_entry)
  const agreement = shareOf(evidence.ranks, rank => verdictOfRank(rank) === uncorrected)
  if (isFinding(uncorrected) && !isAgreed(agreement)) return verdict(DEPENDS_ON_DRAW, agreement)
  const corrected = verdictOfRank({ ...random_entry, p: correctedByLog(random_entry.p, log, log_q) })
  return verdict(isFinding(corrected) && isChoiceOpen ? DEPENDS_ON_DRAW : corrected, agreement)
}

/** The share of draws that fulfil a condition; null without draws. */
function shareOf<Draw>(draws: readonly Draw[], condition: (draw: Draw) => boolean): number | null {
  return draws.length === 0 ? null : draws.filter(condition).length / draws.length
}

/** Whether enough draws agree. Without draws (null) there is nothing to disagree. */
function isAgreed(agreement: number | null): boolean {
  return agreement === null || agreement >= AGREEMENT
}

/** The verdict of random entry. The tested difference is the share of entries that are beaten, less one half. */
function verdictOfRank(rank: { p: number | null; better_than: number | null } | null): Verdict {
  if (rank === null || rank.better_than === null) return verdictOf(null, null)
  return verdictOf(rank.p, rank.better_than - 0.5)
}

/** Greatest number of closed trades, of any ticker, that do not overlap in time. */
export function independentTrades(trades: readonly TradeDates[]): number {
  const closed = trades.filter(({ exit }) => exit !== 'open')
  const inExitOrder = closed.toSorted((a, b) => (a.exit_date < b.exit_date ? -1 : 1))
  let n = 0
  let lastExit = ''
  for (const { entry_date, exit_date } of inExitOrder) {
    if (entry_date < lastExit) continue
    n++
    lastExit = exit_date
  }
  return n
}
