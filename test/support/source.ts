import { transitions } from '../../src/core/engine/record.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import type { Baseline, HistoryQuery } from '../../src/core/model/event.js'
import { type Series, UNDEFINED } from '../../src/core/model/series.js'
import type { Timeframe } from '../../src/core/model/terms.js'
import type { EventFilter } from '../../src/core/params/studies.js'
import { firstItem, type MarketBars, type PricedSource, type Source, type States } from '../../src/core/source.js'
import { signalsOf, type TickerSignals } from '../../src/research/study/signals.js'

/** A source that answers some questions and refuses the others. */
export function sourceOf(part: Partial<Source & PricedSource>): Source & PricedSource {
  const refuse = (): never => {
    throw new Error('this source does not answer such a question')
  }
  return {
    events: refuse,
    oversold: refuse,
    fields: refuse,
    histories: refuse,
    bandPeriods: refuse,
    newest: refuse,
    granted: refuse,
    known: refuse,
    whyEmpty: refuse,
    server: null,
    tickers: refuse,
    bars: refuse,
    states: refuse,
    withBars: refuse,
    asOfDay: refuse,
    remarks: () => [],
    close: async () => {},
    ...part,
  }
}

/** Bars and states of a source, made ticker by ticker and field by field. */
export function statesOf(
  bars: (ticker: string, timeframe: Timeframe) => MarketBars,
  states: (ticker: string, field: string, timeframe: Timeframe) => States,
): Pick<PricedSource, 'bars' | 'states'> {
  return {
    async *bars({ tickers, timeframe }) {
      for (const ticker of tickers) yield bars(ticker, timeframe)
    },
    async *states({ tickers, fields, timeframe }) {
      for (const ticker of tickers)
        yield { prices: bars(ticker, timeframe), states: fields.map(field => states(ticker, field, timeframe)) }
    },
  }
}

/** A market of tickers with prices, whose bands lie in memory; as of the newest bar. */
export function marketFrom(
  names: readonly string[],
  bars: (ticker: string, timeframe: Timeframe) => MarketBars,
  states: (ticker: string, field: string, timeframe: Timeframe) => States,
  more: Partial<PricedSource> = {},
): PricedSource {
  return sourceOf({
    ...statesOf(bars, states),
    fields: async () => FIELDS,
    withBars: async () => names.toSorted(),
    asOfDay: async () => Math.max(...names.map(name => bars(name, 'daily').series.days.at(-1)!)),
    ...more,
  })
}

/** Bars of a stock, adjusted, with all that is known of it. */
export function pricesFrom(ticker: string, series: Series, more: Partial<MarketBars> = {}): MarketBars {
  const whole = { assetClass: 'stock', adjustment: 'adjusted', barsAYear: 252, delisting: null } as const
  return { ticker, series, ...whole, ...more }
}

/** States of a band by bar; nobody tells how settled they were. */
export function statesFrom(head: Pick<States, 'ticker' | 'field' | 'timeframe' | 'bands'>, codes: Uint8Array): States {
  const { bars, bands: entered, initialBand } = transitions(codes)
  const untold = new Uint8Array(bars.length).fill(UNDEFINED)
  const left = entered.map((_, i) => (i === 0 ? initialBand : entered[i - 1]!))
  return { ...head, codes, from: 0, to: codes.length, bars, entered, left, stability: untold, flips: untold }
}

/** Of a field as the engine computes it, where no codes are given. */
export function fieldStates(ticker: string, name: string, series: Series, codes?: Uint8Array): States {
  const { bands, classify } = BUILT_IN_FIELDS.named(name)!
  const head = { ticker, field: name, timeframe: series.timeframe, bands }
  return statesFrom(head, codes ?? classify(new Panel(series, null, null)))
}

/** The same with other bars. */
export function onBars(source: PricedSource, change: (prices: MarketBars) => MarketBars): PricedSource {
  return {
    ...source,
    async *bars(query) {
      for await (const prices of source.bars(query)) yield change(prices)
    },
    async *states(query) {
      for await (const { prices, states } of source.states(query)) yield { prices: change(prices), states }
    },
  }
}

export async function signalsFor(source: PricedSource, ticker: string, filter: EventFilter): Promise<TickerSignals> {
  return firstItem(signalsOf(source, [ticker], filter))
}

export async function barsIn(source: PricedSource, ticker: string, timeframe: Timeframe): Promise<MarketBars> {
  return firstItem(source.bars({ tickers: [ticker], timeframe }))
}

export async function statesIn(
  source: PricedSource,
  ticker: string,
  field: string,
  timeframe: Timeframe,
): Promise<States> {
  const { states } = await firstItem(source.states({ tickers: [ticker], fields: [field], timeframe }))
  return states[0]!
}

/** What any bar of the range was followed by. */
export async function baseIn(source: Source, { ticker, field, ...query }: HistoryQuery): Promise<Baseline | null> {
  const asked = { ...query, tickers: [ticker], fields: [field], outcomes: 'needed', base: true } as const
  return (await firstItem(source.histories(asked))).base
}
