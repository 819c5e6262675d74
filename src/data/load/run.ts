// For: import: judge new bars, merge, derive, record.
// In: rows of files and what the store has.
// Out: events in the store, and a report for each ticker.

import { BadData } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { emptySeries, type Series } from '../../core/model/series.js'
import { Spill } from '../feeds/spill.js'
import { firstContradiction } from './merge.js'
import type { SourcedBars } from './report.js'

const MAX_BYTES_IN_MEMORY = 32 * 1024 * 1024

interface FileBars {
  file: string
  bars(): Series
}

/** The data of one run so far: to find files that contradict each other, and to replace a ticker only once. */
export class Run {
  readonly #replacedNames = new Set<string>()
  readonly #barsByTicker = new Map<string, FileBars[]>()
  readonly #spill = new Spill()
  readonly #releases: (() => void)[] = []
  #bytesInMemory = 0
  /** By ticker, the file that was refused for bars on another scale. Later bars of the ticker are refused too. */
  readonly refusedFiles = new Map<string, string>()

  /** Throws BadData if an earlier file of the run has another bar on the same day. */
  refuseContradiction(incoming: SourcedBars): void {
    const { ticker, source } = incoming
    for (const earlier of this.#barsByTicker.get(ticker) ?? []) {
      if (earlier.file === source) continue
      const day = firstContradiction(earlier.bars(), incoming.bars)
      if (day === undefined) continue
      throw new BadData(
        { file: source },
        `${ticker} on ${formatDay(day)} is not the same bar as in ${earlier.file}; leave one of the two files out`,
      )
    }
  }

  /** Whether this is the run's first replacement of some data, such as `bars AAPL`. Notes it, so the next is not. */
  beginReplacement(name: string): boolean {
    const isFirst = !this.#replacedNames.has(name)
    this.#replacedNames.add(name)
    return isFirst
  }

  /** Remembers the imported bars of a ticker, for comparison with those of later files. */
  rememberBars(incoming: SourcedBars): void {
    const { ticker, source } = incoming
    const fileBars = { file: source, bars: incoming.spilled ? () => incoming.bars : this.#storeBars(incoming.bars) }
    const earlier = this.#barsByTicker.get(ticker)
    if (earlier === undefined) this.#barsByTicker.set(ticker, [fileBars])
    else earlier.push(fileBars)
  }

  /** Calls `release`, which frees a file's data, only when the run is over: later files are compared with them. */
  releaseOnClose(release: (() => void) | null): void {
    if (release !== null) this.#releases.push(release)
  }

  close(): void {
    this.#spill.close()
    for (const release of this.#releases) release()
  }

  /** Keeps bars in memory, or in a temporary file if memory has too many. Returns a function that reads them. */
  #storeBars(bars: Series): () => Series {
    this.#bytesInMemory += bytesOf(bars)
    if (this.#bytesInMemory <= MAX_BYTES_IN_MEMORY) return () => bars
    this.#bytesInMemory -= bytesOf(bars)
    const offset = this.#spill.append(columnsOf(bars))
    const length = bars.days.length
    const hasUnadjusted = bars.unadjustedClose !== undefined
    return () => {
      const series = emptySeries('daily', length)
      if (hasUnadjusted) series.unadjustedClose = new Float64Array(length)
      this.#spill.readInto(offset, columnsOf(series))
      return series
    }
  }
}

/** The columns of bars that come from the file. */
function columnsOf(bars: Series): (Float64Array | Int32Array)[] {
  const { days, open, high, low, close, volume, unadjustedClose } = bars
  return [days, open, high, low, close, volume, ...(unadjustedClose === undefined ? [] : [unadjustedClose])]
}

/** The memory that the columns of bars take, in bytes. */
export function bytesOf(bars: Series): number {
  return columnsOf(bars).reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** The content of an import in pieces, for a checksum that identifies it. @param choices the options that matter */
export function* contentPieces(tickers: readonly SourcedBars[], choices: string): Generator<Buffer | string> {
  yield choices
  for (const { ticker, prices, bars } of tickers) {
    yield `${ticker} ${prices}`
    for (const column of columnsOf(bars)) yield Buffer.from(column.buffer, column.byteOffset, column.byteLength)
  }
}
