import { transitions } from '../../../src/engine/record.js'
import { FIELDS, fieldNamed } from '../../../src/fields/index.js'
import { Panel } from '../../../src/fields/panel.js'
import { head, type Series, UNDEFINED } from '../../../src/model/series.js'
import type { PricedSource, States } from '../../../src/source.js'
import { statesOf as madeOf, sourceOf } from '../../support/source.js'

/** The first bars of some daily series as a market: bands as the engine computes them, nothing about stability. */
export function seriesMarket(all: Record<string, Series>, bars = Number.MAX_SAFE_INTEGER): PricedSource {
  const known = new Map(
    Object.entries(all).map(([name, series]) => [name, head(series, Math.min(bars, series.days.length))]),
  )
  const computed = new Map<string, States>()
  return sourceOf({
    ...madeOf(
      ticker => ({
        ticker,
        assetClass: 'stock',
        adjustment: 'adjusted',
        series: known.get(ticker)!,
        barsAYear: 252,
        delisting: null,
      }),
      (ticker, field) => {
        const name = `${ticker} ${field}`
        const states = computed.get(name) ?? statesOf(ticker, field, known.get(ticker)!)
        computed.set(name, states)
        return states
      },
    ),
    fields: async () => FIELDS,
    withBars: async () => [...known.keys()].sort(),
    asOfDay: async () => Math.max(...[...known.values()].map(({ days }) => days.at(-1)!)),
  })
}

function statesOf(ticker: string, name: string, series: Series): States {
  const field = fieldNamed(name)!
  const codes = field.classify(new Panel(series, null, null))
  const changes = transitions(codes)
  const untold = new Uint8Array(changes.bars.length).fill(UNDEFINED)
  const left = (_: number, i: number): number => (i === 0 ? changes.initialBand : changes.bands[i - 1]!)
  return {
    ticker,
    field: name,
    timeframe: 'daily',
    bands: field.bands,
    codes,
    from: 0,
    to: codes.length,
    bars: changes.bars,
    entered: changes.bands,
    left: changes.bands.map(left),
    stability: untold,
    flips: untold,
  }
}
