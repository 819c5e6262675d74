import { createReadStream, type ReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'
import { BadData, NotFound, StorageError } from '../errors.js'
import type { Input, ReadOptions } from './feed.js'

/** The uncompressed bytes of one input; `chunks` may be asked for again and starts from the first byte each time. */
export interface Source {
  file: string
  compression: 'none' | 'gzip' | 'zip'
  /** The name of the one file inside a zip. */
  entry: string | null
  /** Bytes taken so far of the input as it lies on disk, and how many there are. */
  taken(): number
  total: number | null
  chunks(): AsyncIterable<Buffer>
}

const CHUNK = 1 << 18

/** Opens a file or standard input and looks through gzip and zip, which are told by their first bytes. */
export async function openSource(input: Input, stdin: ReadOptions['stdin']): Promise<Source> {
  const whole = input.path === null ? await gather(stdin ?? process.stdin) : null
  const start = whole ?? (await firstBytes(input))
  refuseBinary(input.name, start.subarray(0, 16).toString('latin1'))
  const total = whole?.length ?? input.bytes
  let file: ReadStream | null = null
  const base = { file: input.name, entry: null, total, taken: () => (file === null ? (total ?? 0) : file.bytesRead) }
  const raw = (): Readable => {
    if (whole !== null) return Readable.from([whole], { objectMode: false })
    file = createReadStream(input.path!, { highWaterMark: CHUNK })
    return file
  }
  if (start[0] === 0x1f && start[1] === 0x8b)
    return { ...base, compression: 'gzip', chunks: () => gunzipped(input.name, raw()) }
  if (start.subarray(0, 4).toString('latin1') !== 'PK\x03\x04')
    return { ...base, compression: 'none', chunks: () => checked(input.name, raw()) }
  const { name, bytes } = await onlyFile(input.name, whole ?? (await readFile(input.path!)))
  const chunks = () => checked(input.name, Readable.from([bytes], { objectMode: false }))
  return { ...base, compression: 'zip', entry: name, chunks }
}

/** At least `size` bytes from the start, or all there are. */
export async function headOf(source: Source, size: number): Promise<{ bytes: Buffer; whole: boolean }> {
  const parts: Buffer[] = []
  let length = 0
  for await (const chunk of source.chunks()) {
    parts.push(chunk)
    length += chunk.length
    if (length >= size) return { bytes: Buffer.concat(parts), whole: false }
  }
  return { bytes: Buffer.concat(parts), whole: true }
}

/** The whole text, without a byte order mark. */
export async function textOf(source: Source): Promise<string> {
  const { bytes } = await headOf(source, Number.POSITIVE_INFINITY)
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}

async function gather(stream: AsyncIterable<string | Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of stream) parts.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  return Buffer.concat(parts)
}

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

function refuseBinary(file: string, start: string): void {
  const binary = BINARIES.find(([magic]) => start.startsWith(magic))
  if (binary !== undefined) throw new BadData({ file }, binary[1])
}

async function* gunzipped(file: string, raw: Readable): AsyncGenerator<Buffer> {
  const { createGunzip } = await import('node:zlib')
  const unzip = createGunzip({ chunkSize: CHUNK })
  raw.on('error', error => unzip.destroy(error))
  yield* checked(file, raw.pipe(unzip), raw)
}

/** Passes chunks on; what no text has, and what goes wrong on the way, becomes an error in words. */
async function* checked(file: string, stream: Readable, below: Readable = stream): AsyncGenerator<Buffer> {
  let offset = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const nul = chunk.indexOf(0)
      if (nul >= 0) throw nulError(file, chunk, offset, nul)
      offset += chunk.length
      yield chunk
    }
  } catch (error) {
    throw fileError(file, error)
  } finally {
    below.destroy()
  }
}

function nulError(file: string, chunk: Buffer, offset: number, nul: number): BadData {
  const first = offset === 0 ? chunk.readUInt16BE(0) : 0
  // Latin text as UTF-16 has a NUL in every other place and nowhere else; a program has them anywhere.
  const nuls = [...chunk.subarray(0, 64).entries()].filter(([, byte]) => byte === 0).map(([i]) => i)
  const pairs = offset === 0 && nuls.length > 8 && nuls.every(i => i % 2 === nul % 2)
  if (first === 0xfffe || first === 0xfeff || pairs)
    return new BadData({ file }, 'this is UTF-16 text; save it as UTF-8 and import that')
  return new BadData({ file }, `byte ${offset + nul + 1} is NUL, which no text has: a binary or damaged file`)
}

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

/** The one file in a zip archive: its name without folders, and its bytes, checked. */
async function onlyFile(file: string, archive: Buffer): Promise<{ name: string; bytes: Buffer }> {
  const refuse = (what: string, cause?: unknown) => new BadData({ file }, what, { cause })
  // Bundled, a CommonJS package has its default export alone.
  const { default: yauzl } = await import('yauzl')
  const entries: Entry[] = []
  let open: (entry: Entry) => Promise<Readable>
  try {
    const zip = await yauzl.fromBufferPromise(archive, { lazyEntries: true, autoClose: false })
    for await (const entry of zip.eachEntry()) entries.push(entry)
    open = entry => zip.openReadStreamPromise(entry)
  } catch (cause) {
    throw refuse('the zip archive is damaged or cut off', cause)
  }
  const found = entries.filter(({ fileName }) => !fileName.endsWith('/') && !fileName.startsWith('__MACOSX/'))
  const [entry] = found
  if (entry === undefined) throw refuse('the zip archive is empty')
  if (found.some(({ fileName }) => fileName === '[Content_Types].xml'))
    throw refuse('this is an Office document (Excel?); save the sheet as CSV and import that')
  if (found.length > 1) throw refuse(`the zip archive holds ${found.length} files; unpack it and import the folder`)
  if (entry.isEncrypted()) throw refuse('the zip archive is protected by a password; unpack it and import the file')
  const bytes = await open(entry)
    .then(gather)
    .catch(cause => {
      throw refuse('the zip archive is damaged', cause)
    })
  // yauzl checks sizes and leaves the checksum to us.
  if (crc32(bytes) !== entry.crc32) throw refuse('the zip archive is damaged')
  return { name: entry.fileName.slice(entry.fileName.lastIndexOf('/') + 1), bytes }
}
