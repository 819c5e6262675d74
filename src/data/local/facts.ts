import { type Day, dateOf, formatDay } from '../../core/model/day.js'
import {
  FACT_COLUMNS,
  FACT_KINDS,
  type FactKind,
  type FactRecord,
  type FactSheet,
  type FactSheets,
  knownOn,
  type Security,
  securityOf,
  usableFrom,
} from '../../core/model/facts.js'
import { entitleExport } from '../../core/tiers.js'
import type { Cache } from './cache.js'
import { countedFacts } from './view.js'

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

/** A record with its columns, and where it came from. Splits count from their date on, securities are undated. */
export interface KnownFact extends Readonly<Record<string, string | number | null>> {
  kind: FactKind
  known: string | null
  /** First date on whose bar it counts. */
  usable_from: string | null
  file: string
  format: string
  imported_at: string
}

/** Facts known by the cache's as-of day. `kind` chooses one kind. Throws NotFound for a ticker without bars and facts. */
export async function facts(cache: Cache, { ticker, kind }: { ticker: string; kind?: FactKind }): Promise<KnownFacts> {
  const sheets = await cache.store.sheets(ticker)
  if (Object.keys(sheets).length === 0 && (await cache.store.ticker(ticker)) === null)
    throw await cache.unknown(ticker, 'no bars and no facts', await cache.store.factTickers())
  const kinds = FACT_KINDS.filter(name => kind === undefined || name === kind)
  const records = kinds.flatMap(name => recordsOf(name, sheets, cache.asOf))
  return {
    schema: 'bands.facts/1',
    ticker,
    as_of: dateOf(cache.asOf),
    security: knownSecurity(securityOf(sheets), cache.asOf),
    counted: countedFacts(sheets) !== null,
    kinds: kinds.map(name => summary(name, records)).filter(({ records: count }) => count > 0),
    records,
  }
}

function recordsOf(kind: FactKind, sheets: FactSheets, asOf: Day | null): KnownFact[] {
  const sheet = sheets[kind] as FactSheet | undefined
  if (sheet === undefined) return []
  return sheet.rows
    .map(({ source, record }) => ({ record, from: sheet.sources[source]!, known: knownOn(kind, record) }))
    .filter(({ known }) => asOf === null || known === null || known <= asOf)
    .map(({ record, from, known }) => ({
      kind,
      ...columnsOf(kind, kind === 'securities' ? knownBy(record as Security, asOf) : record),
      known: dateOf(known),
      usable_from: known === null ? null : formatDay(usableOn(kind, record, known)),
      ...from,
    }))
}

/** The end of its trading is known on that day. */
function knownBy(security: Security, asOf: Day | null): Security {
  if (asOf === null || security.delisted === undefined || security.delisted <= asOf) return security
  const { delisted, delisting_price, delisting_return, ...what } = security
  return what
}

function knownSecurity(security: Security | null, asOf: Day | null): KnownFacts['security'] {
  if (security === null) return null
  const { delisted, ...what } = knownBy(security, asOf)
  return { ...what, ...(delisted !== undefined && { delisted: formatDay(delisted) }) }
}

function usableOn(kind: FactKind, record: FactRecord, known: Day): Day {
  return kind === 'splits' ? known : usableFrom({ ...(record as object), known })
}

function columnsOf(kind: FactKind, record: FactRecord): Record<string, string | number | null> {
  const values = record as unknown as Record<string, string | number | null>
  return Object.fromEntries(
    FACT_COLUMNS[kind].map(({ name, holds }) => [
      name,
      holds === 'date' && values[name] != null ? formatDay(values[name] as number) : (values[name] ?? null),
    ]),
  )
}

function summary(kind: FactKind, all: readonly KnownFact[]): KindSummary {
  const records = all.filter(record => record.kind === kind)
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
  const all = await cache.store.factTickers()
  for (const ticker of tickers) if (!all.includes(ticker)) throw await cache.unknown(ticker, 'no facts', all)
  for (const ticker of tickers.length === 0 ? all : [...new Set(tickers)].sort()) {
    const sheets = await cache.store.sheets(ticker)
    for (const kind of FACT_KINDS) {
      const stated = new Map<string, StatedFigures>()
      for (const record of recordsOf(kind, sheets, cache.asOf)) {
        const values = FACT_COLUMNS[kind].map(({ name }) => record[name] ?? null)
        const number = kind === 'reports' ? fileOf(record, JSON.stringify(values), stated) : 1
        yield { file: number === 1 ? kind : `${kind}_${number}`, kind, values: [ticker, ...values] }
      }
    }
  }
}

/** The figures of a report in the present file, by session. */
interface StatedFigures {
  number: number
  figures: Map<string | number | null, string>
}

/** The file number for some figures of a report; later figures never get an earlier file. */
function fileOf(
  { period_end, known, usable_from, session }: KnownFact,
  figures: string,
  stated: Map<string, StatedFigures>,
): number {
  const report = `${period_end} ${known} ${usable_from}`
  let at = stated.get(report) ?? { number: 1, figures: new Map() }
  const said = at.figures.get(session!)
  if (said !== undefined && said !== figures) at = { number: at.number + 1, figures: new Map() }
  at.figures.set(session!, figures)
  stated.set(report, at)
  return at.number
}
