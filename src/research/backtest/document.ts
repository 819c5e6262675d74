import { formatDay } from '../../model/day.js'
import type { EventFilter } from '../filter.js'
import type { Distance, Exit, Sizing, Strategy, StrategyDocument } from './strategy.js'

/** A strategy as a file spells it, with everything in it that was left at its default. */
export function documentOf(strategy: Strategy): StrategyDocument {
  const { costs, portfolio } = strategy
  return {
    name: strategy.name,
    tickers: [...strategy.tickers],
    timeframe: strategy.timeframe,
    side: strategy.side,
    entry: entryOf(strategy.entry),
    fill: strategy.fill,
    exit: exitOf(strategy.exit),
    overlap: strategy.overlap,
    costs: {
      bps: costs.bps,
      slippage_bps: costs.slippageBps,
      per_share: costs.perShare,
      fixed: costs.fixed,
      borrow: costs.borrow,
    },
    portfolio: {
      capital: portfolio.capital,
      max_positions: portfolio.maxPositions,
      sizing: sizingOf(portfolio.sizing),
      whole_shares: portfolio.wholeShares,
      cash_rate: portfolio.cashRate,
      shuffle: portfolio.shuffle,
    },
    benchmark: strategy.benchmark,
    risk_free: strategy.riskFree,
    seed: strategy.seed,
  }
}

function entryOf({ field, bands, prevBands, stability, maxFlips, context, after, before }: EventFilter): unknown {
  return {
    field,
    bands: bands && [...bands],
    prev_bands: prevBands && [...prevBands],
    stability: stability && [...stability],
    max_flips: maxFlips,
    context: context && { ...context, bands: context.bands && [...context.bands] },
    after: after === null ? null : formatDay(after),
    before: before === null ? null : formatDay(before),
  }
}

function exitOf({ hold, leave, on, stop, target, trailing }: Exit): unknown {
  return {
    hold,
    leave,
    on: on && { field: on.field, bands: [...on.bands] },
    stop: distanceOf(stop),
    target: distanceOf(target),
    trailing: distanceOf(trailing),
  }
}

function distanceOf(distance: Distance | null): unknown {
  if (distance === null) return null
  return 'fraction' in distance ? distance.fraction : { atr: distance.atr }
}

function sizingOf(sizing: Sizing): unknown {
  return { ...sizing }
}
