import { BadData } from '../errors.js'
import { formatDay } from '../model/day.js'
import { securityOf } from '../model/fact-sheet.js'
import type { Adjustment, Series } from '../model/series.js'
import type { Store, TickerEntry } from '../store/store.js'
import { Behind } from './behind.js'
import type { Kept } from './derive.js'
import { countedFacts, sectorKey } from './dossier.js'
import type { SourcedBars, TickerReport } from './import-report.js'
import { emptied, merge } from './merge.js'

/** What a file's bars change, not yet written. */
export interface TakenBars {
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
    const { report, series, entry } = await mergeOne(store, incoming, replace)
    taken.reports.push(report)
    if (pulled !== null) {
      taken.unpulled.push(incoming.ticker)
      report.note = [report.note, `${incoming.ticker}: ${pulled}`].filter(Boolean).join('. ')
    }
    if (report.added + report.replaced === 0) continue
    const sheets = await store.sheets(incoming.ticker)
    const security = securityOf(sheets)
    const facts = countedFacts(sheets)
    const assetClass = security === null ? (entry?.assetClass ?? null) : security.asset_class
    taken.changed.push({ entry: entryFor(incoming, series, assetClass), bars: series, facts })
    const sector = sectorKey(security)
    if (sector !== null && facts !== null) taken.behind.sectors.add(sector)
  }
  return taken
}

/** What goes to make room for bars, in words; null where nothing was pulled. Throws BadData unless it may. */
async function checkPulled(store: Store, { ticker, source }: SourcedBars, replace: boolean): Promise<string | null> {
  const entries = await store.pulled.entries(ticker)
  const [first] = entries
  if (first === undefined) return null
  const events = entries.reduce((sum, entry) => sum + entry.events, 0)
  const what = `${events} events of it that were pulled from ${first.url}`
  if (replace) return `${what} are taken out`
  const remedy = '--replace takes them out, --db FILE keeps both apart'
  throw new BadData({ file: source }, `${ticker} has bars in it, and there are ${what} here; ${remedy}`)
}

async function mergeOne(
  store: Store,
  incoming: SourcedBars,
  replace: boolean,
): Promise<{ report: TickerReport; series: Series; entry: TickerEntry | null }> {
  const { ticker, prices, bars, source } = incoming
  if (bars.days.length === 0) throw new BadData({ file: source }, `there are no bars of ${ticker} in it`)
  const entry = await store.ticker(ticker)
  const present = entry === null || replace ? null : await store.bars(ticker)
  if (entry !== null && present !== null && entry.prices !== prices)
    throw mixedPrices(source, ticker, entry.prices, prices)
  const { series, rescaled, ...counts } = merge(present ?? emptied(bars), bars)
  const report: TickerReport = { ticker, prices, ...counts, bars: series.days.length, ...range(series) }
  if (rescaled !== null) report.note = rescaledNote(ticker, rescaled, series.days.length - bars.days.length)
  const unknown = series.unadjustedClose?.filter(Number.isNaN).length ?? 0
  if (unknown > 0) report.note = [report.note, unpaidNote(ticker, unknown)].filter(Boolean).join('. ')
  return { report, series, entry: replace ? null : entry }
}

/** The entry of a series that has just taken bars in. */
function entryFor(
  { ticker, prices, source, format }: SourcedBars,
  series: Series,
  assetClass: TickerEntry['assetClass'],
): TickerEntry {
  return {
    ticker,
    assetClass,
    prices,
    bars: series.days.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    source,
    format,
    importedAt: new Date().toISOString(),
  }
}

function mixedPrices(file: string, ticker: string, kept: Adjustment, given: Adjustment): BadData {
  const what = `${ticker} is kept with ${kept} prices and this file gives ${given} ones; a series is one or the other`
  // Raw prices of a file can always be had; adjusted ones only where it has an adjusted close.
  const raw = kept === 'raw' ? '--prices raw, or ' : ''
  return new BadData({ file }, `${what}: use ${raw}--replace to start ${ticker} again from this file`)
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
