import { barsToCsv, type SimulatedTicker, type SimulateOptions, simulatedTickers } from '../../feeds/simulate.js'
import type { ImportOptions, SourcedBars } from '../../local/import-report.js'
import { formatDay } from '../../model/day.js'
import type { Context } from '../context.js'
import { FactFiles } from '../fact-files.js'
import { count } from '../render/amounts.js'
import type { Row } from '../render/records.js'

/** Prints simulated bars, ticker by ticker, never all at once; their facts go into the files of a folder. */
export async function writeSimulated(context: Context, options: SimulateOptions, facts?: string): Promise<void> {
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
export async function loadSimulated(context: Context, options: SimulateOptions, wait: boolean): Promise<void> {
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
