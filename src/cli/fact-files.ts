import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StorageError } from '../errors.js'
import type { TickerFacts } from '../feeds/feed.js'
import { factHeader, factRows } from '../feeds/simulate.js'
import type { FactKind } from '../model/facts.js'

/** A folder of record files, one a kind (`reports.csv`), begun when their first record comes. */
export class FactFiles {
  readonly #folder: string
  readonly #open = new Map<FactKind, number>()

  /** Throws StorageError. */
  constructor(folder: string) {
    this.#folder = folder
    this.#guard(() => mkdirSync(folder, { recursive: true }))
  }

  /** Throws StorageError. */
  add(facts: readonly TickerFacts[]): void {
    this.#guard(() => {
      for (const part of facts) writeSync(this.#file(part.kind), factRows(part))
    })
  }

  close(): void {
    for (const file of this.#open.values()) closeSync(file)
  }

  #file(kind: FactKind): number {
    let file = this.#open.get(kind)
    if (file === undefined) {
      file = openSync(join(this.#folder, `${kind}.csv`), 'w')
      this.#open.set(kind, file)
      writeSync(file, factHeader(kind))
    }
    return file
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (cause) {
      throw new StorageError(`cannot write facts to ${this.#folder}: ${(cause as Error).message}`, { cause })
    }
  }
}
