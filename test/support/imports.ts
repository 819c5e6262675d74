import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import type { FieldRecord, Outcomes, Series } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import type { ImportOptions, TickerReport } from '../../src/data/load/report.js'
import { barsToCsv, simulatedTicker } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { temporaryFolder } from './store.js'

export const HEADER = 'date,open,high,low,close,volume'
export const WHO = { pid: process.pid, host: 'a test', started: '2026-01-01T00:00:00Z' }

/** Rows `date,open,high,low,close,volume` of a simulated ticker. */
export function simulatedRows(index: number, bars: number): string[] {
  const text = [...barsToCsv([simulatedTicker(index, { count: 1, bars, seed: 11, end: 17_000 })])].join('')
  return text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map(row => row.slice(row.indexOf(',') + 1))
}

export function csv(rows: readonly string[]): string {
  return `${HEADER}\n${rows.join('\n')}\n`
}

export function fileOf(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Imports files into a database in one run, as the command line does. */
export async function imported(
  db: string,
  files: readonly string[],
  options: ImportOptions = {},
): Promise<TickerReport[]> {
  const importer = await Importer.begin(openSqlite(db, { readonly: false }), readFile, WHO)
  const inputs = files.map(path => ({ name: path, path, bytes: null }))
  const reports: TickerReport[] = []
  try {
    for await (const file of importer.import(inputs, options)) if (file.holds === 'bars') reports.push(...file.tickers)
  } finally {
    await importer.close()
  }
  return reports
}

/** Everything that bars and definitions decide, without when and where it came from. */
export type Content = Record<
  string,
  { bars: Series; prices: string; derived: Record<string, FieldRecord | Outcomes | null> }
>

/** What a new database holds after texts were imported one after the other under one file name. */
export async function stored(texts: readonly string[], name = 'ABC.csv'): Promise<Content> {
  const folder = temporaryFolder()
  const path = join(folder, 'bands.db')
  for (const text of texts) await imported(path, [fileOf(folder, name, text)])
  return contentAt(path)
}

export async function contentAt(path: string): Promise<Content> {
  const store = openSqlite(path, { readonly: true })
  try {
    return await contentOf(store)
  } finally {
    await store.close()
  }
}

async function contentOf(store: Store): Promise<Content> {
  const content: Content = {}
  for (const { ticker, prices } of await store.tickers()) {
    const derived: Record<string, FieldRecord | Outcomes | null> = {}
    for (const timeframe of TIMEFRAME_NAMES) {
      for (const { name } of TECHNICAL_FIELDS) {
        const recorded = (await store.recorded(ticker, timeframe, name))!
        derived[`${timeframe} ${name}`] = recorded.field
        derived[`${timeframe} outcomes`] = recorded.outcomes
      }
    }
    content[ticker] = { prices, bars: (await store.bars(ticker))!, derived }
  }
  return content
}
