import { BadData } from '../../core/errors.js'
import { countBelow, countUpTo, type Day } from '../../core/model/day.js'
import { BAR_FIGURES, emptySeries, firstBars, type Series } from '../../core/model/series.js'
import type { TickerBars, TickerFacts } from '../../data/feeds/feed.js'
import { readFile } from '../../data/feeds/read.js'
import type { Vendor } from './vendor.js'

export interface VendorAnswer {
  bars: TickerBars[]
  facts: TickerFacts[]
  /** The layout, as the readers of files name it. */
  format: string
}

/** The bodies of vendors without data: an empty list, or a document with one. */
const EMPTY_BODY =
  /^\s*(\[\s*\]|\{[^[\]]*"(results|bars|values|data)"\s*:\s*(\[\s*\]|\{\s*\}|null)[^[\]]*\}|\{[^[\]]*"resultsCount"\s*:\s*0[^[\]]*\})\s*$/

/** An answer before its first body. */
export function emptyAnswer(): VendorAnswer {
  return { bars: [], facts: [], format: 'json rows' }
}

/**
 * Adds one body to an answer. Throws BadData for one that cannot be read, or with a bad row.
 * @param answer is changed
 * @param tickers the requested ones; bars of others are left out
 */
export async function addBody(
  answer: VendorAnswer,
  vendor: Vendor,
  tickers: readonly string[],
  body: string,
): Promise<void> {
  if (EMPTY_BODY.test(body)) return
  const { provider, host, today } = vendor
  const knownTicker = provider.symbols === 1 && tickers.length === 1 ? { ticker: tickers[0]! } : {}
  const input = { name: host, path: null, bytes: body.length }
  // The reader of files gets the body as its standard input.
  const stdin = (async function* () {
    yield body
  })()
  const content = await readFile(input, { ...knownTicker, prices: provider.prices, today, stdin }).catch(error => {
    throw error instanceof BadData ? withoutKey(error, vendor) : error
  })
  if (content.holds !== provider.holds) throw new BadData({ file: host }, `it answered with ${content.holds}`)
  answer.format = content.format
  if (content.holds === 'facts') {
    answer.facts.push(...content.facts)
    return
  }
  // Bars come under the symbol at the vendor, or under the ticker itself, which counts first.
  const tickerByName = new Map<string | null, string>()
  for (const ticker of tickers) tickerByName.set(await vendor.symbolOf(ticker), ticker)
  for (const ticker of tickers) tickerByName.set(ticker, ticker)
  for (const bars of content.tickers) {
    const ticker = tickerByName.get(bars.ticker)
    if (ticker !== undefined) answer.bars.push({ ...bars, ticker })
  }
}

/** The same error without the key, which a vendor may have repeated in its answer. */
function withoutKey({ place, message }: BadData, vendor: Vendor): BadData {
  // The message begins with its place, which BadData adds again.
  return new BadData(place, vendor.withoutKey(message.slice(message.indexOf(': ') + 2)))
}

/**
 * Joins the pages of each ticker into one series, which ends by the day `until`. A ticker without bars by then is left
 * out. @param pages may overlap at their ends, where the page that begins later counts
 */
export function joinPages(pages: readonly TickerBars[], until: Day): TickerBars[] {
  const byTicker = Map.groupBy(pages, ({ ticker }) => ticker)
  return [...byTicker.values()].flatMap(tickerPages => {
    const joined = joinSeries(tickerPages.map(page => page.bars))
    const bars = firstBars(joined, countUpTo(joined.days, until))
    return bars.days.length === 0 ? [] : [{ ...tickerPages[0]!, bars }]
  })
}

/** Joins series in the order of their first days, each up to the first day of the next one. */
function joinSeries(parts: readonly Series[]): Series {
  if (parts.length === 1) return parts[0]!
  const ordered = parts.toSorted((a, b) => a.days[0]! - b.days[0]!)
  const cutParts = ordered.map((part, i) => {
    const next = ordered[i + 1]
    return next === undefined ? part : firstBars(part, countBelow(part.days, next.days[0]!))
  })
  const length = cutParts.reduce((sum, { days }) => sum + days.length, 0)
  const joined = emptySeries('daily', length)
  const unadjustedClose = new Float64Array(length).fill(Number.NaN)
  let start = 0
  for (const part of cutParts) {
    for (const column of ['days', 'known', ...BAR_FIGURES] as const) joined[column].set(part[column], start)
    if (part.unadjustedClose !== undefined) unadjustedClose.set(part.unadjustedClose, start)
    start += part.days.length
  }
  const hasUnadjusted = cutParts.some(part => part.unadjustedClose !== undefined)
  return hasUnadjusted ? { ...joined, unadjustedClose } : joined
}
