import { isDeepStrictEqual } from 'node:util'
import { firstBarNeededForLabels, firstChangedBars } from '../../core/engine/record.js'
import { BadData, InvalidParameter, parameter, sentence, type Words } from '../../core/errors.js'
import { countBelow, countUpTo, type Day, formatDay, mondayOf } from '../../core/model/day.js'
import { FACT_KINDS, type FactSheets, securityOf } from '../../core/model/facts.js'
import { emptySeries, firstBars, type Series, SeriesMemory } from '../../core/model/series.js'
import { Pending } from '../local/cache.js'
import { sectorKey, usableFacts } from '../local/view.js'
import {
  type AcceptedJump,
  Damaged,
  jumpsOf,
  type Origin,
  originsOf,
  type PackedRecord,
  type Store,
  type TickerEntry,
  type TickerSheet,
} from '../store/store.js'
import { deriveRecord, type TickerData } from './derive.js'
import { type BarRange, limitOrigins, mergeSeries, originsAfter } from './merge.js'
import { type RefusedTicker, type SourcedBars, type SourcedOddity, seamRefusal, type TickerReport } from './report.js'
import { bytesOf } from './run.js'
import { judgeSeam, jumpsAfter, type Rescaling, rescale, rescaledCount, type SeamWarning } from './seam.js'

/** The changes that a file's bars make, not yet written. */
export interface MergedBars {
  reports: TickerReport[]
  refused: RefusedTicker[]
  oddities: SourcedOddity[]
  changes: Change[]
  /** Tickers whose events pulled from a server are removed. */
  replacedPulled: string[]
  /** What is left to derive once this is written. */
  pending: Pending
}

/** A ticker that bars change. */
export interface Change {
  ticker: string
  bars: number
  /** Derives its record, after reading and merging its bars again if they did not fit into memory. */
  record(): Promise<PackedRecord>
}

/** The most memory for merged bars and records that wait to be written. */
const MAX_BYTES_IN_MEMORY = 64 * 2 ** 20

export interface Choices {
  /** Replace all stored data. */
  replace: boolean
  /** What to do about stored bars on another scale (default: refuse the ticker). */
  scale?: 'rescale' | 'accept_jump' | undefined
  /** An earlier file of this run whose bars of the ticker were refused: bars that come after them are refused too. */
  refusedBefore?: string | undefined
}

/**
 * Merges bars with stored ones, and returns the changes without writing them. A ticker that does not fit is listed in
 * `refused`. Throws BadData for a ticker without bars.
 */
export async function mergeBars(
  store: Store,
  tickers: readonly SourcedBars[],
  choicesFor: (ticker: string) => Choices,
  onTicker: (bars: number) => void,
): Promise<MergedBars> {
  const pending = await Pending.read(store)
  const merged: MergedBars = { reports: [], refused: [], oddities: [], changes: [], replacedPulled: [], pending }
  const pulled = await describePulled(store, tickers)
  const importedAt = new Date().toISOString()
  const reusedMemory = new SeriesMemory()
  let bytesInMemory = 0
  for (const incoming of tickers) {
    const { ticker } = incoming
    const choices = choicesFor(ticker)
    const context = { pulled: pulled.get(ticker) ?? null, isPending: pending.tickers.has(ticker), importedAt }
    // Data that do not fit into memory are merged a second time when they are written.
    const merge = (memory?: SeriesMemory) => mergeTicker(store, incoming, context, choices, memory)
    const result = await merge(reusedMemory)
    onTicker('refused' in result ? 0 : result.report.bars)
    if ('refused' in result) {
      merged.refused.push(result.refused)
      continue
    }
    const { report, oddities, data, firstChanged, isOverwrittenByNext } = result
    merged.reports.push(report)
    merged.oddities.push(...oddities)
    if (pulled.has(ticker)) merged.replacedPulled.push(ticker)
    const isUnchanged = data === null
    if (isUnchanged) continue
    if (data.sector != null) pending.sectors.add(data.sector)
    let record: Change['record']
    if (bytesInMemory > MAX_BYTES_IN_MEMORY) record = mergedAgain(store, merge)
    else if (isOverwrittenByNext) {
      // The next ticker may overwrite these bars, so their record is derived now. Few are new, so it is mostly small.
      const derived = deriveRecord(await withStoredTail(store, data, firstChanged))
      bytesInMemory += recordBytes(derived)
      record = derivedAlready(derived)
    } else {
      bytesInMemory += bytesOf(data.daily)
      record = derivedLater(store, data, firstChanged)
    }
    merged.changes.push({ ticker, bars: report.bars, record })
  }
  return merged
}

/** The memory that a record takes until it is written, in bytes. */
function recordBytes({ bars, daily, weekly }: PackedRecord): number {
  const chunks = [...bars, ...daily.parts, ...weekly.parts].flatMap(part => part.chunks)
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, RECORD_OVERHEAD_BYTES)
}

/** The bytes of a record without its chunks, as measured: its objects, and texts such as hashes. */
const RECORD_OVERHEAD_BYTES = 4_000

// Each makes the function `record` of a change. They are no closures in the loop that merges: these would keep the data
// of its ticker in memory.

function derivedAlready(record: PackedRecord): Change['record'] {
  return async () => record
}

/** Reads the stored data that merged bars need, and derives their record. */
function derivedLater(store: Store, data: TickerData, firstChanged: number): Change['record'] {
  return async () => deriveRecord(await withStoredTail(store, data, firstChanged))
}

/** Merges the bars of a ticker once more, because memory had no room for the first result, and derives their record. */
function mergedAgain(store: Store, merge: () => Promise<Refused | Fit>): Change['record'] {
  return async () => {
    const { data, firstChanged } = (await merge()) as Fit
    return deriveRecord(await withStoredTail(store, data!, firstChanged))
  }
}

type Refused = { refused: RefusedTicker }

interface Fit {
  report: TickerReport
  oddities: SourcedOddity[]
  /** The new record of the ticker; null if nothing changes. */
  data: TickerData | null
  /** The first bar that differs from the stored ones; 0 if all derived data may differ. */
  firstChanged: number
  /** Whether reading the next ticker may overwrite the bars of `data`, because they may be in reused memory. */
  isOverwrittenByNext: boolean
}

/**
 * Merges a file's bars of a ticker with the stored ones, or returns a refusal. Throws BadData for no bars at all.
 * @param pulled the ticker's events from a server, as text; null if there are none
 * @param isPending whether data derived from its facts are not up to date
 * @param reusedMemory takes the merged bars if the file adds few to the stored ones (default: new memory)
 */
async function mergeTicker(
  store: Store,
  incoming: SourcedBars,
  { pulled, isPending, importedAt }: { pulled: string | null; isPending: boolean; importedAt: string },
  choices: Choices,
  reusedMemory?: SeriesMemory,
): Promise<Refused | Fit> {
  const { ticker, source, format, prices } = incoming
  const fileBars = { ticker, source, format, prices, bars: incoming.bars, importedAt }
  if (fileBars.bars.days.length === 0) throw new BadData({ file: source }, `there are no bars of ${ticker} in it`)
  // Stored data that will be replaced are not read: they may be damaged.
  const stored = choices.replace ? null : await readStored(store, fileBars, reusedMemory)
  const refused = refusalBeforeComparison(fileBars, stored, pulled, choices)
  if (refused !== null) return { refused }
  const sheets = await store.sheets(ticker)
  const result = stored === null ? NOTHING_STORED : fitStoredBars(stored, fileBars, sheets, choices)
  if ('refused' in result) return result
  const { rescaling } = result
  const oddities: SourcedOddity[] = result.oddities.map(oddity => ({ ticker, ...oddity }))
  if (stored === null && !choices.replace) oddities.push(...(await otherNameWarnings(store, fileBars)))
  const { report, entry, series, ranges } = mergeWithOrigins(fileBars, result.stored)
  if (rescaling !== null) noteRescaling(report, stored!, rescaling)
  if (pulled !== null) addNote(report, `${ticker}: ${pulled} are taken out`)
  if (report.added + report.replaced === 0 && rescaling === null)
    return { report, oddities, data: null, firstChanged: 0, isOverwrittenByNext: false }
  const data = tickerData(entry, series, sheets)
  const firstChanged = isPending || rescaling !== null ? 0 : firstChangedBar(result.stored, data, ranges)
  const isOverwrittenByNext = reusedMemory !== undefined && stored !== null && stored.seriesWithRoom !== null
  return { report, oddities, data, firstChanged, isOverwrittenByNext }
}

/**
 * Adds the stored data that the derivation of the changed bars needs. Adds nothing if all bars changed, or if these
 * data are missing or damaged.
 * @param firstChanged the first changed bar
 */
async function withStoredTail(store: Store, data: TickerData, firstChanged: number): Promise<TickerData> {
  if (firstChanged === 0) return data
  const { entry, daily } = data
  const since = firstChangedBars(daily.days, firstChanged)
  // The labels of an event, such as its flips, count the events before it: also those of earlier bars are needed.
  const from = {
    daily: firstBarNeededForLabels('daily', since.daily),
    weekly: firstBarNeededForLabels('weekly', since.weekly),
  }
  try {
    const stored = await store.tail(entry.ticker, since, from)
    return stored === null ? data : { ...data, stored }
  } catch (error) {
    if (error instanceof Damaged) return data
    throw error
  }
}

/**
 * The index of the first merged bar whose derived data may differ from the stored ones; 0 if all may differ.
 * @param ranges the runs of merged bars that were stored already, or are new
 */
function firstChangedBar(stored: Stored | null, merged: TickerData, ranges: readonly BarRange[]): number {
  if (stored === null) return 0
  // Another asset class may change all weeks, and new unadjusted closes the figures of all bars.
  const hadUnadjusted = stored.series.unadjustedClose !== undefined
  const hasUnadjusted = merged.daily.unadjustedClose !== undefined
  if (stored.entry.assetClass !== merged.entry.assetClass || hadUnadjusted !== hasUnadjusted) return 0
  const [firstRange] = ranges
  const beginsAsStored = firstRange?.index === 0
  const unchangedBars = beginsAsStored ? firstRange.bars : 0
  return mayChangeShareBasis(merged, unchangedBars) ? 0 : unchangedBars
}

/**
 * Whether a split lies in the new bars or in the week before them. Then the new bars show whether prices jump at it.
 * That decides whether earlier prices count the shares before or after the split, and so all figures per share.
 * @param firstNew the index of the first new bar
 */
function mayChangeShareBasis({ daily: { days }, facts }: TickerData, firstNew: number): boolean {
  const weekStart = countBelow(days, mondayOf(days[firstNew]!))
  const weekBefore = days[weekStart - 1] ?? Number.NEGATIVE_INFINITY
  return facts?.splits.some(({ ex_date }) => ex_date > weekBefore && ex_date <= days.at(-1)!) ?? false
}

/** Bars of a file, and the time of their import. */
type FileBars = SourcedBars & Pick<Origin, 'importedAt'>

/** The stored data of a ticker, and its accepted jumps. */
interface Stored {
  entry: TickerEntry
  series: Series
  jumps: readonly AcceptedJump[]
  /** The same bars, in columns with room for a file's bars after them; null where these have no such room. */
  seriesWithRoom: Series | null
}

/** The most bars of a file that are added to the stored ones without copying these: a daily file has one a ticker. */
const MAX_ADDED_IN_PLACE = 32

/**
 * Reads the stored data of a ticker; null without any. Its bars get room for those of the file if these are few.
 * @param reusedMemory takes bars with such room (default: new memory)
 */
async function readStored(
  store: Store,
  { ticker, bars }: SourcedBars,
  reusedMemory?: SeriesMemory,
): Promise<Stored | null> {
  const incomingCount = bars.days.length
  const hasRoom = incomingCount <= MAX_ADDED_IN_PLACE
  const found = await store.tickerWithBars(ticker, hasRoom ? { extraBars: incomingCount, memory: reusedMemory } : {})
  if (found === null) return null
  const { entry } = found
  const series = hasRoom ? firstBars(found.series, found.series.days.length - incomingCount) : found.series
  return { entry, series, jumps: jumpsOf(entry, series.days), seriesWithRoom: hasRoom ? found.series : null }
}

/**
 * The refusal of a ticker for reasons other than its prices; null if there are none.
 * @param stored null if the ticker is new or will be replaced
 * @param pulled its events from a server, as text; null if there are none
 */
function refusalBeforeComparison(
  { ticker, prices, bars }: SourcedBars,
  stored: Stored | null,
  pulled: string | null,
  { replace, refusedBefore }: Choices,
): RefusedTicker | null {
  const refusal = (reason: RefusedTicker['reason'], message: Words): RefusedTicker => {
    return { ticker, reason, factor: null, date: null, message }
  }
  const howToReplace = (): Words => sentence`${parameter('replace')} starts ${ticker} again, from a file of its own`
  if (pulled !== null && !replace)
    return refusal(
      'pulled',
      sentence`${ticker}: there are ${pulled} here; ${howToReplace()}, and takes them out; ${parameter('db', 'FILE')} keeps both apart`,
    )
  if (stored === null) return null
  const { entry, series } = stored
  if (entry.prices !== prices) {
    const what = `${ticker} is kept with ${entry.prices} prices and this file gives ${prices} ones; a series is one or the other`
    // Raw prices of a file can always be had; adjusted ones only where it has an adjusted close.
    if (entry.prices !== 'raw') return refusal('adjustment', sentence`${what}: ${howToReplace()}`)
    const message = sentence`${what}: ${parameter('prices', 'raw')} takes those, or ${howToReplace()}`
    return { ...refusal('adjustment', message), loadsWith: { prices: 'raw' } }
  }
  const spansAllStoredDays = bars.days[0]! <= series.days[0]! && bars.days.at(-1)! >= series.days.at(-1)!
  if (refusedBefore === undefined || spansAllStoredDays) return null
  const what = `${ticker}: its bars in ${refusedBefore} are refused, and these come after them`
  return refusal('refused_before', sentence`${what}; mend that first, or import the whole history`)
}

/** Warns if a new ticker is already stored with, or without, the suffix `.US` that vendors add; empty if it is not. */
async function otherNameWarnings(store: Store, { ticker, bars }: SourcedBars): Promise<MergedBars['oddities']> {
  const other = ticker.endsWith('.US') ? ticker.slice(0, -3) : `${ticker}.US`
  if ((await store.ticker(other)) === null) return []
  const detail = sentence`${other} is stored, maybe the same under another name: ${parameter('ticker', other)} adds to it`
  return [{ kind: 'other_name', ticker, day: bars.days[0]!, detail }]
}

/** Stored bars adapted to a file's bars; its jumps are those accepted before and now. */
interface Fitted {
  stored: Stored | null
  rescaling: Rescaling | null
  oddities: readonly SeamWarning[]
}

const NOTHING_STORED: Fitted = { stored: null, rescaling: null, oddities: [] }

/**
 * Checks a file's bars against the stored ones. If they do not fit, rescales the stored bars or accepts the jump, as
 * `scale` allows. Returns a refusal where that does not help.
 */
function fitStoredBars(
  stored: Stored,
  { ticker, prices, bars }: SourcedBars,
  sheets: FactSheets,
  { scale }: Choices,
): Fitted | Refused {
  const { series, jumps } = stored
  const splits = (sheets.splits?.rows ?? []).map(row => row.record)
  const context = { prices, splits, jumps }
  const { mismatch, oddities } = judgeSeam(series, bars, context)
  if (mismatch === null) return { stored, rescaling: null, oddities }
  const counts = { stored: series.days.length, incoming: bars.days.length }
  if (mismatch.reason === 'another_instrument') return { refused: seamRefusal(ticker, mismatch, counts) }
  const rescaled = rescale(series, mismatch)
  const judgedAgain = judgeSeam(rescaled, bars, context)
  const canRescale = judgedAgain.mismatch === null
  if (scale === 'rescale' && canRescale) {
    // The columns with room have the old scale.
    const rescaledStored = { ...stored, series: rescaled, seriesWithRoom: null }
    return { stored: rescaledStored, rescaling: mismatch, oddities: judgedAgain.oddities }
  }
  if (scale === 'accept_jump')
    return { stored: { ...stored, jumps: [...jumps, ...mismatch.jumps] }, rescaling: null, oddities }
  return { refused: seamRefusal(ticker, mismatch, counts, { canRescale }) }
}

/** Adds to a ticker's report the factor of its stored bars. */
function noteRescaling(report: TickerReport, { series }: Stored, rescaling: Rescaling): void {
  const { scale, changesShares } = rescaling
  const { by, over } = scale
  report.rescaled = by / over
  const volumes = changesShares ? ', their volumes divided by it' : ''
  const factor = Number(report.rescaled.toPrecision(6))
  const count = rescaledCount(series, rescaling)
  addNote(report, `${report.ticker}: ${count} stored bars are multiplied by ${factor}${volumes}`)
}

function addNote(report: TickerReport, note: string): void {
  report.note = [report.note, note].filter(Boolean).join('. ')
}

/** A ticker's bars up to a day, and what is left to derive. Throws InvalidParameter if no bar is that old. */
export async function cutBars(
  store: Store,
  entry: TickerEntry,
  after: Day,
): Promise<{ changed: TickerData; removed: number; pending: Pending }> {
  const { ticker, first } = entry
  const allBars = (await store.bars(ticker))!
  const keptBars = countUpTo(allBars.days, after)
  if (keptBars === 0) {
    const value = formatDay(after)
    const allowed = `a day from ${formatDay(first)} on, the first bar of ${ticker}`
    const what = `every bar of ${ticker} is after ${value}; without a date the whole ticker is removed.`
    throw new InvalidParameter(what, { param: 'after', value, allowed })
  }
  const pending = await Pending.read(store)
  pending.restartStoppedImports()
  const cut = { ...entry, bars: keptBars, last: allBars.days[keptBars - 1]! }
  const changed = tickerData(cut, firstBars(allBars, keptBars), await store.sheets(ticker))
  if (changed.sector != null) pending.sectors.add(changed.sector)
  return { changed, removed: allBars.days.length - keptBars, pending }
}

/** A ticker's data under another name, and what is left to derive. `records` is empty for a ticker without bars. */
export async function renamedData(
  store: Store,
  ticker: string,
  name: string,
): Promise<{ records: TickerData[]; sheets: TickerSheet[]; pending: Pending }> {
  const pending = await Pending.read(store)
  pending.restartStoppedImports()
  const facts = await store.sheets(ticker)
  // A record is written without the fields that compare it with its sector: they are derived afterwards.
  pending.addSectorOf(securityOf(facts))
  if (pending.tickers.delete(ticker)) pending.tickers.add(name)
  const sheets = FACT_KINDS.flatMap((kind): TickerSheet[] => {
    const sheet = facts[kind]
    return sheet === undefined ? [] : [{ ticker: name, kind, sheet }]
  })
  const found = await store.tickerWithBars(ticker)
  if (found === null) return { records: [], sheets, pending }
  const data = tickerData({ ...found.entry, ticker: name }, found.series, facts)
  return { records: [data], sheets, pending }
}

/**
 * Whether the new ticker is a copy of the old one: same bars and facts. A rename leaves such copies if it is stopped
 * between two database servers. A ticker with events pulled from a server is none: only others can be renamed.
 */
export async function hasSameData(store: Store, oldTicker: string, newTicker: string): Promise<boolean> {
  const contentOf = async (ticker: string) => {
    const entry = await store.ticker(ticker)
    const comparableEntry = entry === null ? null : { ...entry, ticker: '' }
    return [comparableEntry, await store.bars(ticker), await store.sheets(ticker)]
  }
  const pulledPages = await store.pages.entries(newTicker)
  return pulledPages.length === 0 && isDeepStrictEqual(await contentOf(oldTicker), await contentOf(newTicker))
}

/** A ticker with changed bars and its facts, which give its asset class and sector. Only usable facts are kept. */
function tickerData(entry: TickerEntry, daily: Series, sheets: FactSheets): TickerData {
  const security = securityOf(sheets)
  const entryNow = security === null ? entry : { ...entry, assetClass: security.asset_class }
  const facts = usableFacts(sheets)
  return { entry: entryNow, daily, facts, sector: facts === null ? null : sectorKey(security) }
}

/** The events of each ticker that were pulled from a server, as text; tickers without any are absent. */
async function describePulled(store: Store, tickers: readonly SourcedBars[]): Promise<Map<string, string>> {
  const onlyTicker = tickers.length === 1 ? tickers[0]!.ticker : undefined
  const pulledByTicker = new Map<string, { events: number; url: string }>()
  for (const { ticker, events, url } of await store.pages.entries(onlyTicker)) {
    const pulled = pulledByTicker.get(ticker)
    if (pulled === undefined) pulledByTicker.set(ticker, { events, url })
    else pulled.events += events
  }
  const texts = new Map<string, string>()
  for (const [ticker, { events, url }] of pulledByTicker)
    texts.set(ticker, `${events} events of it that were pulled from ${url}`)
  return texts
}

/**
 * Merges a file's bars with the stored ones. The ticker's new `entry` has the origins of its bars: runs from one import
 * each. `ranges` are the runs of merged bars that were stored already, or are new.
 */
function mergeWithOrigins(
  { ticker, prices, bars, source, format, importedAt }: FileBars,
  stored: Stored | null,
): { report: TickerReport; entry: TickerEntry; series: Series; ranges: readonly BarRange[] } {
  const { series, ranges, ...counts } = mergeSeries(
    stored?.series ?? emptySeries('daily', 0),
    bars,
    stored?.seriesWithRoom,
  )
  const first = series.days[0]!
  const last = series.days.at(-1)!
  const dates = { first: formatDay(first), last: formatDay(last) }
  const report: TickerReport = { ticker, prices, ...counts, bars: series.days.length, ...dates }
  const unknownCloses = series.unadjustedClose?.filter(Number.isNaN).length ?? 0
  if (unknownCloses > 0)
    addNote(
      report,
      `${ticker}: the close before adjustment is unknown on ${unknownCloses} of its bars, so earnings have no yield there; import the whole history with both closes`,
    )
  const jumps = jumpsAfter(stored?.jumps ?? [], series, bars)
  // An origin that begins after an accepted jump has its factor.
  const jumpFactors = new Map(jumps.map(({ day, factor }) => [series.days.indexOf(day), factor]))
  const stamp = { source, format, importedAt }
  const earlier = stored === null ? [] : originsOf(stored.entry)
  const origins = limitOrigins(originsAfter(earlier, ranges, jumpFactors, stamp))
  const entry: TickerEntry = {
    ticker,
    assetClass: stored?.entry.assetClass ?? null,
    prices,
    bars: series.days.length,
    first,
    last,
    ...stamp,
  }
  if (origins.length > 1) entry.origins = origins
  return { report, entry, series, ranges }
}
