import { BadData } from '../errors.js'
import type { Rejected } from './feed.js'
import { counted } from './value/shown.js'

/** The bad rows of a file: kept where they are to be skipped, otherwise the first of them and the number of the others. */
export class Rejections {
  readonly rows: Rejected[] = []
  readonly #file: string
  readonly #skip: boolean
  #bad = 0

  constructor(file: string, skip: boolean) {
    this.#file = file
    this.#skip = skip
  }

  /** Takes a bad row, which is described only when somebody will read it. */
  add(describe: () => Rejected): void {
    this.#bad++
    if (this.#skip || this.#bad === 1) this.rows.push(describe())
  }

  /** Throws BadData when the bad rows of a whole file are not to be skipped, or no row is good. */
  refuse(rows: number): void {
    const [first] = this.rows
    if (first === undefined && rows > 0) return
    if (first === undefined) throw new BadData({ file: this.#file }, 'there are no rows in it')
    const place = { file: this.#file, line: first.line, column: first.column }
    if (this.#bad === rows) {
      const all = rows === 1 ? 'the only row is bad' : `all ${counted(rows, 'row')} are bad`
      throw new BadData(place, `${first.reason}; ${all}, so nothing can be loaded`)
    }
    if (this.#skip) return
    const more = this.#bad === 1 ? '' : `; ${counted(this.#bad - 1, 'more bad row')} in this file`
    throw new BadData(place, `${first.reason}${more}; --skip-bad-rows loads the rest`)
  }
}
