import { isUtf8 } from 'node:buffer'
import { createReadStream, type ReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'
import { BadData, NotFound, StorageError } from '../../core/errors.js'
import type { Input, ReadOptions } from './feed.js'

/**
 * The uncompressed text of one input, as UTF-8. `chunks` can be called again and starts from the first byte each time.
 */
export interface Source {
  file: string
  /** How the file itself is encoded; known once the first chunk was read. */
  encoding: string
  compression: 'none' | 'gzip' | 'zip'
  /** The name of the one file inside a zip. */
  entry: string | null
  /** Bytes read so far of the file on disk, and its size. */
  bytesTaken(): number
  total: number | null
  chunks(): AsyncIterable<Buffer>
}

const CHUNK_BYTES = 1 << 18

/** Opens a file or standard input and unpacks gzip and zip, recognised by their first bytes. */
export async function openSource(input: Input, stdin: ReadOptions['stdin']): Promise<Source> {
  const stdinBytes = input.path === null ? Buffer.concat((await gatherChunks(stdin ?? process.stdin)).parts) : null
  const start = stdinBytes ?? (await firstBytes(input))
  refuseBinary(input.name, start.subarray(0, 16).toString('latin1'))
  const total = stdinBytes?.length ?? input.bytes
  let file: ReadStream | null = null
  const openRaw = (): Readable => {
    if (stdinBytes !== null) return Readable.from([stdinBytes], { objectMode: false })
    file = createReadStream(input.path!, { highWaterMark: CHUNK_BYTES })
    return file
  }
  const textChunks = (stream: Readable) => checkChunks(source, stream, stream)
  const source: Source = {
    file: input.name,
    encoding: 'UTF-8',
    compression: 'none',
    entry: null,
    total,
    bytesTaken: () => (file === null ? (total ?? 0) : file.bytesRead),
    chunks: () => textChunks(openRaw()),
  }
  // The first bytes of gzip; those of zip are PK and two numbers.
  if (start[0] === 0x1f && start[1] === 0x8b)
    return Object.assign(source, { compression: 'gzip', chunks: () => gunzipChunks(source, openRaw()) })
  if (start.subarray(0, 4).toString('latin1') !== 'PK\x03\x04') return source
  const { name, unpack } = await onlyFile(input.name, stdinBytes ?? (await readFile(input.path!)))
  return Object.assign(source, { compression: 'zip', entry: name, chunks: () => textChunks(Readable.from(unpack())) })
}

/** Encodings of older programs, in the order in which they are tried. */
const OLDER_ENCODINGS = ['windows-1252', 'gb18030', 'shift_jis', 'euc-kr', 'big5', 'windows-1250']

/** Yields the file and its head as decoded from each older encoding; nothing where the text is UTF-8 or UTF-16. */
export function* inOlderEncodings(source: Source, head: Head): Generator<{ source: Source; head: Head }> {
  // The last character of a head may be cut off.
  if (source.encoding !== 'UTF-8' || isUtf8(head.bytes.subarray(0, head.bytes.lastIndexOf(10)))) return
  for (const encoding of OLDER_ENCODINGS) {
    const bytes = Buffer.from(new TextDecoder(encoding).decode(head.bytes))
    yield { source: { ...source, encoding, chunks: () => decodeChunks(source, encoding) }, head: { ...head, bytes } }
  }
}

/** The chunks of a file, converted from an encoding to UTF-8. */
async function* decodeChunks(source: Source, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding)
  for await (const chunk of source.chunks()) yield Buffer.from(decoder.decode(chunk, { stream: true }))
  yield Buffer.from(decoder.decode())
}

/** The first bytes of a text, and whether the text has no more. */
export interface Head {
  bytes: Buffer
  isComplete: boolean
}

/** At least `size` bytes from the start, or all of a shorter text. */
export async function headOf(source: Source, size: number): Promise<Head> {
  const { parts, isComplete } = await gatherChunks(source.chunks(), size)
  return { bytes: Buffer.concat(parts), isComplete }
}

/** Maximum bytes of a text that is read whole; tables are read row by row, without a limit. */
const MAX_TEXT_BYTES = 1 << 28

/** The whole text, without a byte order mark. Throws BadData for one too large for memory. */
export async function textOf(source: Source): Promise<string> {
  const { parts, isComplete } = await gatherChunks(source.chunks(), MAX_TEXT_BYTES)
  if (isComplete)
    return Buffer.concat(parts)
      .toString('utf8')
      .replace(/^\ufeff/, '')
  const what = `it has more than ${megabytes(MAX_TEXT_BYTES)}, too many for a text that is read as a whole`
  throw new BadData({ file: source.file }, `${what}; import it in parts, or as CSV`)
}

/** Reads chunks of a stream until they reach `size` bytes; `isComplete` if it ended before. */
async function gatherChunks(
  stream: AsyncIterable<string | Uint8Array>,
  size = Number.POSITIVE_INFINITY,
): Promise<{ parts: Uint8Array[]; isComplete: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    parts.push(part)
    length += part.length
    if (length >= size) return { parts, isComplete: false }
  }
  return { parts, isComplete: true }
}

/** The first 16 bytes of a file. Throws NotFound or StorageError where it cannot be read. */
async function firstBytes(input: Input): Promise<Buffer> {
  try {
    const handle = await open(input.path!)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw fileError(input.name, error)
  }
}

/** Well-known formats that are no text, by their first bytes. */
const BINARIES: readonly (readonly [start: string, sentence: string])[] = [
  ['PAR1', 'this is a Parquet file, which is not read; export it as CSV and import that'],
  ['ARROW1', 'this is an Arrow or Feather file, which is not read; export it as CSV and import that'],
  ['SQLite format 3', 'this is a SQLite database, which is not read; export its bars as CSV and import that'],
  ['\xd0\xcf\x11\xe0', 'this is an old Office document (Excel?); save the sheet as CSV and import that'],
  ['%PDF', 'this is a PDF document, not daily bars'],
  ['BZh', 'this is compressed by bzip2, which is not read; unpack it and import the result'],
  ['\xfd7zXZ', 'this is compressed by xz, which is not read; unpack it and import the result'],
  ['\x28\xb5\x2f\xfd', 'this is compressed by zstd, which is not read; unpack it and import the result'],
  ['7z\xbc\xaf', 'this is a 7-Zip archive, which is not read; unpack it and import the result'],
]

/** Throws BadData when the first bytes of a file are those of a well-known binary format. */
function refuseBinary(file: string, start: string): void {
  const refused = BINARIES.find(([magic]) => start.startsWith(magic))
  if (refused !== undefined) throw new BadData({ file }, refused[1])
}

/** Unpacks a gzip stream. Throws BadData when it unpacks to implausibly many bytes. */
async function* gunzipChunks(source: Source, raw: Readable): AsyncGenerator<Buffer> {
  const { file, total: packed } = source
  const { createGunzip } = await import('node:zlib')
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES })
  raw.on('error', error => unzip.destroy(error))
  let unpacked = 0
  for await (const chunk of checkChunks(source, raw.pipe(unzip), raw)) {
    unpacked += chunk.length
    if (packed !== null && isBomb(packed, unpacked)) throw bombError(file, packed, `more than ${megabytes(unpacked)}`)
    yield chunk
  }
}

/** Maximum ratio of unpacked to packed bytes. Prices and facts have 5 to 40; more is meant to fill memory or disk. */
const MAX_RATIO = 100
/** Number of bytes unpacked without checking the ratio. */
const UNCHECKED_BYTES = 1 << 24

function isBomb(packed: number, unpacked: number): boolean {
  return unpacked > UNCHECKED_BYTES && unpacked > packed * MAX_RATIO
}

function bombError(file: string, packed: number, unpacked: string): BadData {
  const what = `its ${megabytes(packed)} unpack to ${unpacked}, over ${MAX_RATIO} times as much, as no prices or facts do`
  return new BadData({ file }, `${what}; if it is sound, unpack it and import the result`)
}

function megabytes(count: number): string {
  return `${(count / 2 ** 20).toFixed(count < 10 * 2 ** 20 ? 1 : 0)} MB`
}

/**
 * Passes on the chunks of a text, UTF-16 converted to UTF-8. Throws BadData for a NUL byte or a damaged text, and
 * StorageError for a failed read.
 * @param stream the bytes of the text
 * @param fileStream the bytes of the file that `stream` may unpack; closed at the end
 */
async function* checkChunks(source: Source, stream: Readable, fileStream: Readable): AsyncGenerator<Buffer> {
  const { file } = source
  let offset = 0
  let utf16: TextDecoder | null = null
  try {
    for await (const bytes of stream as AsyncIterable<Buffer>) {
      if (offset === 0) utf16 = utf16Decoder(bytes)
      if (utf16 !== null) source.encoding = utf16.encoding.toUpperCase()
      const chunk = utf16 === null ? bytes : Buffer.from(utf16.decode(bytes, { stream: true }))
      const nul = chunk.indexOf(0)
      if (nul >= 0) throw nulError(file, chunk, offset, nul)
      offset += chunk.length
      yield chunk
    }
    utf16?.decode()
  } catch (error) {
    if (utf16 !== null && error instanceof TypeError)
      throw new BadData({ file }, 'the UTF-16 text is damaged or cut off', { cause: error })
    throw fileError(file, error)
  } finally {
    fileStream.destroy()
  }
}

/** The decoder of a text with a UTF-16 byte order mark; null for other texts. */
function utf16Decoder(start: Buffer): TextDecoder | null {
  const mark = start.length < 2 ? 0 : start.readUInt16BE(0)
  if (mark !== 0xfffe && mark !== 0xfeff) return null
  return new TextDecoder(mark === 0xfffe ? 'utf-16le' : 'utf-16be', { fatal: true })
}

/** The error for a NUL byte at index `nul` of a chunk that starts at byte `offset` of the text. */
function nulError(file: string, chunk: Buffer, offset: number, nul: number): BadData {
  // Latin text in UTF-16 has a NUL in every other byte and nowhere else; a binary has them anywhere.
  const nulIndexes = [...chunk.subarray(0, 64).keys()].filter(i => chunk[i] === 0)
  const isUtf16 = offset === 0 && nulIndexes.length > 8 && nulIndexes.every(i => i % 2 === nul % 2)
  if (isUtf16)
    return new BadData({ file }, 'this is UTF-16 text without a byte order mark; save it as UTF-8 and import that')
  return new BadData({ file }, `byte ${offset + nul + 1} is NUL, which no text has: a binary or damaged file`)
}

/** The NotFound, BadData or StorageError for a failure of reading or unpacking; other errors are returned unchanged. */
function fileError(file: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOENT') return new NotFound(`${file}: no such file`)
  if (code.startsWith('Z_')) {
    const what = code === 'Z_BUF_ERROR' ? 'is cut off' : 'is damaged'
    return new BadData({ file }, `the gzip data ${what} (${(error as Error).message})`, { cause: error })
  }
  if (!code.startsWith('E') || code.startsWith('ERR_')) return error
  return new StorageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error })
}

/** A file inside a zip archive: its name without folders, and its bytes, unpacked on each use. */
interface Zipped {
  name: string
  unpack(): AsyncGenerator<Buffer>
}

/** The only file in a zip archive, its checksum tested. Throws BadData for a damaged archive or several files. */
async function onlyFile(file: string, archive: Buffer): Promise<Zipped> {
  const zipError = (what: string, cause?: unknown) => new BadData({ file }, what, { cause })
  // In the bundle, a CommonJS package has only its default export.
  const { default: yauzl } = await import('yauzl')
  const entries: Entry[] = []
  let openEntry: (entry: Entry) => Promise<Readable>
  try {
    const zip = await yauzl.fromBufferPromise(archive, { lazyEntries: true, autoClose: false })
    for await (const entry of zip.eachEntry()) entries.push(entry)
    openEntry = entry => zip.openReadStreamPromise(entry)
  } catch (cause) {
    throw zipError('the zip archive is damaged or cut off', cause)
  }
  const files = entries.filter(({ fileName }) => !fileName.endsWith('/') && !fileName.startsWith('__MACOSX/'))
  const [entry] = files
  if (entry === undefined) throw zipError('the zip archive is empty')
  if (files.some(({ fileName }) => fileName === '[Content_Types].xml'))
    throw zipError('this is an Office document (Excel?); save the sheet as CSV and import that')
  if (files.length > 1) throw zipError(`the zip archive holds ${files.length} files; unpack it and import the folder`)
  if (entry.isEncrypted()) throw zipError('the zip archive is protected by a password; unpack it and import the file')
  // yauzl never unpacks more than the declared size.
  const { compressedSize, uncompressedSize } = entry
  if (isBomb(compressedSize, uncompressedSize)) throw bombError(file, compressedSize, megabytes(uncompressedSize))
  async function* unpack(): AsyncGenerator<Buffer> {
    yield* await openEntry(entry!)
  }
  let checksum = 0
  try {
    for await (const chunk of unpack()) checksum = crc32(chunk, checksum)
  } catch (cause) {
    throw zipError('the zip archive is damaged', cause)
  }
  // yauzl checks sizes and leaves the checksum to us.
  if (checksum !== entry.crc32) throw zipError('the zip archive is damaged')
  return { name: entry.fileName.slice(entry.fileName.lastIndexOf('/') + 1), unpack }
}
