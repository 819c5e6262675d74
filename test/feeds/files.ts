import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatDay } from '../../src/core/model/day.js'
import type { FactKind, FactRecord } from '../../src/core/model/facts.js'
import type { FactsResult, Input, ReadOptions, ReadResult, TickerBars } from '../../src/data/feeds/feed.js'
import { readFile } from '../../src/data/feeds/read.js'
import { SHARED } from '../support/bars.js'
import { temporaryFolder } from '../support/store.js'

/** A file of its own folder, gone when the test is over; people see its bare name. */
export function written(name: string, content: string | Uint8Array): Input {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, content)
  return { name, path, bytes: statSync(path).size }
}

export function read(name: string, content: string | Uint8Array, options: ReadOptions = {}): Promise<ReadResult> {
  return readBars(written(name, content), options)
}

/** The bars of a file that has them. */
export async function readBars(input: Input, options: ReadOptions = {}): Promise<ReadResult> {
  const result = await readFile(input, options)
  if (result.holds === 'bars') return result
  throw new Error(`${result.file} has facts (${result.format})`)
}

/** The message of the error with which reading ends. */
export async function refusal(name: string, content: string | Uint8Array, options: ReadOptions = {}): Promise<string> {
  return refusedInput(written(name, content), options)
}

/** A file of the shared data, seen by its bare name. */
export function sharedFile(path: string): Input {
  const location = fileURLToPath(new URL(`data/${path}`, SHARED!))
  return { name: location.slice(location.lastIndexOf('/') + 1), path: location, bytes: statSync(location).size }
}

/** Bars as plain rows, for comparison and for messages. */
export function rowsOf({ bars }: TickerBars): (string | number)[][] {
  const { open, high, low, close, volume } = bars
  return Array.from(bars.days, (day, i) => [formatDay(day), open[i]!, high[i]!, low[i]!, close[i]!, volume[i]!])
}

export function only({ tickers }: ReadResult): TickerBars {
  if (tickers.length !== 1) throw new Error(`${tickers.length} tickers instead of one`)
  return tickers[0]!
}

/** The facts of a file of its own folder. */
export async function readFacts(
  content: string | Uint8Array,
  options: ReadOptions = {},
  name = 'facts.csv',
): Promise<FactsResult> {
  return factsOf(await readFile(written(name, content), options))
}

export async function factsIn(input: Input, options: ReadOptions = {}): Promise<FactsResult> {
  return factsOf(await readFile(input, options))
}

export async function refused(content: string, options: ReadOptions = {}): Promise<string> {
  return refusedInput(written('facts.csv', content), options)
}

export async function refusedInput(input: Input, options: ReadOptions = {}): Promise<string> {
  let result: unknown
  try {
    result = await readFile(input, options)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error(`nothing was refused: ${JSON.stringify(result).slice(0, 500)}`)
}

const DATES = new Set(['period_end', 'known', 'report_date', 'expected_date', 'ex_date', 'delisted'])

/** Every record with its ticker, dates as people write them, in the order of the file within a ticker. */
export function records(result: FactsResult, kind: FactKind): Record<string, unknown>[] {
  return result.facts.flatMap(sheet =>
    sheet.kind === kind ? sheet.records.map(record => ({ ticker: sheet.ticker, ...dated(record) })) : [],
  )
}

function dated(record: FactRecord): Record<string, unknown> {
  const entries = Object.entries(record).map(([name, value]) => [name, DATES.has(name) ? formatDay(value) : value])
  return Object.fromEntries(entries)
}

/** How many records of each kind there are. */
export function counts(result: FactsResult): Partial<Record<FactKind, number>> {
  const found: Partial<Record<FactKind, number>> = {}
  for (const { kind, records } of result.facts) found[kind] = (found[kind] ?? 0) + records.length
  return found
}

/** What is remarked and how often, without the places. */
export function remarked(result: FactsResult): Record<string, number> {
  return Object.fromEntries(result.remarks.map(({ what, count }) => [what, count]))
}

function factsOf(result: Awaited<ReturnType<typeof readFile>>): FactsResult {
  if (result.holds === 'facts') return result
  throw new Error(`${result.file} holds bars`)
}
