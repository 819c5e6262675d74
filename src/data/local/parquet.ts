import type { Column } from '../../core/model/event.js'
import { Bytes } from './bytes.js'
import { compressInto, maxCompressedSize } from './snappy.js'
import { Thrift } from './thrift.js'

/**
 * Parquet of flat tables. A row group does not depend on its place in a file: threads encode row groups, and the
 * footer, written last, names their places. Texts are UTF-8, dates DATE, integers INT32, numbers DOUBLE, and all may be
 * null.
 */

export type ParquetColumn = Pick<Column<never>, 'name' | 'kind'>

/** About the number of rows in a row group. It limits the memory of writers and readers. */
export const GROUP_ROWS = 50_000

/** The value for a null integer or date. A null number is NaN, a null text has the code -1. */
export const NULL_INTEGER = -(2 ** 31)

/** The values of a column: numbers, or for a text the number of its word. */
class ColumnBuffer {
  readonly isNumber: boolean
  readonly isText: boolean
  values: Float64Array | Int32Array
  readonly words: string[] = []
  readonly #codes = new Map<string, number>()

  constructor({ kind }: ParquetColumn) {
    this.isNumber = kind === 'number'
    this.isText = kind === 'text'
    this.values = this.isNumber ? new Float64Array() : new Int32Array()
  }

  /** The value of a null in this column. */
  get nullValue(): number {
    if (this.isNumber) return Number.NaN
    return this.isText ? -1 : NULL_INTEGER
  }

  /** The code of a text, which is its index in `words`. */
  code(word: string): number {
    let code = this.#codes.get(word)
    if (code === undefined) {
      code = this.words.push(word) - 1
      this.#codes.set(word, code)
    }
    return code
  }

  grow(length: number): void {
    const grown = this.isNumber ? new Float64Array(length) : new Int32Array(length)
    grown.set(this.values)
    this.values = grown
  }
}

/** A row group in the making: columns that grow until they are encoded. */
export class RowGroup {
  rows = 0
  readonly #columnsByName: Map<string, ColumnBuffer>
  #capacity = 0

  constructor(columns: readonly ParquetColumn[]) {
    this.#columnsByName = new Map(columns.map(column => [column.name, new ColumnBuffer(column)]))
  }

  /** Adds rows of nulls, and returns the index of the first one. */
  addNulls(rows: number): number {
    const start = this.rows
    this.rows += rows
    const mustGrow = this.rows > this.#capacity
    if (mustGrow) this.#capacity = Math.max(this.rows, 2 * this.#capacity, 4096)
    for (const column of this.#columnsByName.values()) {
      if (mustGrow) column.grow(this.#capacity)
      column.values.fill(column.nullValue, start, this.rows)
    }
    return start
  }

  column(name: string): ColumnBuffer {
    return this.#columnsByName.get(name)!
  }

  encode(): EncodedGroup {
    const out = new Bytes(1 << 16)
    const chunks = [...this.#columnsByName.values()].map(column => writeColumn(out, column, this.rows))
    return { rows: this.rows, bytes: out.writtenBytes(), chunks }
  }
}

/** A row group as it is in a file, with places from its beginning. */
export interface EncodedGroup {
  rows: number
  bytes: Uint8Array<ArrayBuffer>
  chunks: readonly Chunk[]
}

/** A column of a row group. */
interface Chunk {
  start: number
  /** Where the values begin: after the dictionary, or at `start` if there is none. */
  dataStart: number
  size: number
  /** The size before compression. */
  plainSize: number
  nulls: number
  /** The smallest and largest value as PLAIN bytes; null without values. */
  bounds: { min: Uint8Array; max: Uint8Array } | null
}

/** Buffers that all pages share: one page is written at a time. */
const pageContent = new Bytes(1 << 19)
const compressedPage = new Bytes(1 << 19)

const PLAIN = 0
const RLE = 3
const RLE_DICTIONARY = 8
const DATA_PAGE = 0
const DICTIONARY_PAGE = 2

/** Writes a column of a row group: a dictionary page if many values repeat, then a data page. */
function writeColumn(out: Bytes, column: ColumnBuffer, rows: number): Chunk {
  const chunk: Chunk = { start: out.length, dataStart: out.length, size: 0, plainSize: 0, nulls: 0, bounds: null }
  const levels = presenceLevels(column, rows)
  const values = presentValues(column, levels)
  chunk.nulls = rows - values.length
  const dictionary = column.isText ? textDictionary(column, values) : integerDictionary(values)
  chunk.bounds = column.isText ? textBounds(dictionary!.words!) : numberBounds(values)
  // A text that hardly comes twice is written as it is.
  const isDictionary = dictionary !== null && dictionary.size > 0 && 2 * dictionary.size <= values.length
  if (isDictionary) {
    pageContent.length = 0
    if (dictionary.words !== null) for (const word of dictionary.words) writeText(word)
    else for (const value of dictionary.numbers!) pageContent.writeInt32(value)
    chunk.plainSize += writePage(out, DICTIONARY_PAGE, dictionary.size, PLAIN)
    chunk.dataStart = out.length
  }
  pageContent.length = 0
  writeLevels(levels)
  if (isDictionary) {
    // The bits of the greatest code.
    const width = 32 - Math.clz32(dictionary.size - 1)
    pageContent.writeByte(width)
    writeRunsAndGroups(dictionary.codes, values.length, width)
  } else if (dictionary?.words != null) {
    for (const code of dictionary.codes) writeText(dictionary.words[code]!)
  } else {
    pageContent.append(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  }
  chunk.plainSize += writePage(out, DATA_PAGE, rows, isDictionary ? RLE_DICTIONARY : PLAIN)
  chunk.size = out.length - chunk.start
  return chunk
}

/** 1 for each row that has a value, 0 for a null. */
function presenceLevels({ values, isNumber, nullValue }: ColumnBuffer, rows: number): Uint8Array {
  const levels = new Uint8Array(rows)
  if (isNumber) for (let row = 0; row < rows; row++) levels[row] = Number.isNaN(values[row]!) ? 0 : 1
  else for (let row = 0; row < rows; row++) levels[row] = values[row] === nullValue ? 0 : 1
  return levels
}

/** The values without nulls. */
function presentValues({ values, isNumber }: ColumnBuffer, levels: Uint8Array): Float64Array | Int32Array {
  const present = isNumber ? new Float64Array(levels.length) : new Int32Array(levels.length)
  let length = 0
  for (let row = 0; row < levels.length; row++) if (levels[row] === 1) present[length++] = values[row]!
  return present.subarray(0, length)
}

/** Different values, and the number of each value among them. */
interface Dictionary {
  size: number
  codes: Int32Array
  words: Uint8Array[] | null
  numbers: number[] | null
}

/** The code of a value that was not found yet. */
const NO_CODE = -1

/** Only the words that the values use. The values are codes of words, and get the codes of the new dictionary. */
function textDictionary({ words }: ColumnBuffer, values: Float64Array | Int32Array): Dictionary {
  const newCodes = new Int32Array(words.length).fill(NO_CODE)
  const used: Uint8Array[] = []
  const codes = new Int32Array(values.length)
  for (let i = 0; i < values.length; i++) {
    const oldCode = values[i]!
    if (newCodes[oldCode] === NO_CODE) newCodes[oldCode] = used.push(Buffer.from(words[oldCode]!)) - 1
    codes[i] = newCodes[oldCode]!
  }
  return { size: used.length, codes, words: used, numbers: null }
}

/** The different integers among the values; null for numbers, and for integers of a wide range. */
function integerDictionary(values: Float64Array | Int32Array): Dictionary | null {
  if (values instanceof Float64Array || values.length === 0) return null
  const { min, max } = minAndMax(values)
  if (max - min > 1 << 16) return null
  const codeOf = new Int32Array(max - min + 1).fill(NO_CODE)
  const numbers: number[] = []
  const codes = new Int32Array(values.length)
  for (let i = 0; i < values.length; i++) {
    const offset = values[i]! - min
    if (codeOf[offset] === NO_CODE) codeOf[offset] = numbers.push(values[i]!) - 1
    codes[i] = codeOf[offset]!
  }
  return { size: numbers.length, codes, words: null, numbers }
}

/** The first and last word by their bytes, as readers compare them; null without words. */
function textBounds(words: readonly Uint8Array[]): Chunk['bounds'] {
  if (words.length === 0) return null
  const sorted = [...words].sort(Buffer.compare)
  return { min: sorted[0]!, max: sorted.at(-1)! }
}

/** The smallest and largest value as PLAIN bytes; null without values. */
function numberBounds(values: Float64Array | Int32Array): Chunk['bounds'] {
  if (values.length === 0) return null
  const { min, max } = minAndMax(values)
  const bytesOf = (value: number): Uint8Array =>
    new Uint8Array((values instanceof Float64Array ? Float64Array : Int32Array).of(value).buffer)
  // The format wants -0 as the smaller and 0 as the larger zero.
  return { min: bytesOf(min === 0 ? -0 : min), max: bytesOf(max === 0 ? 0 : max) }
}

/** The smallest and the largest of at least one value. */
function minAndMax(values: Float64Array | Int32Array): { min: number; max: number } {
  let min = values[0]!
  let max = values[0]!
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!
    if (value < min) min = value
    if (value > max) max = value
  }
  return { min, max }
}

function writeText(word: Uint8Array): void {
  pageContent.writeInt32(word.length)
  pageContent.append(word)
}

/** Writes to `pageContent` which rows have a value (1), after the number of bytes that this takes. */
function writeLevels(levels: Uint8Array): void {
  const start = pageContent.length
  // Room for that number.
  pageContent.writeInt32(0)
  writeRunsAndGroups(levels, levels.length, 1)
  pageContent.bytes.writeInt32LE(pageContent.length - start - 4, start)
}

/**
 * Writes values in the RLE/bit-packing hybrid: eight or more equal values as a run, others in groups of eight. The head
 * of a part is twice the length of a run, or twice the number of groups plus 1.
 * @param width bits of a value
 */
function writeRunsAndGroups(values: Int32Array | Uint8Array, length: number, width: number): void {
  pageContent.reserve(16 + 5 * length)
  const valueBytes = Math.ceil(width / 8)
  // The first value that waits to be written in groups; -1: none.
  let packedFrom = -1
  let from = 0
  while (from < length) {
    const value = values[from]!
    let end = from + 1
    while (end < length && values[end] === value) end++
    if (end - from < 8) {
      if (packedFrom === -1) packedFrom = from
      from += 8
      continue
    }
    if (packedFrom !== -1) writePackedGroups(values, packedFrom, from, width)
    packedFrom = -1
    pageContent.writeVarint((end - from) * 2)
    for (let byte = 0; byte < valueBytes; byte++) pageContent.writeByte((value >>> (8 * byte)) & 0xff)
    from = end
  }
  if (packedFrom !== -1) writePackedGroups(values, packedFrom, length, width)
}

/** Writes the values from..to in groups of eight, `width` bits each, lowest first. Zeros fill the last group. */
function writePackedGroups(values: Int32Array | Uint8Array, from: number, to: number, width: number): void {
  const groups = Math.ceil((to - from) / 8)
  pageContent.writeVarint(groups * 2 + 1)
  pageContent.reserve(groups * width + 4)
  const { bytes } = pageContent
  let at = pageContent.length
  // Bits that are not written yet, and their number.
  let pending = 0
  let pendingBits = 0
  for (let i = from; i < from + 8 * groups; i++) {
    if (i < to) pending |= values[i]! << pendingBits
    pendingBits += width
    while (pendingBits >= 8) {
      // A byte takes the lowest eight bits.
      bytes[at++] = pending
      pending >>>= 8
      pendingBits -= 8
    }
  }
  pageContent.length = at
}

/** Compresses `pageContent`, and writes it after a PageHeader, by Parquet's field numbers. Returns the plain size. */
function writePage(out: Bytes, type: number, values: number, encoding: number): number {
  compressedPage.length = 0
  compressedPage.reserve(maxCompressedSize(pageContent.length))
  const size = compressInto(pageContent.bytes, pageContent.length, compressedPage.bytes)
  const start = out.length
  const head = new Thrift(out)
  head.writeInteger(1, type)
  head.writeInteger(2, pageContent.length)
  head.writeInteger(3, size)
  head.writeStruct(type === DATA_PAGE ? 5 : 7, () => {
    head.writeInteger(1, values)
    head.writeInteger(2, encoding)
    if (type !== DATA_PAGE) return
    head.writeInteger(3, RLE)
    head.writeInteger(4, RLE)
  })
  head.endStruct()
  const headSize = out.length - start
  out.append(compressedPage.bytes.subarray(0, size))
  return headSize + pageContent.length
}

const MAGIC = Buffer.from('PAR1')
const FORMAT_VERSION = 1
const OPTIONAL = 1
const PHYSICAL_TYPES = { text: 6, date: 1, integer: 1, number: 5 } as const
const CONVERTED_TYPES = { text: 0, date: 6, integer: null, number: null } as const
const SNAPPY = 1

/** A file in the making: its parts are written one after another. */
export class ParquetFile {
  readonly #columns: readonly ParquetColumn[]
  readonly #groups: { start: number; group: Omit<EncodedGroup, 'bytes'> }[] = []
  #length = 0
  rows = 0

  constructor(columns: readonly ParquetColumn[]) {
    this.#columns = columns
  }

  /** Adds a row group. @returns the next bytes of the file */
  add({ bytes, ...group }: EncodedGroup): Uint8Array {
    const bytesToWrite = this.#appendToFile(bytes)
    this.#groups.push({ start: this.#length - bytes.length, group })
    this.rows += group.rows
    return bytesToWrite
  }

  /** Ends the file. @returns its last bytes */
  end(): Uint8Array {
    return this.#appendToFile(this.#footer())
  }

  /** Counts bytes as written, and returns them; the first ones are preceded by the magic of the format. */
  #appendToFile(bytes: Uint8Array): Uint8Array {
    const next = this.#length === 0 ? Buffer.concat([MAGIC, bytes]) : bytes
    this.#length += next.length
    return next
  }

  /** The footer: Parquet's FileMetaData, with its field numbers as first arguments. OPTIONAL columns may have nulls. */
  #footer(): Uint8Array {
    const out = new Bytes(1 << 14)
    const meta = new Thrift(out)
    const columns = this.#columns
    meta.writeInteger(1, FORMAT_VERSION)
    meta.writeStructs(2, [null, ...columns], column => {
      if (column === null) {
        meta.writeText(4, 'root')
        return meta.writeInteger(5, columns.length)
      }
      meta.writeInteger(1, PHYSICAL_TYPES[column.kind])
      meta.writeInteger(3, OPTIONAL)
      meta.writeText(4, column.name)
      const converted = CONVERTED_TYPES[column.kind]
      if (converted !== null) meta.writeInteger(6, converted)
    })
    meta.writeLong(3, this.rows)
    meta.writeStructs(4, this.#groups, ({ start, group: { rows, chunks } }) => {
      meta.writeStructs(1, chunks, (chunk, i) => {
        meta.writeLong(2, start + chunk.start)
        meta.writeStruct(3, () => writeChunkMeta(meta, columns[i]!, { chunk, start, rows }))
      })
      const plainSize = chunks.reduce((sum, chunk) => sum + chunk.plainSize, 0)
      meta.writeLong(2, plainSize)
      meta.writeLong(3, rows)
    })
    meta.writeText(6, 'bands')
    // Each column's bounds are in the order of its type.
    meta.writeStructs(7, columns, () => meta.writeStruct(1, () => {}))
    meta.endStruct()
    out.writeInt32(out.length)
    out.append(MAGIC)
    return out.writtenBytes()
  }
}

/** Describes a column of a row group in the footer, by the field numbers of Parquet's ColumnMetaData. */
function writeChunkMeta(
  meta: Thrift,
  { name, kind }: ParquetColumn,
  { chunk, start, rows }: { chunk: Chunk; start: number; rows: number },
): void {
  const { bounds, nulls } = chunk
  const hasDictionary = chunk.dataStart !== chunk.start
  meta.writeInteger(1, PHYSICAL_TYPES[kind])
  meta.writeIntegers(2, hasDictionary ? [PLAIN, RLE, RLE_DICTIONARY] : [PLAIN, RLE])
  meta.writeTexts(3, [name])
  meta.writeInteger(4, SNAPPY)
  meta.writeLong(5, rows)
  meta.writeLong(6, chunk.plainSize)
  meta.writeLong(7, chunk.size)
  meta.writeLong(9, start + chunk.dataStart)
  if (hasDictionary) meta.writeLong(11, start + chunk.start)
  meta.writeStruct(12, () => {
    meta.writeLong(3, nulls)
    if (bounds === null) return
    meta.writeBinary(5, bounds.max)
    meta.writeBinary(6, bounds.min)
  })
}
