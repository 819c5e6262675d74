import { BadData, InvalidParameter, parameter, sentence } from '../errors.js'
import { Behind } from '../local/cache.js'
import { countedFacts, sectorKey } from '../local/view.js'
import { countUpTo, type Day, formatDay } from '../model/day.js'
import { securityOf } from '../model/facts.js'
import { type Adjustment, emptySeries, head, type Series } from '../model/series.js'
import { type Origin, originsOf, type Store, type TickerEntry } from '../store/store.js'
import type { Kept, SourcedBars, TickerReport } from './report.js'

/** What a file's bars change, not yet written. */
interface TakenBars {
  reports: TickerReport[]
  changed: Kept[]
  /** Tickers whose pulled events make room. */
  unpulled: string[]
  /** What is behind when this is written. */
  behind: Behind
}

/** Merges bars with what is there. Throws BadData for a ticker without bars, with prices of another kind, or pulled. */
export async function takeBars(
  store: Store,
  tickers: readonly SourcedBars[],
  replaces: (ticker: string) => boolean,
): Promise<TakenBars> {
  const taken: TakenBars = { reports: [], changed: [], unpulled: [], behind: await Behind.in(store) }
  for (const incoming of tickers) {
    const replace = replaces(incoming.ticker)
    const pulled = await checkPulled(store, incoming, replace)
    const { report, series, entry, kept } = await mergeOne(store, incoming, replace)
    taken.reports.push(report)
    if (pulled !== null) {
      taken.unpulled.push(incoming.ticker)
      report.note = [report.note, `${incoming.ticker}: ${pulled}`].filter(Boolean).join('. ')
    }
    if (report.added + report.replaced === 0) continue
    const assetClass = entry?.assetClass ?? null
    const now = entryFor(incoming, series, assetClass, { entry, kept })
    taken.changed.push(await keptOf(store, now, series, taken.behind))
  }
  return taken
}

/** A ticker's bars up to a day, and what is behind then. Throws InvalidParameter where none of them is that old. */
export async function cutBars(
  store: Store,
  entry: TickerEntry,
  after: Day,
): Promise<{ changed: Kept; removed: number; behind: Behind }> {
  const whole = (await store.bars(entry.ticker))!
  const bars = countUpTo(whole.days, after)
  if (bars === 0) throw noneLeft(entry, after)
  const behind = await Behind.in(store)
  const cut = { ...entry, bars, last: whole.days[bars - 1]! }
  const changed = await keptOf(store, cut, head(whole, bars), behind)
  return { changed, removed: whole.days.length - bars, behind }
}

function noneLeft({ ticker, first }: TickerEntry, after: Day): InvalidParameter {
  const [value, allowed] = [formatDay(after), `a day from ${formatDay(first)} on, the first bar of ${ticker}`]
  const what = `every bar of ${ticker} is after ${value}; without a date the whole ticker is removed.`
  return new InvalidParameter(what, { param: 'after', value, allowed })
}

/** A ticker with its changed bars, the facts that count, and the class that they tell; its sector is behind then. */
async function keptOf(store: Store, entry: TickerEntry, bars: Series, behind: Behind): Promise<Kept> {
  const sheets = await store.sheets(entry.ticker)
  const security = securityOf(sheets)
  const facts = countedFacts(sheets)
  const sector = sectorKey(security)
  if (sector !== null && facts !== null) behind.sectors.add(sector)
  return { entry: security === null ? entry : { ...entry, assetClass: security.asset_class }, bars, facts }
}

/** What goes to make room for bars, in words; null where nothing was pulled. Throws BadData unless it may. */
async function checkPulled(store: Store, { ticker, source }: SourcedBars, replace: boolean): Promise<string | null> {
  const entries = await store.pages.entries(ticker)
  const [first] = entries
  if (first === undefined) return null
  const events = entries.reduce((sum, entry) => sum + entry.events, 0)
  const what = `${events} events of it that were pulled from ${first.url}`
  if (replace) return `${what} are taken out`
  const keep = sentence`${parameter('replace')} takes them out, ${parameter('db', 'FILE')} keeps both apart`
  throw new BadData({ file: source }, sentence`${ticker} has bars in it, and there are ${what} here; ${keep}`)
}

async function mergeOne(
  store: Store,
  incoming: SourcedBars,
  replace: boolean,
): Promise<{ report: TickerReport; series: Series } & Before> {
  const { ticker, prices, bars, source } = incoming
  if (bars.days.length === 0) throw new BadData({ file: source }, `there are no bars of ${ticker} in it`)
  // What is replaced is not looked at: it may be damaged.
  const entry = replace ? null : await store.ticker(ticker)
  const present = entry === null ? null : await store.bars(ticker)
  if (entry !== null && present !== null && entry.prices !== prices)
    throw mixedPrices(source, ticker, entry.prices, prices)
  const { series, rescaled, kept, ...counts } = merge(present ?? emptySeries('daily', 0), bars)
  const report: TickerReport = { ticker, prices, ...counts, bars: series.days.length, ...range(series) }
  if (rescaled !== null) report.note = rescaledNote(ticker, rescaled, series.days.length - bars.days.length)
  const unknown = series.unadjustedClose?.filter(Number.isNaN).length ?? 0
  if (unknown > 0) report.note = [report.note, unpaidNote(ticker, unknown)].filter(Boolean).join('. ')
  return { report, series, kept, entry }
}

/** What a series was before bars were taken in: its entry, and of each bar now its place then, -1 for one of the file. */
interface Before {
  entry: TickerEntry | null
  kept: readonly number[]
}

/** The entry of a series that has just taken bars in. */
function entryFor(
  { ticker, prices, source, format }: SourcedBars,
  series: Series,
  assetClass: TickerEntry['assetClass'],
  before: Before,
): TickerEntry {
  const own = { source, format, importedAt: new Date().toISOString() }
  const origins = originsAfter(before, own)
  return {
    ticker,
    assetClass,
    prices,
    bars: series.days.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    ...own,
    ...(origins.length > 1 ? { origins } : {}),
  }
}

/** Which file brought which bars, now that one has added some. */
function originsAfter({ entry, kept }: Before, own: Omit<Origin, 'bars'>): Origin[] {
  const earlier = entry === null ? [] : originsOf(entry)
  const origins: Origin[] = []
  let last: object | null = null
  for (const t of kept) {
    const of = t < 0 ? own : earlier.findLast(({ from }) => from <= t)!
    if (of !== last) origins.push({ source: of.source, format: of.format, importedAt: of.importedAt, bars: 0 })
    origins.at(-1)!.bars++
    last = of
  }
  return origins
}

function mixedPrices(file: string, ticker: string, kept: Adjustment, given: Adjustment): BadData {
  const what = `${ticker} is kept with ${kept} prices and this file gives ${given} ones; a series is one or the other`
  // Raw prices of a file can always be had; adjusted ones only where it has an adjusted close.
  const raw = kept === 'raw' ? sentence`${parameter('prices', 'raw')}, or ` : ''
  return new BadData(
    { file },
    sentence`${what}: use ${raw}${parameter('replace')} to start ${ticker} again from this file`,
  )
}

function rescaledNote(ticker: string, factor: number, older: number): string {
  const by = factor.toPrecision(6)
  return `${ticker}: every close that was there already changed by the factor ${by}, as after a dividend or split, and ${older} bars outside this file keep the old scale; import the whole history again`
}

function unpaidNote(ticker: string, unknown: number): string {
  return `${ticker}: the close before adjustment is unknown on ${unknown} of its bars, so earnings have no yield there; import the whole history with both closes`
}

function range(series: Series): { first: string; last: string } {
  return { first: formatDay(series.days[0]!), last: formatDay(series.days.at(-1)!) }
}

const COLUMNS = ['open', 'high', 'low', 'close', 'volume'] as const

interface Merged {
  series: Series
  /** New dates, dates whose values changed, dates that were there alike. */
  added: number
  replaced: number
  unchanged: number
  /** The one factor by which the closes of all common dates differ, when they do and other bars keep the old scale. */
  rescaled: number | null
  /** Of each bar its place in the series that was there; -1 for one that came in. */
  kept: number[]
}

/** Puts incoming daily bars into those that are there; on a common date the incoming bar wins. */
function merge(present: Series, incoming: Series): Merged {
  const rows: Place[] = []
  const paid: number[] = []
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const factors: number[] = []
  let i = 0
  let j = 0
  while (i < present.days.length || j < incoming.days.length) {
    const here = present.days[i] ?? Number.POSITIVE_INFINITY
    const there = incoming.days[j] ?? Number.POSITIVE_INFINITY
    if (here < there) {
      paid.push(paidAt(present, i))
      rows.push([present, i++])
    } else {
      const same = there === here && sameBar(present, i, incoming, j)
      rows.push(same ? [present, i] : [incoming, j])
      // What was paid on a day does not change, whatever its adjusted close has become.
      const told = paidAt(incoming, j)
      paid.push(Number.isNaN(told) && there === here ? paidAt(present, i) : told)
      counts[there < here ? 'added' : same ? 'unchanged' : 'replaced']++
      if (there === here) factors.push(incoming.close[j]! / present.close[i++]!)
      j++
    }
  }
  const others = rows.length - incoming.days.length
  const kept = rows.map(([from, t]) => (from === present ? t : -1))
  return { series: gathered(rows, paid), ...counts, rescaled: others > 0 ? commonFactor(factors) : null, kept }
}

/** Whether two bars have the same prices and volume; unknown volumes are alike. */
function sameBar(a: Series, i: number, b: Series, j: number): boolean {
  if (!COLUMNS.every(column => Object.is(a[column][i]!, b[column][j]!))) return false
  // A file that tells only adjusted closes says nothing about the others.
  return b.unadjustedClose === undefined || paidAt(a, i) === b.unadjustedClose[j]
}

/** A dividend or split since the last import moves every adjusted price by one factor. */
function commonFactor(factors: readonly number[]): number | null {
  const [first = 1] = factors
  const common = factors.length >= 2 && factors.every(factor => Math.abs(factor / first - 1) < 1e-5)
  return common && Math.abs(first - 1) > 1e-5 ? first : null
}

/** A bar by its series and its place there. */
type Place = readonly [series: Series, t: number]

/** The close before adjustment, NaN where the series does not tell it. */
function paidAt({ unadjustedClose }: Series, t: number): number {
  return unadjustedClose?.[t] ?? Number.NaN
}

function gathered(rows: readonly Place[], paid: readonly number[]): Series {
  const series = emptySeries('daily', rows.length)
  for (const [i, [from, t]] of rows.entries()) {
    series.days[i] = from.days[t]!
    for (const column of COLUMNS) series[column][i] = from[column][t]!
  }
  series.known = series.days
  // Where one series tells it and the other does not, it is unknown on some bars; an adjusted close is not it.
  if (paid.some(close => !Number.isNaN(close))) series.unadjustedClose = Float64Array.from(paid)
  return series
}

/** The first day on which two series have different bars; null when they agree. */
export function firstContradiction(a: Series, b: Series): number | null {
  let i = 0
  for (let j = 0; j < b.days.length; j++) {
    while (i < a.days.length && a.days[i]! < b.days[j]!) i++
    if (a.days[i] === b.days[j] && !sameBar(a, i, b, j)) return b.days[j]!
  }
  return null
}
