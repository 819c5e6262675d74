import { quoted, remedy } from '../../../core/errors.js'
import { rowChecksum } from '../content.js'
import type { PullRun } from '../pages.js'
import { type Damage, Damaged, UNDERIVED } from '../store.js'
import type { Session } from './connection.js'

/**
 * The rows about a database as a whole, each with a hash over key and value:
 *  - definitions: the version of the definitions that derived its events
 *  - unsettled: the tickers and sectors still to derive, a JSON list
 *  - pull: the unfinished pull, JSON
 *  - writer: the mark of the row of the same name (writer-lock.ts)
 * A question that reads one row checks all. The next command that writes replaces a damaged row. It derives all events
 * again if the row may have marked some as out of date.
 */

interface MetaRow {
  key: string
  value: string
  hash: string
}

const SELECT_ROWS = 'SELECT key, value, hash FROM meta ORDER BY key'
const PUT_ROW = 'INSERT OR REPLACE INTO meta (key, value, hash) VALUES (?, ?, ?)'

export class Meta {
  readonly #db: Session
  /** The text of the rows that were last found sound, so that unchanged rows are not hashed again. */
  #soundRows = ''

  constructor(db: Session) {
    this.#db = db
  }

  /** A value. Throws Damaged if any row is damaged: a damaged key may have been the requested one. */
  get(key: 'definitions' | 'unsettled' | 'pull'): string | undefined {
    const rows = this.#db.all<MetaRow>(SELECT_ROWS)
    const text = JSON.stringify(rows)
    if (text !== this.#soundRows) {
      // The writer's row only says who was writing.
      const [damage] = damagesIn(rows.filter(row => row.key !== 'writer'))
      if (damage !== undefined) throw new Damaged(this.#db.location, damage)
      this.#soundRows = text
    }
    return rows.find(row => row.key === key)?.value
  }

  set(key: string, value: string): void {
    putMeta(this.#db, key, value)
  }

  pullRun(): PullRun | null {
    const value = this.get('pull')
    return value === undefined ? null : (JSON.parse(value) as PullRun)
  }

  setPullRun(run: PullRun | null): void {
    if (run === null) this.#db.run("DELETE FROM meta WHERE key = 'pull'")
    else this.set('pull', JSON.stringify(run))
  }
}

/** A session, or a file during a schema step. */
interface StatementRunner {
  run(sql: string, ...values: string[]): number
}

export function putMeta(db: StatementRunner, key: string, value: string): void {
  db.run(PUT_ROW, key, value, metaHash({ key, value }))
}

function metaHash({ key, value }: Omit<MetaRow, 'hash'>, stored?: string): string {
  return rowChecksum({ key, value }, stored)
}

/** The damages of rows whose hash differs. */
function damagesIn(rows: readonly MetaRow[]): Damage[] {
  return rows.filter(isDamaged).map(({ key }) => ({
    ticker: '',
    what: `the entry ${quoted(key)} of the table meta is not what was written`,
    mend: remedy('rebuild'),
  }))
}

const isDamaged = (row: MetaRow): boolean => metaHash(row, row.hash) !== row.hash

/** The damages of the rows of `meta`, and of the row of the table `writer` if it differs from its mark in `meta`. */
export function metaDamages(db: Session): Damage[] {
  const rows = db.all<MetaRow>(SELECT_ROWS)
  const writer = db.get<WriterRow>('SELECT pid, host, started FROM writer')
  const mark = rows.find(({ key }) => key === 'writer')?.value
  // The row does not have the boot (an id of the machine's last start), so it is taken from the mark.
  const isWriterSound = writer === undefined || mark === writerMark(writer, bootIn(mark))
  const damages = damagesIn(rows)
  if (!isWriterSound)
    damages.push({ ticker: '', what: 'who is writing (writer) is not what was written', mend: remedy('unlock') })
  return damages
}

interface WriterRow {
  pid: number
  host: string
  started: string
}

/** The mark of a writer's row: `started boot pid host`; the boot is empty if the system does not say. */
export function writerMark({ pid, host, started }: WriterRow, boot: string): string {
  return `${started} ${boot} ${pid} ${host}`
}

/** The boot in a mark; empty if it names none. */
export function bootIn(mark = ''): string {
  return mark.split(' ')[1] ?? ''
}

/**
 * Deletes damaged rows; needs the writer lock. If a row may have marked events as out of date, the database becomes
 * underived, so that the writer derives them again.
 */
export function deleteDamagedMeta(db: Session): void {
  for (const { key } of db.all<MetaRow>(SELECT_ROWS).filter(isDamaged)) {
    db.run('DELETE FROM meta WHERE key = ?', key)
    if (key !== 'pull' && key !== 'writer') putMeta(db, 'definitions', UNDERIVED)
  }
}
