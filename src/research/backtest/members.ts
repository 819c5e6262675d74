import { atr } from '../../core/indicators/averages.js'
import { TRUE, TRUTHS } from '../../core/language/as-field.js'
import { rankValues, readRank } from '../../core/language/rank.js'
import { rangeOf } from '../../core/model/calendar.js'
import { countUpTo } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import { conditionsOf, type Exit, eventsFilter, type Strategy } from '../../core/params/strategy.js'
import type { BarStates, MarketBars, PricedSource, States, Step } from '../../core/source.js'
import {
  allowedCodes,
  type ContextBands,
  contextBandsOf,
  eligibleBars,
  type Signals,
  signalsIn,
} from '../study/signals.js'

/** The data of one ticker for a strategy. */
export interface Member {
  ticker: string
  prices: MarketBars
  bars: PathBars
  states: States
  signals: Signals
  /** Possible bars of signals: those in the filter's dates on which the field has a band. */
  eligible: Int32Array
  /** Bars of the events that end a trade, by rule, each ascending. On the same bar the first rule counts. */
  exitEvents: readonly { why: ExitEvent['why']; bars: Int32Array }[]
  /** The rank of each signal, NaN without a value; null without a rank. */
  ranks: Float64Array | null
  /** The bands that a rank indexes; null where the rank is a number. */
  rankBands: readonly string[] | null
}

export interface LoadedStrategy {
  strategy: Strategy
  members: readonly Member[]
}

/** The bars that a trade needs: those of the ticker, its delisting, and its ATR where a rule needs it. */
export interface PathBars extends Series, Pick<MarketBars, 'delisting'> {
  /** Its bars end long before those of other tickers, and no delisting explains it. */
  hasEnded: boolean
  /** ATR of each bar; null where no rule needs it. */
  atr: Float64Array | null
}

/** The bar of an event that ends a trade, and its rule (leave, on or when). The bar is -1 if no event does. */
export interface ExitEvent {
  bar: number
  why: 'leave' | 'on' | 'when'
}

/**
 * Loads strategies with the same tickers; each ticker is read once. Strategies that need the same data of a ticker
 * share a list of members. Throws NotFound, TierRestricted and Busy as the source does.
 */
export async function loadStrategies(
  source: PricedSource,
  strategies: readonly Strategy[],
  step: Step = () => {},
): Promise<LoadedStrategy[]> {
  const { tickers, timeframe } = strategies[0]!
  // One data set for all strategies with the same key, loaded by the rules of the last of them.
  const datasets = new Map<string, { strategy: Strategy; members: Member[]; context: ContextBands | null }>()
  for (const strategy of strategies) datasets.set(dataKey(strategy), { strategy, members: [], context: null })
  let loaded = 0
  for await (const statesOfLag of statesByLag(source, strategies)) {
    step(() => `${tickers[loaded]}  ${loaded + 1}/${tickers.length}`)
    for (const dataset of datasets.values()) {
      const { strategy, members } = dataset
      const { context } = strategy.entry
      // Read with the first ticker, so that an error of the ticker itself is reported first.
      if (context !== null) dataset.context ??= await contextBandsOf(source, context, timeframe)
      members.push(memberOf(statesOfLag.get(strategy.lag)!, strategy, dataset.context))
    }
    loaded++
  }
  const membersByKey = new Map(Array.from(datasets, ([key, { members }]) => [key, markEndedTickers(members)]))
  return strategies.map(strategy => ({ strategy, members: membersByKey.get(dataKey(strategy))! }))
}

/**
 * For each ticker, the states that the strategies need, by the strategies' lag for conditions on other tickers. Each
 * lag has a read of its own; all of them go from ticker to ticker together.
 */
async function* statesByLag(
  source: PricedSource,
  strategies: readonly Strategy[],
): AsyncGenerator<Map<number | undefined, BarStates>> {
  const { tickers, timeframe } = strategies[0]!
  const lags = [...new Set(strategies.map(strategy => strategy.lag))]
  const readOfEachLag = lags.map(lag => {
    const fields = [...new Set(strategies.filter(strategy => strategy.lag === lag).flatMap(fieldsOf))]
    return source.states({ tickers, fields, timeframe, lag })[Symbol.asyncIterator]()
  })
  try {
    for (const _ of tickers) {
      const statesOfLag = new Map<number | undefined, BarStates>()
      for (const [i, lag] of lags.entries()) statesOfLag.set(lag, (await readOfEachLag[i]!.next()).value)
      yield statesOfLag
    }
  } finally {
    for (const read of readOfEachLag) await read.return?.()
  }
}

/** The key of a strategy's data: everything that decides its signals and events, without holds and prices. */
function dataKey(strategy: Strategy): string {
  const { entry, exit, rank, lag } = strategy
  const rules = { ...exit, hold: null, stop: null, target: null, trailing: null }
  return JSON.stringify([entry, rules, rank, lag, needsAtr(strategy)])
}

/** Whether the exits of a strategy, or its size, need the ATR. */
function needsAtr({ exit, portfolio }: Pick<Strategy, 'exit' | 'portfolio'>): boolean {
  return exitNeedsAtr(exit) || portfolio.size.method === 'vol-target'
}

function exitNeedsAtr({ stop, target, trailing }: Exit): boolean {
  return [stop, target, trailing].some(distance => typeof distance === 'object' && distance !== null)
}

/** Wilder's length, as in all definitions. */
const ATR_LENGTH = 14

/** Two markets that both continue may have their last bars this many days apart, over a weekend with holidays. */
const MAX_DAYS_BETWEEN_ENDS = 7

/** Marks the tickers whose bars end before those of others without a known reason. */
function markEndedTickers(members: readonly Member[]): Member[] {
  const { last } = rangeOf(members.map(({ bars }) => bars.days))
  const hasEnded = ({ delisting, days }: PathBars): boolean =>
    delisting === null && last !== null && days.length > 0 && last - days.at(-1)! > MAX_DAYS_BETWEEN_ENDS
  return members.map(member => ({ ...member, bars: { ...member.bars, hasEnded: hasEnded(member.bars) } }))
}

/** The fields and conditions of the tickers themselves that a strategy needs, each once. */
export function fieldsOf({ entry, exit, rank }: Pick<Strategy, 'entry' | 'exit' | 'rank'>): string[] {
  const names = [...conditionsOf({ entry, exit }), rankFieldOf(rank)]
  return [...new Set(names.filter(name => name !== undefined))]
}

/** The field that signals are ranked by; undefined without a rank, or with one by an expression. */
function rankFieldOf(rank: Strategy['rank']): string | undefined {
  if (rank === undefined) return undefined
  const { of: ranked } = readRank(rank)
  return ranked.is === 'field' ? ranked.field : undefined
}

/** The first event after a bar that ends a trade; its bar is -1 without one. On one bar: leave, then on, then when. */
export function firstExitEvent({ exitEvents }: Pick<Member, 'exitEvents'>, bar: number): ExitEvent {
  let first: ExitEvent = { bar: -1, why: 'leave' }
  for (const { why, bars } of exitEvents) {
    const next = bars[countUpTo(bars, bar)]
    if (next !== undefined && (first.bar < 0 || next < first.bar)) first = { bar: next, why }
  }
  return first
}

/** Whether the exit prices of a signal are known: the ATR, if needed, has no value on the first bars of a ticker. */
export function hasExitPrices({ bars }: Member, exit: Exit, signal: number): boolean {
  return !exitNeedsAtr(exit) || !Number.isNaN(bars.atr![signal]!)
}

/** The data of a ticker for a strategy, from its bars and the states of all fields that the strategy needs. */
function memberOf({ prices, states: allStates }: BarStates, strategy: Strategy, context: ContextBands | null): Member {
  const { entry, exit } = strategy
  const statesOf = (field: string): States => allStates.find(states => states.field === field)!
  const states = statesOf(entry.field)
  const { high, low, close } = prices.series
  const atrByBar = needsAtr(strategy) ? atr(high, low, close, ATR_LENGTH) : null
  const conditionTruths = entry.when === undefined ? null : statesOf(entry.when).codes
  const signals = signalsIn(prices, states, eventsFilter(strategy), context, conditionTruths)
  const exitEvents: { why: ExitEvent['why']; bars: Int32Array }[] = []
  if (exit.leave) exitEvents.push({ why: 'leave', bars: states.bars })
  if (exit.on !== null) exitEvents.push({ why: 'on', bars: entriesInto(statesOf(exit.on.field), exit.on.bands) })
  if (exit.when !== undefined) exitEvents.push({ why: 'when', bars: entriesInto(statesOf(exit.when), [TRUTHS[TRUE]!]) })
  return {
    ticker: prices.ticker,
    prices,
    // `hasEnded` needs the bars of all members, and is set later.
    bars: { ...prices.series, atr: atrByBar, delisting: prices.delisting, hasEnded: false },
    states,
    signals,
    ...ranksOf(strategy, prices, statesOf, signals),
    eligible: eligibleBars(prices, states, entry),
    exitEvents,
  }
}

/** The rank on each signal's bar: a number, or the index of a band in `rankBands`. Both are null without a rank. */
function ranksOf(
  { rank }: Strategy,
  { series }: MarketBars,
  statesOf: (field: string) => States,
  { bars }: Signals,
): Pick<Member, 'ranks' | 'rankBands'> {
  if (rank === undefined) return { ranks: null, rankBands: null }
  const field = rankFieldOf(rank)
  const states = field === undefined ? null : statesOf(field)
  const values = rankValues(readRank(rank), series, states?.codes ?? null)
  return { ranks: Float64Array.from(bars, bar => values[bar]!), rankBands: states?.bands ?? null }
}

/** The bars on which a field of the ticker enters one of the wanted bands. */
function entriesInto({ bars, entered, bands }: States, wanted: readonly string[]): Int32Array {
  const isWanted = allowedCodes(bands, wanted)
  return bars.filter((_, i) => isWanted[entered[i]!] === 1)
}
