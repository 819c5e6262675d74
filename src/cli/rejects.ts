import { writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { InvalidParameter, StorageError } from '../errors.js'
import type { Input } from '../feeds/feed.js'
import type { FileReport } from '../local/import-report.js'

/** Keeps rows that were skipped, as they stood, under the header of their file: mended, they can be imported. */
export class RejectsFile {
  readonly #named: string | undefined
  readonly #inputs: readonly Input[]
  /** Path → the header it was begun with. */
  readonly #begun = new Map<string, string | null>()

  constructor(named: string | undefined, inputs: readonly Input[]) {
    this.#named = named
    this.#inputs = inputs
  }

  /** The file that now holds the report's bad rows; null when it has none. */
  async keep({ file, header, rejected }: FileReport): Promise<string | null> {
    if (rejected.length === 0) return null
    const path = this.#pathFor(file, header)
    if (this.#inputs.some(input => input.path === resolve(path)))
      throw new InvalidParameter(`--rejects ${path} is a file that is being imported.`, {
        param: 'rejects',
        value: path,
      })
    const first = this.#begun.has(path) || header === null ? [] : [header]
    const text = [...first, ...rejected.map(row => row.text)].map(line => `${line}\n`).join('')
    try {
      await writeFile(path, text, { flag: this.#begun.has(path) ? 'a' : 'w' })
    } catch (cause) {
      throw new StorageError(`cannot write the bad rows to ${path}: ${(cause as Error).message}`, { cause })
    }
    this.#begun.set(path, header)
    return path
  }

  /** One file takes the rows of all inputs of one header; those of another header go beside it. */
  #pathFor(file: string, header: string | null): string {
    const wanted = this.#named ?? `${file === '-' ? 'stdin' : basename(file)}.rejects`
    for (let i = 1; ; i++) {
      const path = i === 1 ? wanted : `${wanted}.${i}`
      if (!this.#begun.has(path) || (this.#named !== undefined && this.#begun.get(path) === header)) return path
    }
  }
}
