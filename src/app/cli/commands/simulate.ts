import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StorageError, wrong } from '../../../core/errors.js'
import { dayAt, dayOf, formatDay } from '../../../core/model/day.js'
import type { FactKind } from '../../../core/model/facts.js'
import { count } from '../../../core/numbers.js'
import { DAY, integerOf } from '../../../core/params/kinds.js'
import { optionsOf, withDefault } from '../../../core/params/row.js'
import { integerValue } from '../../../core/params/values.js'
import type { TickerFacts } from '../../../data/feeds/feed.js'
import type { ImportProgress, SourcedBars } from '../../../data/load/report.js'
import {
  barsToCsv,
  factHeader,
  factRows,
  type SimulatedTicker,
  type SimulateOptions,
  simulatedTickers,
} from '../../../data/simulate/simulate.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Row } from '../formats.js'
import { oneRowAnswer } from '../output.js'
import { openForImport } from '../writing.js'
import { progressText } from './import.js'

const WORLD_OPTIONS = {
  bars: withDefault(integerOf(1, 50_000), 1_260, 'daily bars of each'),
  seed: withDefault(integerOf(0, 999_999_999), 1, 'another world for another number'),
  end: withDefault(
    DAY,
    dayOf(2025, 12, 31)!,
    'date of the last bar (default 2025-12-31, so that the same command gives the same bars)',
  ),
}

const simulateCommand: Command = {
  arguments: [['[COUNT]', 'the number of tickers: SIM0001, SIM0002 … (default 1)']],
  options: [
    ...optionsOf(WORLD_OPTIONS),
    ['--seven-days', 'trade at weekends too'],
    ['--facts <FOLDER>', 'write their reports, ratings, trades … into files of this folder, to be imported'],
    ['--load', 'put them with their facts into the database instead of printing them'],
    ['--wait', 'with --load: wait while another process is writing'],
  ],
  examples: ['bands simulate 3 --seed 7', 'bands simulate 8 --facts facts', 'bands simulate 100 --bars 2520 --load'],
  outputs: ['csv', 'ndjson', 'json'],
  notes: ['Simulated prices and facts: an edge that is found in them is chance.'],
  async run(context, args) {
    const count = integerValue('count', args.argument(0) ?? '1', 1, 1_000_000)
    const options = { count, ...args.read(WORLD_OPTIONS), sevenDays: args.flag('seven-days') }
    const facts = args.text('facts')
    if (args.flag('load') && facts !== undefined)
      throw wrong('facts', '--facts writes files and --load loads without them; choose one.')
    if (args.flag('load')) await loadSimulated(context, options, args.flag('wait'))
    else await writeSimulated(context, options, facts)
  },
}

/** Prints simulated bars, ticker by ticker; their facts (reports, ratings …) go into the files of `folder`, if any. */
async function writeSimulated(context: Context, options: SimulateOptions, folder?: string): Promise<void> {
  let madeTickers = 0
  const writeFacts = folder === undefined ? null : factWriter(folder)
  const tickers = function* (): Generator<SimulatedTicker> {
    for (const ticker of simulatedTickers(options)) {
      context.step(() => `simulate  ${++madeTickers}/${options.count}`)
      writeFacts?.(ticker.facts)
      yield ticker
    }
  }
  for (const chunk of outputChunks(tickers(), context.format)) await context.out.write(chunk)
}

/** Loads simulated bars with their facts into the database, and shows the number of each. */
async function loadSimulated(context: Context, options: SimulateOptions, wait: boolean): Promise<void> {
  const importer = await openForImport(context, { wait, make: true })
  const origin = { source: `simulate --seed ${options.seed}`, format: 'simulated' }
  const onProgress = (progress: ImportProgress): void => context.step(() => progressText(progress))
  // Facts first: then every field is derived when the bars come.
  const facts = Array.from(simulatedTickers(options), ticker => ticker.facts).flat()
  const today = dayAt(context.world.now().getTime())
  const factsOrigin = { file: origin.source, format: origin.format }
  const sheets = await importer.putFacts(facts, factsOrigin, { replace: true, today, onProgress })
  const barsWithSource = function* (): Generator<SourcedBars> {
    for (const { ticker, bars } of simulatedTickers(options)) yield { ticker, bars, prices: 'raw', ...origin }
  }
  // Bars of another seed do not continue existing bars.
  const reports = await importer.put(barsWithSource(), { replace: true, today, onProgress })
  const records = sheets.reduce((sum, sheet) => sum + sheet.records, 0)
  const bars = reports.reduce((sum, report) => sum + report.bars, 0)
  const tickers = count(reports.length, 'simulated ticker')
  const loaded = `loaded ${tickers} with ${count(bars, 'bar')} and ${count(records, 'fact')}`
  const notes = [loaded, ...reports.flatMap(({ note }) => note ?? [])]
  await context.show({
    ...oneRowAnswer({ schema: 'bands.simulate/1', tickers: reports, facts: sheets }, notes),
    columns: ['ticker', 'prices', 'added', 'replaced', 'unchanged', 'bars', 'first', 'last'],
    rows: reports,
  })
}

/** The bars of tickers as text in one format, ticker by ticker. Every simulated ticker has at least one bar. */
function* outputChunks(tickers: Iterable<SimulatedTicker>, format: Context['format']): Generator<string> {
  if (format === null || format === 'csv') return yield* barsToCsv(tickers)
  let separator = ''
  if (format === 'json') yield '['
  for (const ticker of tickers) {
    const lines = barObjects(ticker).map(bar => JSON.stringify(bar))
    if (format === 'ndjson') yield lines.map(line => `${line}\n`).join('')
    else yield separator + lines.join(',')
    separator = ','
  }
  if (format === 'json') yield ']\n'
}

function barObjects({ ticker, bars }: SimulatedTicker): Row[] {
  return Array.from(bars.days, (day, i) => ({
    ticker,
    date: formatDay(day),
    open: bars.open[i],
    high: bars.high[i],
    low: bars.low[i],
    close: bars.close[i],
    volume: Number.isNaN(bars.volume[i]!) ? null : bars.volume[i],
  }))
}

/** Returns a function that appends facts to files of a folder, one a kind (`reports.csv`). Both throw StorageError. */
function factWriter(folder: string): (facts: readonly TickerFacts[]) => void {
  const begunKinds = new Set<FactKind>()
  const withStorageError = (work: () => void): void => {
    try {
      work()
    } catch (cause) {
      throw new StorageError(`cannot write facts to ${folder}: ${(cause as Error).message}`, { cause })
    }
  }
  const write = (part: TickerFacts): void => {
    const fileExists = begunKinds.has(part.kind)
    const text = fileExists ? factRows(part) : factHeader(part.kind) + factRows(part)
    writeFileSync(join(folder, `${part.kind}.csv`), text, { flag: fileExists ? 'a' : 'w' })
    begunKinds.add(part.kind)
  }
  withStorageError(() => mkdirSync(folder, { recursive: true }))
  return facts => withStorageError(() => facts.forEach(write))
}

export const commands = { simulate: simulateCommand }
