import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ema, slope, sma, wilder } from '../../src/indicators/averages.js'
import { NO_LEVEL, resistance, support } from '../../src/indicators/levels.js'
import { atr, macd, rsi, slowStochastic, trueRange } from '../../src/indicators/oscillators.js'
import { percentile, rollingRanks } from '../../src/indicators/rank.js'
import { accumulationSlope, volumeRatio } from '../../src/indicators/volume.js'
import { expectClose } from '../contracts/indicator.js'

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
