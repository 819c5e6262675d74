import type { StudyQuery } from '../params/studies.js'
import type { MarketBars, PricedSource, States } from '../source.js'
import { contextBandsOf, eligibleBars, type Signals, signalsAt, signalsOf } from './signals.js'

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
  /** Events that enter a band asked for whatever the context ticker was in; without a context the same as `signals`. */
  anyContext: Signals
  /** By bar: 1 where the context ticker was in a band asked for; null where none was asked for. */
  inContext: Uint8Array | null
}

/** Ascending by ticker, each once, so that the order in which they are named cannot matter. */
export async function subjectsOf(
  source: PricedSource,
  { tickers, filter }: Pick<StudyQuery, 'tickers' | 'filter'>,
  step: (text: () => string) => void,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const names = [...new Set(tickers)].sort()
  const { context, bands } = filter
  const contextOf = context?.bands == null ? null : await contextBandsOf(source, context, filter.timeframe)
  const wide = { ...filter, bands: null, context: context && { ...context, bands: null } }
  for await (const { prices, states, signals: all } of signalsOf(source, names, wide)) {
    const { ticker, series } = prices
    step(() => `read  ${ticker}  ${subjects.length + 1}/${names.length}`)
    const eligible = eligibleBars(prices, states, filter)
    const entered = chosen(states.bands, bands)
    const matches = (band: string | null): boolean => context?.bands?.includes(band ?? '') ?? true
    const beside = kept(all, i => matches(all.contextBands?.[i] ?? null))
    subjects.push({
      ticker,
      prices,
      states,
      eligible,
      signals: kept(beside, i => entered.has(beside.entered[i]!)),
      byBand: states.bands.map((_, code) => beside.bars.filter((_, i) => beside.entered[i] === code)),
      anyContext: kept(all, i => entered.has(all.entered[i]!)),
      inContext:
        contextOf && Uint8Array.from(contextOf(series, [...series.days.keys()]), band => Number(matches(band))),
    })
  }
  return subjects
}

/** Codes of some bands; of all of them for null. */
function chosen(bands: readonly string[], wanted: readonly string[] | null): Set<number> {
  return new Set((wanted ?? bands).map(band => bands.indexOf(band)))
}

function kept(signals: Signals, keeps: (i: number) => boolean): Signals {
  const places = [...signals.bars.keys()].filter(keeps)
  return signalsAt(signals, places, signals.contextBands && places.map(i => signals.contextBands![i]!))
}
