import { BadData, InvalidParameter, parameter, sentence, type Words } from '../errors.js'
import type { WarningKind } from '../feeds/feed.js'
import { Behind } from '../local/cache.js'
import { countedFacts, sectorKey } from '../local/view.js'
import { countUpTo, type Day, formatDay } from '../model/day.js'
import { FACT_KINDS, securityOf } from '../model/facts.js'
import { emptySeries, head, type Series } from '../model/series.js'
import {
  type AcceptedJump,
  jumpsOf,
  type Origin,
  originsOf,
  type PlacedOrigin,
  type Store,
  type TickerEntry,
  type TickerSheet,
} from '../store/store.js'
import type { Kept } from './derive.js'
import { type RefusedTicker, refusalOf, type SourcedBars, type TickerReport } from './report.js'
import { bothOf, judge, jumpsAfter, type Rescaling, rescaled, rescaledCount, type SeamOddity } from './seam.js'

/** What a file's bars change, not yet written. */
export interface TakenBars {
  reports: TickerReport[]
  refused: RefusedTicker[]
  /** What looks odd where a file's bars lie beside those that are stored. */
  oddities: { kind: WarningKind; ticker: string; day: Day; detail: Words }[]
  changed: Kept[]
  /** Tickers whose pulled events make room. */
  unpulled: string[]
  /** What is behind when this is written. */
  behind: Behind
}

/** What is done about a ticker that is there. */
export interface Choices {
  /** Begin again, whatever was there. */
  replace: boolean
  /** What to do about stored bars on another scale; unless given, the ticker is refused. */
  scale?: 'rescale' | 'accept_jump' | undefined
  /** The file of the same run whose bars of this ticker were refused: it is not to be passed over. */
  refusedBefore?: string | undefined
}

/**
 * Merges bars with what is there, and leaves a ticker alone that does not fit to it. Throws BadData for a ticker without
 * bars.
 */
export async function takeBars(
  store: Store,
  tickers: readonly SourcedBars[],
  choicesFor: (ticker: string) => Choices,
): Promise<TakenBars> {
  const behind = await Behind.in(store)
  const taken: TakenBars = { reports: [], refused: [], oddities: [], changed: [], unpulled: [], behind }
  for (const incoming of tickers) {
    const { ticker } = incoming
    const choices = choicesFor(ticker)
    const pulled = await pulledOf(store, ticker)
    const { present, entry } = await storedOf(store, incoming, choices.replace)
    const refused = refusedAtSight(incoming, { present, entry, pulled }, choices)
    const result =
      refused !== null ? { refused } : present === null ? AS_IT_IS : await fitted(store, present, incoming, choices)
    if ('refused' in result) {
      taken.refused.push(result.refused)
      continue
    }
    taken.oddities.push(...result.oddities.map(oddity => ({ ticker, ...oddity })))
    if (present === null && !choices.replace) taken.oddities.push(...(await namesakes(store, incoming)))
    const before = { present: result.present ?? emptySeries('daily', 0), entry, jumps: result.jumps }
    const { report, series, origins } = mergeOne(incoming, before)
    taken.reports.push(report)
    if (result.rescaling !== null) noteRescaling(report, present!, result.rescaling)
    if (pulled !== null) {
      taken.unpulled.push(ticker)
      addNote(report, `${ticker}: ${pulled} are taken out`)
    }
    if (report.added + report.replaced === 0 && result.rescaling === null) continue
    const now = entryFor(incoming, series, entry?.assetClass ?? null, origins)
    taken.changed.push(await keptOf(store, now, series, behind))
  }
  return taken
}

/** What is stored of a ticker and stays beside a file's bars; null where nothing does. */
async function storedOf(
  store: Store,
  { ticker, bars, source }: SourcedBars,
  replace: boolean,
): Promise<{ present: Stored | null; entry: TickerEntry | null }> {
  if (bars.days.length === 0) throw new BadData({ file: source }, `there are no bars of ${ticker} in it`)
  // What is replaced is not looked at: it may be damaged.
  const entry = replace ? null : await store.ticker(ticker)
  if (entry === null) return { present: null, entry }
  const series = (await store.bars(ticker))!
  return { present: { series, jumps: jumpsOf(entry, series.days) }, entry }
}

/** What keeps a ticker out whatever its prices are; null where nothing does. */
function refusedAtSight(
  { ticker, prices, bars }: SourcedBars,
  { present, entry, pulled }: { present: Stored | null; entry: TickerEntry | null; pulled: string | null },
  { replace, refusedBefore }: Choices,
): RefusedTicker | null {
  const refused = (reason: RefusedTicker['reason'], message: Words): RefusedTicker => {
    return { ticker, reason, factor: null, date: null, message }
  }
  const again = sentence`${parameter('replace')} starts ${ticker} again, from a file of its own`
  if (pulled !== null && !replace)
    return refused(
      'pulled',
      sentence`${ticker}: there are ${pulled} here; ${again}, and takes them out; ${parameter('db', 'FILE')} keeps both apart`,
    )
  if (entry !== null && entry.prices !== prices) {
    const what = `${ticker} is kept with ${entry.prices} prices and this file gives ${prices} ones; a series is one or the other`
    // Raw prices of a file can always be had; adjusted ones only where it has an adjusted close.
    const raw = entry.prices === 'raw' ? sentence`${parameter('prices', 'raw')} takes those, or ` : ''
    return refused('adjustment', sentence`${what}: ${raw}${again}`)
  }
  if (refusedBefore === undefined || present === null || covers(bars, present.series)) return null
  const what = `${ticker}: its bars in ${refusedBefore} are refused, and these come after them`
  return refused('refused_before', sentence`${what}; mend that first, or import the whole history`)
}

/** Whether a file's bars reach from the first stored day, or before, to the last, or beyond. */
function covers(given: Series, stored: Series): boolean {
  return given.days[0]! <= stored.days[0]! && given.days.at(-1)! >= stored.days.at(-1)!
}

/** A new ticker may be one that is stored with the exchange that vendors put behind those of the US, or without. */
async function namesakes(store: Store, { ticker, bars }: SourcedBars): Promise<TakenBars['oddities']> {
  const other = ticker.endsWith('.US') ? ticker.slice(0, -3) : `${ticker}.US`
  if ((await store.ticker(other)) === null) return []
  const detail = sentence`${other} is stored, maybe the same under another name: ${parameter('ticker', other)} adds to it`
  return [{ kind: 'other_name', ticker, day: bars.days[0]!, detail }]
}

/** Stored bars, and the jumps between them that were accepted. */
interface Stored {
  series: Series
  jumps: readonly AcceptedJump[]
}

/** What is stored, as a file's bars are put to it. */
interface Fitted {
  present: Series | null
  rescaling: Rescaling | null
  /** Accepted, now and before. */
  jumps: readonly AcceptedJump[]
  oddities: readonly SeamOddity[]
}

const AS_IT_IS: Fitted = { present: null, rescaling: null, jumps: [], oddities: [] }

/** Brings what is stored and a file's bars of a ticker together, as far as may be. */
async function fitted(
  store: Store,
  { series, jumps }: Stored,
  { ticker, prices, bars }: SourcedBars,
  { scale }: Choices,
): Promise<Fitted | { refused: RefusedTicker }> {
  const splits = ((await store.sheets(ticker)).splits?.rows ?? []).map(row => row.record)
  const known = { prices, splits, jumps }
  const { misfit, oddities } = judge(series, bars, known)
  if (misfit === null) return { present: series, rescaling: null, jumps, oddities }
  const again = misfit.reason === 'another_instrument' ? null : rescaled(series, misfit)
  const after = again === null ? null : judge(again, bars, known)
  const fits = after !== null && after.misfit === null
  if (misfit.reason !== 'another_instrument') {
    if (scale === 'rescale' && fits) return { present: again, rescaling: misfit, jumps, oddities: after.oddities }
    if (scale === 'accept_jump')
      return { present: series, rescaling: null, jumps: [...jumps, ...misfit.jumps], oddities }
  }
  return { refused: refusalOf(ticker, misfit, fits, { stored: series.days.length, given: bars.days.length }) }
}

function noteRescaling(report: TickerReport, { series }: Stored, rescaling: Rescaling): void {
  const { scale, shares } = rescaling
  const { by, over } = scale
  report.rescaled = by / over
  const volumes = shares ? ', their volumes divided by it' : ''
  const factor = Number(report.rescaled.toPrecision(6))
  addNote(
    report,
    `${report.ticker}: ${rescaledCount(series, rescaling)} stored bars are multiplied by ${factor}${volumes}`,
  )
}

function addNote(report: TickerReport, note: string): void {
  report.note = [report.note, note].filter(Boolean).join('. ')
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
  behind.written(null)
  const changed = await keptOf(store, cut, head(whole, bars), behind)
  return { changed, removed: whole.days.length - bars, behind }
}

/** A ticker with all that is kept of it under another name, and what is behind then. */
export async function renamed(
  store: Store,
  ticker: string,
  name: string,
): Promise<{ records: Kept[]; sheets: TickerSheet[]; behind: Behind }> {
  const behind = await Behind.in(store)
  behind.written(null)
  const facts = await store.sheets(ticker)
  const sector = sectorKey(securityOf(facts))
  if (sector !== null) behind.sectors.add(sector)
  if (behind.tickers.delete(ticker)) behind.tickers.add(name)
  const sheets = FACT_KINDS.flatMap((kind): TickerSheet[] => {
    const sheet = facts[kind]
    return sheet === undefined ? [] : [{ ticker: name, kind, sheet }]
  })
  const entry = await store.ticker(ticker)
  if (entry === null) return { records: [], sheets, behind }
  const kept = await keptOf(store, entry, (await store.bars(ticker))!, behind)
  return { records: [{ ...kept, entry: { ...kept.entry, ticker: name } }], sheets, behind }
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

/** What was pulled of a ticker, in words; null where nothing was. */
async function pulledOf(store: Store, ticker: string): Promise<string | null> {
  const entries = await store.pages.entries(ticker)
  const [first] = entries
  if (first === undefined) return null
  const events = entries.reduce((sum, entry) => sum + entry.events, 0)
  return `${events} events of it that were pulled from ${first.url}`
}

/** What a ticker was before bars were taken in. */
interface Before {
  present: Series
  entry: TickerEntry | null
  /** Accepted jumps, also those between a file's bars and the present ones. */
  jumps: readonly AcceptedJump[]
}

function mergeOne(
  incoming: SourcedBars,
  { present, entry, jumps }: Before,
): { report: TickerReport; series: Series; origins: Origin[] } {
  const { ticker, prices, bars } = incoming
  const { series, kept, ...counts } = merge(present, bars)
  const report: TickerReport = { ticker, prices, ...counts, bars: series.days.length, ...range(series) }
  const unknown = series.unadjustedClose?.filter(Number.isNaN).length ?? 0
  if (unknown > 0) addNote(report, unpaidNote(ticker, unknown))
  const jumpsNow = new Map(jumpsAfter(jumps, series, bars).map(({ day, factor }) => [series.days.indexOf(day), factor]))
  const origins = originsAfter(entry === null ? [] : originsOf(entry), kept, jumpsNow, ownOf(incoming))
  return { report, series, origins }
}

type Own = Omit<Origin, 'bars' | 'jump'>

function ownOf({ source, format }: SourcedBars): Own {
  return { source, format, importedAt: new Date().toISOString() }
}

/** The entry of a series that has just taken bars in. */
function entryFor(
  incoming: SourcedBars,
  series: Series,
  assetClass: TickerEntry['assetClass'],
  origins: readonly Origin[],
): TickerEntry {
  const { ticker, prices } = incoming
  return {
    ticker,
    assetClass,
    prices,
    bars: series.days.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    ...ownOf(incoming),
    ...(origins.length > 1 ? { origins } : {}),
  }
}

/** Which file brought which bars, now that one has added some; a jump begins a range of its own. */
function originsAfter(
  earlier: readonly PlacedOrigin[],
  kept: readonly number[],
  jumps: ReadonlyMap<number, number>,
  own: Own,
): Origin[] {
  const origins: Origin[] = []
  let last: object | null = null
  for (const [t, before] of kept.entries()) {
    const of: Own = before < 0 ? own : earlier.findLast(({ from }) => from <= before)!
    const jump = jumps.get(t)
    if (of !== last || jump !== undefined) {
      const { source, format, importedAt } = of
      origins.push({ source, format, importedAt, bars: 0, ...(jump === undefined ? {} : { jump }) })
    }
    origins.at(-1)!.bars++
    last = of
  }
  return origins
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
  /** Of each bar its place in the series that was there; -1 for one that came in. */
  kept: number[]
}

/** Puts incoming daily bars into those that are there; on a common date the incoming bar wins. */
function merge(present: Series, incoming: Series): Merged {
  const rows: Place[] = []
  const paid: number[] = []
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  for (const { stored, given } of bothOf(present, incoming)) {
    const isCommon = stored >= 0 && given >= 0
    const same = isCommon && sameBar(present, stored, incoming, given)
    rows.push(given < 0 || same ? [present, stored] : [incoming, given])
    // What was paid on a day does not change, whatever its adjusted close has become.
    const told = given < 0 ? Number.NaN : paidAt(incoming, given)
    paid.push(Number.isNaN(told) && stored >= 0 ? paidAt(present, stored) : told)
    if (given >= 0) counts[!isCommon ? 'added' : same ? 'unchanged' : 'replaced']++
  }
  const kept = rows.map(([from, t]) => (from === present ? t : -1))
  return { series: gathered(rows, paid), ...counts, kept }
}

/** Whether two bars have the same prices and volume; unknown volumes are alike. */
function sameBar(a: Series, i: number, b: Series, j: number): boolean {
  if (!COLUMNS.every(column => Object.is(a[column][i]!, b[column][j]!))) return false
  // A file that tells only adjusted closes says nothing about the others.
  return b.unadjustedClose === undefined || paidAt(a, i) === b.unadjustedClose[j]
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
