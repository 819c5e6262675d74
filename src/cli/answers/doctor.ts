import type { Diagnosis } from '../../local/doctor.js'
import type { Answer } from '../output.js'
import type { Screen } from '../render/layout.js'
import { printable } from '../render/printable.js'
import { type Block, type Cell, textOf } from '../render/table.js'
import { wrap } from '../render/wrap.js'

/** One line a check; what is not well has its remedy beneath it. */
export function doctorAnswer({ schema, outcome, checks }: Diagnosis): Answer {
  const rows = checks.map(({ name, outcome: found, detail, remedy }) => ({
    check: name,
    outcome: found,
    detail,
    remedy,
  }))
  return {
    document: () => ({ schema, outcome, checks }),
    columns: ['check', 'outcome', 'detail', 'remedy'],
    rows: () => rows,
    blocks: screen => (screen.words ? [plain(rows)] : [{ drawing: rows.flatMap(row => drawn(row, screen)) }]),
  }
}

interface CheckRow {
  check: string
  outcome: 'ok' | 'warn' | 'fail'
  detail: string
  remedy: string | null
}

function plain(rows: readonly CheckRow[]): Block {
  return {
    table: {
      columns: [{ title: 'CHECK' }, { title: 'OUTCOME' }, { title: 'DETAIL' }, { title: 'REMEDY' }],
      rows: rows.map((row): Cell[] => [row.check, row.outcome, row.detail, row.remedy ?? '']),
    },
  }
}

function drawn({ check, outcome, detail, remedy }: CheckRow, { width, paint }: Screen): string[] {
  const sign: Cell = {
    text: outcome.padEnd(4),
    tone: outcome === 'ok' ? 'good' : outcome === 'fail' ? 'bad' : 'strong',
  }
  const head = `${paint[sign.tone](textOf(sign))}  ${check}`
  const texts = remedy === null ? [detail] : [detail, `try: ${remedy}`]
  // Details stand beside the name, and on a narrow terminal below it, where a path has more room.
  const indent = width < 60 ? 6 : 20
  const lines = texts.flatMap(text => wrap(printable(text), width - indent)).map(line => ' '.repeat(indent) + line)
  if (width < 60) return [head, ...lines]
  return [head + (lines[0] ?? '').slice(6 + check.length), ...lines.slice(1)]
}
