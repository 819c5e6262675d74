import { BadData } from '../../errors.js'
import type { Source } from '../file/source.js'
import { DATE_FORMATS, type DateFormat, guessDateFormat, orderProof } from '../value/dates.js'
import { columnOf } from '../value/fields.js'
import { type Decimal, decimalOf } from '../value/numbers.js'
import { shown } from '../value/shown.js'
import type { Dialect } from './dialect.js'
import { eachRow } from './rows.js'

/**
 * The format of the dates in a column, judged by the first rows; by the whole file, and the columns of dates beside it,
 * when those do not tell the month from the day. Throws BadData when they are in no known form, or nothing tells.
 */
export async function dateFormatOf(
  source: Source,
  dialect: Dialect,
  column: { name: string; index: number },
  beside: readonly number[] = [],
): Promise<DateFormat> {
  const texts = textsIn(dialect, [column.index]).filter(text => text !== '')
  const guess = guessDateFormat(texts)
  if ('format' in guess) return guess.format
  const { file } = source
  const first = shown(texts[0] ?? '')
  const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, column.index) }
  if ('unknown' in guess)
    throw new BadData(place, `${column.name} ${first} is in no known form; dates may be ${DATE_FORMATS.join(', ')}`)
  let balance = 0
  await eachRow(file, source.chunks(), dialect, row => {
    for (const index of [column.index, ...beside]) balance += orderProof(row.field(index) ?? '')
  })
  if (balance !== 0) return balance > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY'
  const forms = 'give --date-format MM/DD/YYYY or DD/MM/YYYY'
  throw new BadData(place, `no date of the file tells whether ${first} has the month or the day first; ${forms}`)
}

/**
 * Which sign separates decimals, judged by the first rows of some columns; those of `whole` numbers prove it, and cast no
 * doubt. Throws BadData when the numbers can be read both ways.
 */
export function decimalIn(
  file: string,
  dialect: Dialect,
  fractions: readonly number[],
  whole: readonly number[],
): Decimal {
  if (dialect.delimiter === ',' && !dialect.quoted) return '.'
  const texts = textsIn(dialect, fractions)
  const sign = decimalOf(texts, textsIn(dialect, whole))
  if (sign !== null) return sign
  const example = texts.find(text => text.includes(','))!
  throw new BadData({ file }, `${shown(example)} can be a decimal or thousands; give --decimal , or --decimal .`)
}

function textsIn(dialect: Dialect, columns: readonly number[]): string[] {
  return dialect.samples.flatMap(fields => columns.flatMap(index => fields[index] ?? []))
}
