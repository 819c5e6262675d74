import { existsSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Busy, quoted, StorageError } from '../../core/errors.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import { openSqlite } from '../../data/store/sqlite/data.js'
import { type FileNumbers, fileNumbers, isSameFile, restoreNotePath } from '../../data/store/sqlite/files.js'
import { removeStaleCompanions } from '../../data/store/sqlite/replaced.js'
import { Damaged } from '../../data/store/store.js'
import type { RefusedFile } from '../../server/http/question.js'
import { refuseUnfinishedRestore } from './database.js'
import { type OpenData, openData, type ViewOptions } from './served-data.js'

/** Called with the result of checking a new file. */
export interface Reports {
  logTakeOver(snapshot: string): void
  /** @param why for the log of the server: it may name paths */
  logRefusal(why: string): void
}

interface Following extends Reports {
  first: OpenData
  path: string
  view: ViewOptions
  /** Answers from these data from now on; settles when the last answer from the ones before has left. */
  serve(next: OpenData): Promise<void>
  /** Gets the refusal of the present file; null: there is none. */
  showRefusal(refused: RefusedFile | null): void
}

/** Milliseconds between two checks of the name of the file. */
const CHECK_INTERVAL_MS = 1_000

/**
 * Follows the name of a server's file. A new file is checked whole, and then answers in place of the old one. The old
 * one is closed after its last answer. If the new file is not sound, the old one keeps answering.
 */
export class TakeOver {
  readonly #options: Following
  #data: OpenData
  /** Identifies the state of the refused file, which is not checked again; empty without one. */
  #refusedIdentity = ''
  #lastCheck: Promise<void> = Promise.resolve()
  /** The new file while it is checked. */
  #checkedFile: OpenData | null = null
  #lastAnswersSent: Promise<void> = Promise.resolve()
  readonly #end = new AbortController()

  constructor(options: Following) {
    this.#options = options
    this.#data = options.first
    options.first.start()
    void this.#watch()
  }

  /** Checks the file now, also one that was refused before. */
  checkNow(): Promise<void> {
    this.#refusedIdentity = ''
    return this.#enqueueCheck()
  }

  /** Ends the checks, and closes the data once all answers from replaced files have left. */
  async close(): Promise<void> {
    this.#end.abort()
    // Ends the check of a new file, which would take minutes.
    await this.#checkedFile?.close()
    await this.#lastCheck
    await this.#lastAnswersSent
    await this.#data.close()
  }

  /** Checks the file again and again, until the data are closed. */
  async #watch(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      await sleep(CHECK_INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {})
      await this.#enqueueCheck()
    }
  }

  /** Checks the file after all earlier checks have ended; settles when this one has. */
  #enqueueCheck(): Promise<void> {
    this.#lastCheck = this.#lastCheck.then(() => (this.#end.signal.aborted ? undefined : this.#checkFile()))
    return this.#lastCheck
  }

  /** Takes over the file that now has the name, if it is a new one. Reports a refusal; never throws. */
  async #checkFile(): Promise<void> {
    const { showRefusal, logRefusal, path } = this.#options
    const file = statSync(path, { throwIfNoEntry: false })
    // Nothing has the name: /readyz says that the file is lost.
    if (file === undefined) return
    if (isSameFile(file, this.#data.fileNumbers)) {
      this.#refusedIdentity = ''
      return showRefusal(null)
    }
    // A refused file is tried again after a change of its rights or the end of a restore, because these may mend it.
    const identity = [file.dev, file.ino, file.ctimeMs, existsSync(restoreNotePath(path))].join(' ')
    if (identity === this.#refusedIdentity) return
    try {
      refuseUnfinishedRestore(path)
      await this.#replaceData(await this.#openAndVerify(file))
    } catch (error) {
      if (this.#end.signal.aborted) return
      // A restore or a writer ends soon; or the next file is there already.
      if (error instanceof Busy || !isSameFile(fileNumbers(path), file)) return
      const { message } = error as Error
      this.#refusedIdentity = identity
      showRefusal({ why: message.replaceAll(path, basename(path)), since: new Date().toISOString() })
      logRefusal(message)
    }
  }

  /** Opens the new file and checks all of it. Throws StorageError if it is not sound, Busy if it was replaced again. */
  async #openAndVerify(file: FileNumbers): Promise<OpenData> {
    const { path, view } = this.#options
    removeStaleCompanions(path, this.#data.companions)
    const next = openData(openSqlite(path, { readonly: true }), view)
    this.#checkedFile = next
    try {
      if (!isSameFile(file, next.fileNumbers)) throw new Busy(`${path} was replaced again`)
      next.start()
      const { damages, definitions, tickers } = await next.verify()
      const [damage] = damages
      if (damage !== undefined) throw new Damaged(path, damage)
      if (tickers === 0) throw new StorageError(`${path} has no bars`)
      if (definitions !== DEFINITIONS_VERSION)
        throw new StorageError(
          `${path} has events of definitions ${quoted(definitions)}, and this bands has ${quoted(DEFINITIONS_VERSION)}`,
        )
      return next
    } catch (error) {
      await next.close()
      throw error
    } finally {
      this.#checkedFile = null
    }
  }

  /** Answers from the new data from now on; the old ones are closed after their last answer. */
  async #replaceData(next: OpenData): Promise<void> {
    const oldData = this.#data
    const snapshot = await next.snapshot()
    this.#data = next
    this.#options.showRefusal(null)
    const oldDataClosed = this.#options.serve(next).then(() => oldData.close())
    this.#lastAnswersSent = Promise.all([this.#lastAnswersSent, oldDataClosed]).then(() => {})
    this.#options.logTakeOver(snapshot)
  }
}
