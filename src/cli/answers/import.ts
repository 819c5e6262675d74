import type { BadData } from '../../errors.js'
import type { BarsReport, FileReport } from '../../local/import-report.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import type { Block, Table } from '../render/table.js'
import { factsDocument, factsRows, factsTable, remarkLines } from './import-facts.js'

interface Imported {
  report: FileReport
  /** Where its bad rows are kept. */
  rejects: string | null
}

/** More tickers of one file are summed up instead of listed. */
const LISTED = 30

/** What was imported, file by file, and what was not; `latest` is the answer about the last file alone. */
export interface ImportAnswer extends Answer {
  add(report: FileReport, rejects: string | null): void
  refuse(error: BadData): void
  refused(): number
  latest(): Answer
}

export function importAnswer(): ImportAnswer {
  const done: Imported[] = []
  const refused: BadData[] = []
  return {
    ...answerOf(done, refused),
    add: (report, rejects) => done.push({ report, rejects }),
    refuse: error => refused.push(error),
    refused: () => refused.length,
    latest: () => answerOf(done.slice(-1), []),
  }
}

function answerOf(files: readonly Imported[], refused: readonly BadData[]): Answer {
  return {
    document: () => ({
      schema: 'bands.import/1',
      files: files.map(document),
      refused: refused.map(({ message, place }) => ({ ...place, message })),
    }),
    columns: [
      ...['file', 'format', 'ticker', 'prices', 'kind', 'added', 'replaced', 'unchanged', 'bars', 'records'],
      ...['first', 'last', 'note'],
    ],
    rows: () => files.flatMap(rows),
    blocks: () => files.map(block),
  }
}

function document({ report, rejects }: Imported): Row {
  if (report.holds === 'facts') return { ...factsDocument(report), rejects }
  const { holds, file, format, dialect, header, rows, adjustmentNote, tickers, rejected, warnings } = report
  return {
    holds,
    file,
    format,
    dialect,
    header,
    rows,
    adjustment: adjustmentNote,
    tickers,
    rejected,
    rejects,
    warnings,
  }
}

function rows({ report }: Imported): Row[] {
  if (report.holds === 'facts') return factsRows(report)
  const { file, format } = report
  return report.tickers.map(ticker => ({ file, format, ...ticker }))
}

function block({ report, rejects }: Imported): Block {
  const { file, format, dialect, rows } = report
  const read = Object.entries(dialect)
    .map(([what, value]) => `${what} ${value}`)
    .join(', ')
  const told =
    report.holds === 'facts'
      ? remarkLines(report)
      : [...report.tickers.flatMap(ticker => ticker.note ?? []), ...warningLines(report)]
  return {
    title: [file, format, count(rows, 'row'), ...(report.holds === 'facts' ? [] : [report.adjustmentNote])],
    table: report.holds === 'facts' ? factsTable(report) : tickerTable(report),
    notes: [read, ...told, ...rejectLines(report, rejects)],
  }
}

function tickerTable({ tickers }: BarsReport): Table {
  const sum = (key: 'added' | 'replaced' | 'unchanged' | 'bars'): number =>
    tickers.reduce((total, ticker) => total + ticker[key], 0)
  const all = {
    ticker: count(tickers.length, 'ticker'),
    prices: [...new Set(tickers.map(ticker => ticker.prices))].join(', '),
    added: sum('added'),
    replaced: sum('replaced'),
    unchanged: sum('unchanged'),
    bars: sum('bars'),
    first: tickers.map(ticker => ticker.first).sort()[0] ?? '',
    last:
      tickers
        .map(ticker => ticker.last)
        .sort()
        .at(-1) ?? '',
  }
  return {
    columns: [
      { title: 'TICKER' },
      { title: 'PRICES', spare: 1 },
      { title: 'ADDED', align: 'right' },
      { title: 'REPLACED', align: 'right', spare: 2 },
      { title: 'SAME', align: 'right', spare: 3 },
      { title: 'BARS', align: 'right', spare: 4 },
      { title: 'FIRST', spare: 6 },
      { title: 'LAST', spare: 5 },
    ],
    rows: (tickers.length > LISTED ? [all] : tickers).map(({ ticker, prices, first, last, ...counts }) => [
      ticker,
      prices,
      ...[counts.added, counts.replaced, counts.unchanged, counts.bars].map(whole),
      first,
      last,
    ]),
  }
}

function warningLines({ warnings }: BarsReport): string[] {
  return warnings.map(({ kind, count: found, first: [first] }) => {
    const where = first === undefined ? '' : `, first at ${first.place}: ${first.ticker} ${first.date} ${first.detail}`
    return `warning: ${kind.replaceAll('_', ' ')} ${found === 1 ? 'once' : `${whole(found)} times`}${where}`
  })
}

function rejectLines({ file, rejected }: FileReport, rejects: string | null): string[] {
  if (rejected.length === 0) return []
  const first = rejected.slice(0, 3).map(({ line, column, reason }) => `  ${file}:${line}:${column}: ${reason}`)
  const verb = rejected.length === 1 ? 'is' : 'are'
  return [`${count(rejected.length, 'bad row')} ${verb} not loaded, and kept in ${rejects}; the first:`, ...first]
}
