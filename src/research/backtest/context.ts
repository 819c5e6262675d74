import type { Market } from '../../market.js'
import type { Day } from '../../model/day.js'
import { contextReach } from '../reach.js'
import { signalsOf } from '../signals.js'
import type { Member } from './member.js'
import type { Strategy } from './strategy.js'

/** What must be said of a context ticker that has ended, or begins later than the signals. */
export async function contextWarnings(
  market: Market,
  { entry, timeframe }: Pick<Strategy, 'entry' | 'timeframe'>,
  members: readonly Member[],
): Promise<string[]> {
  const { context } = entry
  if (context === null) return []
  const { days } = (await market.bars(context.ticker, timeframe)).series
  const events = members.flatMap(({ bars, signals }) => datesOf(bars.days, signals.bars))
  const isLate = members.some(({ bars, eligible }) => eligible.length > 0 && bars.days[eligible[0]!]! < (days[0] ?? 0))
  // Without bars of it on the first days, what the context has left out has to be looked for.
  return contextReach(context.ticker, days, events, isLate ? await unfiltered(market, entry, members) : events)
}

async function unfiltered(market: Market, entry: Strategy['entry'], members: readonly Member[]): Promise<Day[]> {
  const all: Day[] = []
  for (const { ticker, bars } of members) {
    const { signals } = await signalsOf(market, ticker, { ...entry, context: null })
    all.push(...datesOf(bars.days, signals.bars))
  }
  return all
}

function datesOf(days: Int32Array, bars: Int32Array): Day[] {
  return Array.from(bars, bar => days[bar]!)
}
