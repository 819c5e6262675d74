import { BadData } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import { BAR_FIGURES, emptySeries, type Series, slice } from '../../core/model/series.js'
import type { TickerBars, TickerFacts } from '../../data/feeds/feed.js'
import { readFile } from '../../data/feeds/read.js'
import type { Vendor } from './vendor.js'

/** What a call brought: bars or facts of some of its tickers. */
export interface Answered {
  bars: TickerBars[]
  facts: TickerFacts[]
  /** The layout, as the readers of files name it. */
  format: string
}

/** How vendors say that there is nothing: an empty list, or a document with one. */
const NOTHING =
  /^\s*(\[\s*\]|\{[^[\]]*"(results|bars|values|data)"\s*:\s*(\[\s*\]|\{\s*\}|null)[^[\]]*\}|\{[^[\]]*"resultsCount"\s*:\s*0[^[\]]*\})\s*$/

/** An answer before its first body. */
export function emptyAnswer(): Answered {
  return { bars: [], facts: [], format: 'json rows' }
}

/**
 * Adds one body to an answer. Throws BadData for one that cannot be read, or with a bad row.
 * @param tickers those that were asked for; bars of others are left out
 */
export async function addBody(
  found: Answered,
  vendor: Vendor,
  tickers: readonly string[],
  body: string,
): Promise<void> {
  if (NOTHING.test(body)) return
  const { provider, host, today } = vendor
  const one = provider.symbols === 1 && tickers.length === 1 ? { ticker: tickers[0]! } : {}
  const input = { name: host, path: null, bytes: body.length }
  const stdin = (async function* () {
    yield body
  })()
  const read = await readFile(input, { ...one, prices: provider.prices, today, stdin }).catch(error => {
    throw error instanceof BadData ? discreet(error, vendor) : error
  })
  if (read.holds !== provider.holds) throw new BadData({ file: host }, `it answered with ${read.holds}`)
  found.format = read.format
  if (read.holds === 'facts') {
    found.facts.push(...read.facts)
    return
  }
  const symbols = await Promise.all(tickers.map(async name => [await vendor.symbolOf(name), name] as const))
  const names = new Map([...symbols, ...tickers.map(name => [name, name] as const)])
  found.bars.push(
    ...read.tickers.flatMap(bars => {
      const ticker = names.get(bars.ticker)
      return ticker === undefined ? [] : [{ ...bars, ticker }]
    }),
  )
}

/** The same fault without the key, which a vendor may have repeated. */
function discreet({ place, message }: BadData, vendor: Vendor): BadData {
  return new BadData(place, vendor.repeat(message.slice(message.indexOf(': ') + 2)))
}

/** Pages of each ticker as one series, up to a day. A day that two pages have is that of the later page. */
export function joinedBars(pages: readonly TickerBars[], until: Day): TickerBars[] {
  const byTicker = Map.groupBy(pages, ({ ticker }) => ticker)
  return [...byTicker.values()].flatMap(own => {
    const bars = upTo(joined(own.map(one => one.bars)), until)
    return bars.days.length === 0 ? [] : [{ ...own[0]!, bars }]
  })
}

function upTo(bars: Series, until: Day): Series {
  return slice(bars, 0, bars.days.findLastIndex(day => day <= until) + 1)
}

function joined(parts: readonly Series[]): Series {
  if (parts.length === 1) return parts[0]!
  const inOrder = parts.toSorted((a, b) => a.days[0]! - b.days[0]!)
  // The first days of a part that the one before it has, too, are cut from that one.
  const whole = inOrder.map((part, i) => {
    const next = inOrder[i + 1]?.days[0] ?? Number.POSITIVE_INFINITY
    return slice(part, 0, part.days.findLastIndex(day => day < next) + 1)
  })
  const all = emptySeries(
    'daily',
    whole.reduce((sum, { days }) => sum + days.length, 0),
  )
  let at = 0
  for (const part of whole) {
    for (const column of ['days', 'known', ...BAR_FIGURES] as const) all[column].set(part[column], at)
    at += part.days.length
  }
  const hasUnadjusted = whole.some(part => part.unadjustedClose !== undefined)
  if (!hasUnadjusted) return all
  const unadjustedClose = new Float64Array(all.days.length).fill(Number.NaN)
  let from = 0
  for (const { unadjustedClose: own, days } of whole) {
    if (own !== undefined) unadjustedClose.set(own, from)
    from += days.length
  }
  return { ...all, unadjustedClose }
}
