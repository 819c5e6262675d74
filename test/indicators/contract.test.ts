import { Panel } from '../../src/fields/panel.js'
import { ema, slope, sma, wilder } from '../../src/indicators/averages.js'
import { type LevelRules, resistance, support } from '../../src/indicators/levels.js'
import { atr, macd, rsi, slowStochastic, trueRange } from '../../src/indicators/oscillators.js'
import { percentile, type Ranks, rollingRanks } from '../../src/indicators/rank.js'
import { accumulationSlope, volumeRatio } from '../../src/indicators/volume.js'
import type { Series } from '../../src/model/series.js'
import { indicatorContract } from '../contracts/indicator.js'

const MACD = { fast: 12, slow: 26, signal: 9 }
const RULES: LevelRules = { reach: 4, lookback: 60, approachingAtr: 1, breaches: 3 }
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
indicatorContract({ name: 'NATR', run: s => new Panel(s).natr, warmUp: 14, price: 0 })
indicatorContract({ name: 'MACD', run: s => macd(s.close, MACD).macd, warmUp: 25, price: 1 })
indicatorContract({ name: 'MACD signal', run: s => macd(s.close, MACD).signal, warmUp: 33, price: 1 })
indicatorContract({ name: 'slope 20', run: s => slope(s.close, 20), warmUp: 19, price: 1 })
indicatorContract({
  name: 'slow %K 14/3',
  run: s => slowStochastic(s.high, s.low, s.close, { length: 14, smoothing: 3 }),
  warmUp: 15,
  price: 0,
})
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
  run: s => support(s.low, s.close, range(s), RULES).level,
  warmUp: 14,
  price: 1,
  gaps: true,
})
indicatorContract({
  name: 'resistance level',
  run: s => resistance(s.high, s.close, range(s), RULES).level,
  warmUp: 14,
  price: 1,
  gaps: true,
})
indicatorContract({
  name: 'rolling percentile of NATR',
  run: s => percentiles(rollingRanks(new Panel(s).natr, 260, 52)),
  warmUp: 14 + 51,
  price: 0,
})

function percentiles({ rank, size }: Ranks): Float64Array {
  return Float64Array.from(rank, (of, t) => percentile(of, size[t]!))
}
