import { BadData, InvalidParameter, parameter, sentence } from '../errors.js'
import { FORMATS, type Format, type Hints, type Rejected } from './feed.js'
import { counted, DATE_FORMATS, type DateFormat, type Decimal, shown } from './values.js'

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
      throw new BadData(place, sentence`${first.reason}; ${all}, so nothing can be loaded`)
    }
    if (this.#skip) return
    const more = this.#bad === 1 ? '' : `; ${counted(this.#bad - 1, 'more bad row')} in this file`
    throw new BadData(place, sentence`${first.reason}${more}; ${parameter('skip_bad_rows')} loads the rest`)
  }
}

/** Hints that were found to be allowed. */
export interface Given {
  format?: Format
  delimiter?: string
  dateFormat?: DateFormat
  decimal?: Decimal
  header?: string
}

const DELIMITERS: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', '\\t': '\t', pipe: '|' }

/** What the user gave, checked; throws InvalidParameter, which names the option, the value and what is allowed. */
export function checkHints(hints: Hints = {}): Given {
  const given: Given = {}
  if (hints.format !== undefined) given.format = oneOf('format', hints.format, FORMATS)
  if (hints.dateFormat !== undefined) given.dateFormat = oneOf('date_format', hints.dateFormat, DATE_FORMATS)
  if (hints.decimal !== undefined) given.decimal = oneOf('decimal', hints.decimal, ['.', ','] as const)
  if (hints.header !== undefined) given.header = hints.header
  if (hints.delimiter !== undefined) given.delimiter = delimiter(hints.delimiter)
  return given
}

export function delimiterName(character: string): string {
  const names: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' }
  return names[character] ?? character
}

function oneOf<T extends string>(param: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find(name => name.toLowerCase() === value.toLowerCase())
  if (found !== undefined) return found
  throw new InvalidParameter(`${param} ${shown(value)} is not one of ${allowed.join(', ')}.`, { param, value, allowed })
}

function delimiter(text: string): string {
  const character = DELIMITERS[text.toLowerCase()] ?? text
  if (/^[\x20-\x7e\t]$/.test(character) && !/[\w".-]/.test(character)) return character
  const allowed = 'one character such as , ; | or one of the words comma, semicolon, tab, pipe'
  const offence = { param: 'delimiter', value: text, allowed }
  throw new InvalidParameter(`delimiter ${shown(text)} is not ${allowed}.`, offence)
}
