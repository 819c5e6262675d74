import { type Day, dateOf, formatDay } from '../../core/model/day.js'
import {
  FACT_COLUMNS,
  FACT_KINDS,
  type FactKind,
  type FactRecord,
  type FactSheet,
  type FactSheets,
  firstUsableDay,
  knownOn,
  type Security,
  securityOf,
} from '../../core/model/facts.js'
import { entitleExport } from '../../core/tiers.js'
import type { Cache } from './cache.js'
import { usableFacts } from './view.js'

/** The facts of a ticker, since when they are known, and their files. */
export interface KnownFacts {
  schema: 'bands.facts/1'
  ticker: string
  /** null: everything that is loaded, also what bears a later date than the newest bar. */
  as_of: string | null
  security: (Omit<Security, 'delisted'> & { delisted?: string }) | null
  /** Whether fields use these facts; never for crypto and funds. */
  counted: boolean
  kinds: KindSummary[]
  /** By kind, then date. */
  records: KnownFact[]
}

interface KindSummary {
  kind: FactKind
  records: number
  /** First and last date on which a record became known; null for undated kinds. */
  first_known: string | null
  last_known: string | null
  files: string[]
}

/** A record with its columns and its file. Splits count from their date on, securities are undated. */
export interface KnownFact extends Readonly<Record<string, string | number | null>> {
  kind: FactKind
  known: string | null
  /** First date on whose bar it counts. */
  usable_from: string | null
  file: string
  format: string
  imported_at: string
}

/**
 * Facts known by the cache's as-of day, of all kinds or of one. `counted` says whether fields use them: they do for
 * stocks with dated facts, but not for crypto and funds. Throws NotFound for a ticker without bars and facts.
 */
export async function knownFacts(
  cache: Cache,
  { ticker, kind }: { ticker: string; kind?: FactKind },
): Promise<KnownFacts> {
  const sheets = await cache.store.sheets(ticker)
  if (Object.keys(sheets).length === 0 && (await cache.store.ticker(ticker)) === null)
    throw await cache.unknownTicker(ticker, 'no bars and no facts', await cache.store.factTickers())
  const kinds = FACT_KINDS.filter(name => kind === undefined || name === kind)
  const records = kinds.flatMap(name => knownRecords(name, sheets, cache.asOf))
  return {
    schema: 'bands.facts/1',
    ticker,
    as_of: dateOf(cache.asOf),
    security: knownSecurity(securityOf(sheets), cache.asOf),
    counted: usableFacts(sheets) !== null,
    kinds: kinds.map(name => summarizeKind(name, records)).filter(({ records: count }) => count > 0),
    records,
  }
}

/** The records of one kind that were known by a day; null: all of them. */
function knownRecords(kind: FactKind, sheets: FactSheets, asOf: Day | null): KnownFact[] {
  const sheet = sheets[kind] as FactSheet | undefined
  if (sheet === undefined) return []
  const records: KnownFact[] = []
  for (const { source, record } of sheet.rows) {
    const known = knownOn(kind, record)
    if (asOf !== null && known !== null && known > asOf) continue
    records.push({
      kind,
      ...columnValues(kind, kind === 'securities' ? securityKnownOn(record as Security, asOf) : record),
      known: dateOf(known),
      usable_from: known === null ? null : formatDay(usableFromDay(kind, record, known)),
      ...sheet.sources[source]!,
    })
  }
  return records
}

/** A security as known on a day: without a delisting that is later. */
function securityKnownOn(security: Security, asOf: Day | null): Security {
  if (asOf === null || security.delisted === undefined || security.delisted <= asOf) return security
  const { delisted, delisting_price, delisting_return, ...others } = security
  return others
}

/** A security as known on a day, with the date of a delisting as text; null without a security. */
function knownSecurity(security: Security | null, asOf: Day | null): KnownFacts['security'] {
  if (security === null) return null
  const { delisted, ...others } = securityKnownOn(security, asOf)
  return delisted === undefined ? others : { ...others, delisted: formatDay(delisted) }
}

/** The first day on which a record counts. @param known the day on which it became known */
function usableFromDay(kind: FactKind, record: FactRecord, known: Day): Day {
  return kind === 'splits' ? known : firstUsableDay({ ...(record as object), known })
}

/** The values of a record by column, dates as text. */
function columnValues(kind: FactKind, record: FactRecord): Record<string, string | number | null> {
  const stored = record as unknown as Record<string, string | number | null>
  const values: Record<string, string | number | null> = {}
  for (const { name, holds } of FACT_COLUMNS[kind]) {
    const value = stored[name] ?? null
    values[name] = holds === 'date' && value !== null ? formatDay(value as number) : value
  }
  return values
}

/** The number of records of one kind, the dates on which they became known, and their files. */
function summarizeKind(kind: FactKind, allRecords: readonly KnownFact[]): KindSummary {
  const records = allRecords.filter(record => record.kind === kind)
  const dates = records.flatMap(({ known }) => known ?? []).sort()
  return {
    kind,
    records: records.length,
    first_known: dates[0] ?? null,
    last_known: dates.at(-1) ?? null,
    files: [...new Set(records.map(({ file }) => file))],
  }
}

/** A record as a line of the project's own files. */
export interface FactLine {
  /** The file that it belongs into, without its ending. */
  file: string
  kind: FactKind
  /** The ticker, then the columns of the kind. */
  values: (string | number | null)[]
}

/**
 * Every record known by the as-of day, by ticker and kind, each in order, so that importing the files restores them. If
 * two reports of one session differ, the later one goes into a file that is read later, because one file must not
 * contain both. File names ascend. Throws NotFound for a ticker without facts.
 */
export async function* exportFacts(cache: Cache, tickers: readonly string[] = []): AsyncGenerator<FactLine> {
  entitleExport(cache.tier)
  const tickersWithFacts = await cache.store.factTickers()
  for (const ticker of tickers)
    if (!tickersWithFacts.includes(ticker)) throw await cache.unknownTicker(ticker, 'no facts', tickersWithFacts)
  for (const ticker of tickers.length === 0 ? tickersWithFacts : [...new Set(tickers)].sort()) {
    const sheets = await cache.store.sheets(ticker)
    for (const kind of FACT_KINDS) {
      const filesByReport = new Map<string, ReportFile>()
      for (const record of knownRecords(kind, sheets, cache.asOf)) {
        const values = FACT_COLUMNS[kind].map(({ name }) => record[name] ?? null)
        const number = kind === 'reports' ? fileNumber(record, JSON.stringify(values), filesByReport) : 1
        yield { file: number === 1 ? kind : `${kind}_${number}`, kind, values: [ticker, ...values] }
      }
    }
  }
}

/** The file that the figures of a report go into, and the figures in it by session. */
interface ReportFile {
  number: number
  figures: Map<string | number | null, string>
}

/**
 * The number, from 1, of the file that a report's figures go into. One file must not contain different figures of one
 * report and session (before or after trading), so the later ones go into the next file.
 * @param filesByReport the last file of each report; changed here
 */
function fileNumber(
  { period_end, known, usable_from, session }: KnownFact,
  figures: string,
  filesByReport: Map<string, ReportFile>,
): number {
  const report = `${period_end} ${known} ${usable_from}`
  let file = filesByReport.get(report) ?? { number: 1, figures: new Map() }
  const earlierFigures = file.figures.get(session!)
  if (earlierFigures !== undefined && earlierFigures !== figures) file = { number: file.number + 1, figures: new Map() }
  file.figures.set(session!, figures)
  filesByReport.set(report, file)
  return file.number
}
