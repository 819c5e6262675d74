import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from '../../../core/errors.js'
import type { Damage } from '../store.js'
import { createPartial, creationError, openForWriting, Session } from './connection.js'
import { linkIfAbsent, partialName, removeFilesOfKilledRuns } from './files.js'
import { type Connection, type DatabaseKind, removeDatabase, syncToDisk } from './migrations.js'

/**
 * A database that gets its name once its first data are in it. No other process opens it before. So each page is
 * written once, without a log or waiting for the disk:
 * 1. create it under a temporary name with the number of this process
 * 2. write it; a failed transaction is undone from memory
 * 3. sync the file, link it to its name, sync the folder
 *
 * After a kill there is no file of that name, or the complete one. The next writer deletes the temporary file. The
 * caller holds the writer lock of the name before the first write.
 */
export class NewFile {
  readonly session: Session
  readonly #path: string
  readonly #partial: string
  readonly #kind: DatabaseKind
  #db: Connection

  /** Makes the file under its temporary name. `publish` syncs it, so until then nothing needs to wait for the disk. */
  constructor(path: string, kind: DatabaseKind) {
    this.#path = path
    this.#kind = kind
    this.#partial = partialName(path)
    removeFilesOfKilledRuns(path)
    try {
      this.#db = createPartial(path, this.#partial, kind, db => {
        db.pragma('foreign_keys = ON')
        db.pragma('journal_mode = MEMORY')
        db.pragma('synchronous = OFF')
      })
      this.session = new Session(path, this.#db, kind, this.#partial)
    } catch (cause) {
      this.discard()
      throw creationError(path, cause)
    }
  }

  /**
   * Gives the file its name; the session continues with it. Throws StorageError if it is not whole or the name is
   * taken, and then deletes it.
   * @param verify finds the damages in it; after a failed write there may be some
   */
  publish(verify: (db: Session) => readonly Damage[]): void {
    try {
      // A full disk can also prevent that a failed transaction is undone.
      const [damage] = verify(this.session)
      if (damage !== undefined) throw new Error(`a failed write could not be undone (${damage.what})`)
      // WAL stays on. It is switched on here, because this journal in memory needs no room on the disk.
      this.#db.pragma('journal_mode = WAL')
      this.#db.close()
      if (existsSync(`${this.#partial}-wal`)) throw new Error('it was not written whole')
      syncToDisk(this.#partial)
      if (!linkIfAbsent(this.#partial, this.#path))
        throw new StorageError(`another program has made ${this.#path} meanwhile; the same import again adds to it`)
      syncToDisk(dirname(this.#path))
    } catch (cause) {
      throw creationError(this.#path, cause)
    } finally {
      this.discard()
    }
    this.session.continueWith(openForWriting(this.#path, this.#kind))
  }

  /** Deletes the file under its temporary name. */
  discard(): void {
    this.#db?.close()
    removeDatabase(this.#partial)
  }
}
