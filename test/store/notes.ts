import type { DatabaseKind } from '../../src/data/store/sqlite/migrations.js'
import { Database } from '../support/database.js'

/** A database whose third step repacks its table, as a kind of its own: what is proved of it holds for every kind. */
export const NOTES: DatabaseKind = slowNotes(0)

export function slowNotes(milliseconds: number): DatabaseKind {
  return {
    table: 'notes',
    createCommand: { command: 'note' },
    mend: 'write them again',
    mode: 0o640,
    migrations: [
      'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, body BLOB, weight REAL) STRICT',
      'CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID',
      {
        repack(db) {
          db.exec(`CREATE TABLE packed (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
            INSERT INTO packed SELECT id, upper(text) FROM notes; DROP TABLE notes; ALTER TABLE packed RENAME TO notes`)
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
        },
      },
      'CREATE INDEX notes_by_text ON notes (text)',
    ],
  }
}

/** Such a database after two steps, with so many notes of a kilobyte in it. */
export function oldNotes(path: string, count: number): void {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  for (const step of NOTES.migrations.slice(0, 2)) if (typeof step === 'string') db.exec(step)
  db.pragma('user_version = 2')
  const insert = db.prepare('INSERT INTO notes (text, body, weight) VALUES (?, ?, ?)')
  db.transaction(() => {
    for (let i = 0; i < count; i++) insert.run(`note ${i}`, Buffer.alloc(1_000, i % 251), i / 3)
    db.exec("INSERT INTO marks VALUES ('a', 'b'), ('c', NULL)")
  })()
  db.close()
}
