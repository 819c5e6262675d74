import type { Market, MarketBars, States } from '../../market.js'
import { eligibleBars, type Signals, signalsOf } from '../signals.js'
import type { StudyQuery } from './query.js'

/** One ticker of a study. */
export interface Subject {
  ticker: string
  prices: MarketBars
  states: States
  /** Bars that the events are held against. */
  eligible: Int32Array
  /** The events that were asked for. */
  signals: Signals
  /** Bars of the events that pass the same filter, by the code of the band they enter. */
  byBand: readonly Int32Array[]
}

/** Ascending by ticker, each once, so that the order in which they are named cannot matter. */
export async function subjectsOf(
  market: Market,
  { tickers, filter }: Pick<StudyQuery, 'tickers' | 'filter'>,
  step: (text: () => string) => void,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const names = [...new Set(tickers)].sort()
  for (const [i, ticker] of names.entries()) {
    step(() => `read  ${ticker}  ${i + 1}/${names.length}`)
    const { prices, states, signals: anyBand } = await signalsOf(market, ticker, { ...filter, bands: null })
    const eligible = eligibleBars(prices, states, filter)
    const byBand = states.bands.map((_, code) => anyBand.bars.filter((_, i) => anyBand.entered[i] === code))
    subjects.push({ ticker, prices, states, eligible, signals: entering(anyBand, states.bands, filter.bands), byBand })
  }
  return subjects
}

/** Those that enter one of some bands; null: any. */
function entering(signals: Signals, bands: readonly string[], wanted: readonly string[] | null): Signals {
  if (wanted === null) return signals
  const codes = new Set(wanted.map(band => bands.indexOf(band)))
  const kept = [...signals.entered.keys()].filter(i => codes.has(signals.entered[i]!))
  const bytes = (column: Uint8Array): Uint8Array => Uint8Array.from(kept, i => column[i]!)
  return {
    bars: Int32Array.from(kept, i => signals.bars[i]!),
    entered: bytes(signals.entered),
    left: bytes(signals.left),
    stability: bytes(signals.stability),
    flips: bytes(signals.flips),
    contextBands: signals.contextBands && kept.map(i => signals.contextBands![i]!),
  }
}
