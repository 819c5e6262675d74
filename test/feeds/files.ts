import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Input, ReadOptions, ReadResult, TickerBars } from '../../src/feeds/feed.js'
import { readFile } from '../../src/feeds/read.js'
import { formatDay } from '../../src/model/day.js'
import { temporaryFolder } from '../support/folder.js'
import { SHARED } from '../support/shared-bars.js'

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
  return messageOf(read(name, content, options))
}

export async function messageOf(reading: Promise<ReadResult>): Promise<string> {
  try {
    const { tickers } = await reading
    throw new Error(`nothing was refused; loaded ${tickers.map(({ ticker }) => ticker).join(', ')}`)
  } catch (error) {
    return (error as Error).message
  }
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
