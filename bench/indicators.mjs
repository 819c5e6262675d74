// node bench/indicators.mjs ROOT WHAT [PLACE]: million bars a second of processor, in one process, of 200 simulated tickers
// with 1,250 bars. WHAT: indicators (RSI 14, SMA 20, 50 and 200, MACD, ATR 14, the mean of 50 volumes, the
// accumulation/distribution line; ours with its slope too), rolling (the percentile among 252 bars), plain (the same without
// WebAssembly), derive (all that is recorded of a ticker and its weeks), or a package in PLACE that makes the indicators.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FOLDER } from './folder.mjs'

const [root, what, place] = process.argv.slice(2)
/** Long enough that the functions are compiled. */
const WARM = 1
const SECONDS = 2
/** What lends columns their memory while a ticker is derived; older builds have none. */
const COLUMNS = 'src/core/indicators/columns.ts'

const engine = await bundled()
const tickers = [...engine.simulatedTickers({ count: 200, bars: 1250, seed: 1, end: 19_723 })].map(({ bars }) => bars)
const work = { indicators, rolling, plain, derive }[what] ?? (await peerOf(what))
during(WARM)
process.stdout.write(JSON.stringify({ rate: during(SECONDS) }))

/** What of the sources of ROOT is measured, whatever its program exports. */
async function bundled() {
  const { build } = createRequire(join(root, 'package.json'))('esbuild')
  const outfile = join(FOLDER, `engine-${process.pid}.mjs`)
  const contents = `export { record } from './src/core/engine/record.js'
    export { Panel } from './src/core/fields/panel.js'
    export * from './src/core/indicators/rank.js'
    export { withReusedMemory } from './${COLUMNS}'
    export { simulatedTickers } from './src/data/simulate/simulate.js'`
  const stdin = { contents, resolveDir: root }
  await build({ stdin, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node22', logLevel: 'error' })
  return import(pathToFileURL(outfile).href)
}

function during(seconds) {
  const start = process.cpuUsage()
  let bars = 0
  for (;;) {
    for (const series of tickers) work(series)
    bars += tickers.length * 1250
    const { user, system } = process.cpuUsage(start)
    if (user + system > seconds * 1e6) return bars / (user + system)
  }
}

function indicators(series) {
  engine.withReusedMemory(() => {
    const { rsi, smaShort, smaMiddle, smaLong, macd, atr, volumeRatio, accumulation } = new engine.Panel(series)
    const all = [rsi, smaShort, smaMiddle, smaLong, macd, atr, volumeRatio, accumulation]
    return all.map(figure => figure()).length
  })
}

function rolling({ close }) {
  return engine.rollingRanks(close, 252, 252)
}

function plain({ close }) {
  return engine.plainRanks(close, { lag: 0, history: 252, least: 252 })
}

function derive(series) {
  return engine.record(series, 'stock')
}

/** The same indicators as each package would have them asked for, of columns as it wants them. */
async function peerOf(name) {
  const required = createRequire(join(place, 'package.json'))
  const columns = new Map(tickers.map(series => [series, plainColumns(series)]))
  const asked = {
    '@ixjb94/indicators': () => ofIxjb94(new (required(name).IndicatorsSync)()),
    indicatorts: () => ofIndicatorts(required(name)),
    technicalindicators: () => ofTechnicalindicators(required(name)),
    'trading-signals': async () =>
      ofTradingSignals(await import(pathToFileURL(join(place, 'node_modules', name, 'dist/index.js')).href)),
  }
  const made = await asked[name]()
  return series => made(columns.get(series))
}

function plainColumns({ high, low, close, volume }) {
  return { high: [...high], low: [...low], close: [...close], volume: [...volume] }
}

function ofIxjb94(lib) {
  return ({ high, low, close, volume }) => [
    lib.rsi(close, 14),
    ...[20, 50, 200].map(length => lib.sma(close, length)),
    lib.macd(close, 12, 26, 9),
    lib.atr(high, low, close, 14),
    lib.sma(volume, 50),
    lib.ad(high, low, close, volume),
  ]
}

function ofIndicatorts(lib) {
  return ({ high, low, close, volume }) => [
    lib.rsi(close, { period: 14 }),
    ...[20, 50, 200].map(period => lib.sma(close, { period })),
    lib.macd(close, { fast: 12, slow: 26, signal: 9 }),
    lib.atr(high, low, close, { period: 14 }),
    lib.sma(volume, { period: 50 }),
    lib.ad(high, low, close, volume),
  ]
}

function ofTechnicalindicators({ RSI, SMA, MACD, ATR, ADL }) {
  const lengths = { fastPeriod: 12, slowPeriod: 26, signalPeriod: 9 }
  return ({ high, low, close, volume }) => [
    RSI.calculate({ values: close, period: 14 }),
    ...[20, 50, 200].map(period => SMA.calculate({ values: close, period })),
    MACD.calculate({ values: close, ...lengths, SimpleMAOscillator: false, SimpleMASignal: false }),
    ATR.calculate({ high, low, close, period: 14 }),
    SMA.calculate({ values: volume, period: 50 }),
    ADL.calculate({ high, low, close, volume }),
  ]
}

function ofTradingSignals({ RSI, SMA, EMA, MACD, ATR, AD }) {
  return ({ high, low, close, volume }) => {
    const ofClose = [
      new RSI(14),
      new SMA(20),
      new SMA(50),
      new SMA(200),
      new MACD(new EMA(12), new EMA(26), new EMA(9)),
    ]
    const ofBar = [new ATR(14), new AD()]
    const ofVolume = new SMA(50)
    for (let t = 0; t < close.length; t++) {
      const bar = { open: close[t], high: high[t], low: low[t], close: close[t], volume: volume[t] }
      for (const one of ofClose) one.update(close[t], false)
      for (const one of ofBar) one.update(bar, false)
      ofVolume.update(volume[t], false)
    }
    return ofBar
  }
}
