import type { FactsReport, SheetReport } from '../../local/import-report.js'
import { FACT_KINDS } from '../../model/facts.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import type { Block, Cell } from '../render/table.js'

export function factsDocument(report: FactsReport): Row {
  const { holds, file, format, dialect, header, rows, facts, without_bars, doubts, rejected, remarks } = report
  return { holds, file, format, dialect, header, rows, facts, without_bars, doubts, rejected, remarks }
}

export function factsRows({ file, format, facts }: FactsReport): Row[] {
  return facts.map(sheet => ({ file, format, ...sheet }))
}

/** What became of a file of facts, a line a kind; `notes` follow what the file itself says. */
export function factsTable({ facts }: FactsReport): NonNullable<Block['table']> {
  return {
    columns: [
      { title: 'KIND' },
      { title: 'TICKERS', align: 'right' },
      { title: 'ADDED', align: 'right' },
      { title: 'REPLACED', align: 'right', spare: 1 },
      { title: 'SAME', align: 'right', spare: 2 },
      { title: 'RECORDS', align: 'right', spare: 3 },
      { title: 'FIRST', spare: 5 },
      { title: 'LAST', spare: 4 },
    ],
    rows: FACT_KINDS.flatMap(kind => {
      const sheets = facts.filter(sheet => sheet.kind === kind)
      return sheets.length === 0 ? [] : [kindLine(kind, sheets)]
    }),
  }
}

/** What was left out or assumed, each once, with its first places. */
export function remarkLines({ file, remarks, without_bars, doubts }: FactsReport): string[] {
  const lines = remarks.map(({ what, count, first }) => {
    const often = count === 1 ? '' : ` (${whole(count)} times)`
    const places = first.map(place => (place.startsWith(`${file}:`) ? `line ${place.slice(file.length + 1)}` : place))
    return `${what}${often}${places.length === 0 ? '' : `; first: ${places.join(', ')}${count > places.length ? ' …' : ''}`}`
  })
  if (without_bars > 0) lines.push(`${count(without_bars, 'ticker')} without bars yet: no field stands on their facts`)
  return [...lines, ...doubts.map(doubt => `warning: ${doubt}`)]
}

function kindLine(kind: string, sheets: readonly SheetReport[]): Cell[] {
  const sum = (key: 'added' | 'replaced' | 'unchanged' | 'records'): number =>
    sheets.reduce((total, sheet) => total + sheet[key], 0)
  const firsts = sheets.flatMap(({ first }) => first ?? []).sort()
  const lasts = sheets.flatMap(({ last }) => last ?? []).sort()
  const counts = [sheets.length, sum('added'), sum('replaced'), sum('unchanged'), sum('records')]
  return [kind, ...counts.map(whole), firsts[0] ?? '', lasts.at(-1) ?? '']
}
