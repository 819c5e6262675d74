import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidParameter, StorageError } from '../../errors.js'
import type { TickerFacts } from '../../feeds/feed.js'
import type { ImportOptions, SourcedBars } from '../../load/report.js'
import { dayOf, formatDay } from '../../model/day.js'
import type { FactKind } from '../../model/facts.js'
import { dayValue, integerValue } from '../../params/values.js'
import { count } from '../../present/numbers.js'
import {
  barsToCsv,
  factHeader,
  factRows,
  type SimulatedTicker,
  type SimulateOptions,
  simulatedTickers,
} from '../../simulate/simulate.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Row } from '../draw/table.js'
import type { Given } from '../given.js'

export const command: Command = {
  arguments: [['[COUNT]', 'how many tickers: SIM0001, SIM0002 …; 1 unless given']],
  options: [
    ['--bars <N>', 'daily bars of each; 1260 unless given'],
    ['--seed <N>', 'another world for another number; 1 unless given'],
    ['--end <DATE>', 'date of the last bar; 2025-12-31 unless given, so that the same words give the same bars'],
    ['--seven-days', 'trade at weekends too'],
    ['--facts <FOLDER>', 'write their reports, ratings, trades … into files of this folder, to be imported'],
    ['--load', 'put them with their facts into the database instead of printing them'],
    ['--wait', 'with --load: wait while another process is writing'],
  ],
  examples: ['bands simulate 3 --seed 7', 'bands simulate 8 --facts facts', 'bands simulate 100 --bars 2520 --load'],
  outputs: ['csv', 'ndjson', 'json'],
  notes: ['Simulated prices and facts: an edge that is found in them is chance.'],
  async run(context, given) {
    const options = simulateOptions(given)
    const facts = given.text('facts')
    if (given.flag('load') && facts !== undefined)
      throw new InvalidParameter('--facts writes files and --load loads without them; choose one.', { param: 'facts' })
    if (given.flag('load')) await loadSimulated(context, options, given.flag('wait'))
    else await writeSimulated(context, options, facts)
  },
}

function simulateOptions(given: Given): SimulateOptions {
  const end = given.text('end')
  return {
    count: integerValue('count', given.argument(0) ?? '1', 1, 1_000_000),
    bars: integerValue('bars', given.text('bars') ?? '1260', 1, 50_000),
    seed: integerValue('seed', given.text('seed') ?? '1', 0, 999_999_999),
    end: end === undefined ? dayOf(2025, 12, 31)! : dayValue('end', end),
    sevenDays: given.flag('seven-days'),
  }
}

/** Prints simulated bars, ticker by ticker, never all at once; their facts go into the files of a folder. */
async function writeSimulated(context: Context, options: SimulateOptions, facts?: string): Promise<void> {
  let done = 0
  const files = facts === undefined ? null : new FactFiles(facts)
  const tickers = counted(simulatedTickers(options), ticker => {
    context.step(() => `simulate  ${++done}/${options.count}`)
    files?.add(ticker.facts)
  })
  try {
    for (const chunk of chunks(tickers, context.format)) await context.out.write(chunk)
  } finally {
    files?.close()
  }
}

/** Puts them into the database. */
async function loadSimulated(context: Context, options: SimulateOptions, wait: boolean): Promise<void> {
  const importer = await context.importer({ wait, make: true })
  const source = `simulate --seed ${options.seed}`
  const onProgress: ImportOptions['onProgress'] = ({ stage, done, of }) =>
    context.step(() => `${stage}  ${done}/${of ?? '?'} ${stage === 'settling' ? 'steps' : 'tickers'}`)
  // Facts first: then every field is derived when the bars come.
  const facts = Array.from(simulatedTickers(options), ticker => ticker.facts).flat()
  const sheets = await importer.putFacts(facts, { file: source, format: 'simulated' }, { replace: true, onProgress })
  const sourced = function* (): Generator<SourcedBars> {
    for (const { ticker, bars } of simulatedTickers(options))
      yield { ticker, bars, prices: 'raw', source, format: 'simulated' }
  }
  const reports = await importer.put(sourced(), { onProgress })
  const records = sheets.reduce((sum, sheet) => sum + sheet.records, 0)
  const bars = reports.reduce((sum, report) => sum + report.bars, 0)
  await context.show({
    document: () => ({ schema: 'bands.simulate/1', tickers: reports, facts: sheets }),
    columns: ['ticker', 'prices', 'added', 'replaced', 'unchanged', 'bars', 'first', 'last'],
    rows: (): Row[] => reports.map(report => ({ ...report })),
    blocks: () => [
      {
        notes: [
          `loaded ${count(reports.length, 'simulated ticker')} with ${count(bars, 'bar')} and ${count(records, 'fact')}`,
        ],
      },
    ],
  })
}

function* chunks(tickers: Iterable<SimulatedTicker>, format: Context['format']): Generator<string> {
  if (format === null || format === 'csv') {
    yield* barsToCsv(tickers)
    return
  }
  let first = true
  if (format === 'json') yield '['
  for (const ticker of tickers) {
    const lines = barObjects(ticker).map(bar => JSON.stringify(bar))
    if (format === 'ndjson') yield lines.map(line => `${line}\n`).join('')
    else yield (first ? '' : ',') + lines.join(',')
    first = false
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

function* counted<T>(items: Iterable<T>, each: (item: T) => void): Generator<T> {
  for (const item of items) {
    each(item)
    yield item
  }
}

/** A folder of record files, one a kind (`reports.csv`), begun when their first record comes. */
class FactFiles {
  readonly #folder: string
  readonly #open = new Map<FactKind, number>()

  /** Throws StorageError. */
  constructor(folder: string) {
    this.#folder = folder
    this.#guard(() => mkdirSync(folder, { recursive: true }))
  }

  /** Throws StorageError. */
  add(facts: readonly TickerFacts[]): void {
    this.#guard(() => {
      for (const part of facts) writeSync(this.#file(part.kind), factRows(part))
    })
  }

  close(): void {
    for (const file of this.#open.values()) closeSync(file)
  }

  #file(kind: FactKind): number {
    let file = this.#open.get(kind)
    if (file === undefined) {
      file = openSync(join(this.#folder, `${kind}.csv`), 'w')
      this.#open.set(kind, file)
      writeSync(file, factHeader(kind))
    }
    return file
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (cause) {
      throw new StorageError(`cannot write facts to ${this.#folder}: ${(cause as Error).message}`, { cause })
    }
  }
}
