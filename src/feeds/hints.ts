import { InvalidParameter } from '../errors.js'
import { FORMATS, type Format, type Hints } from './feed.js'
import { DATE_FORMATS, type DateFormat } from './value/dates.js'
import type { Decimal } from './value/numbers.js'
import { shown } from './value/shown.js'

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
