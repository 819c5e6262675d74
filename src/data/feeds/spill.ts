import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StorageError } from '../../core/errors.js'

export type Column = Float64Array | Int32Array

const BUFFER_BYTES = 1 << 20

/**
 * Columns beyond the memory limit, in a temporary file. Where the system allows it, the open file has no name, so that
 * even a killed process leaves nothing.
 */
export class Spill {
  #file: { path: string; fd: number } | null = null
  /** null until columns are appended, which few files need */
  #buffer: Buffer | null = null
  #writtenBytes = 0
  #bufferedBytes = 0
  #isClosed = false

  /** Writes columns one after the other, and returns their offset. Throws StorageError if the disk is full. */
  append(columns: readonly Column[]): number {
    const offset = this.#writtenBytes + this.#bufferedBytes
    this.#buffer ??= Buffer.allocUnsafe(BUFFER_BYTES)
    for (const { buffer, byteOffset, byteLength } of columns) {
      const bytes = Buffer.from(buffer, byteOffset, byteLength)
      for (let from = 0; from < bytes.length; ) {
        const copied = bytes.copy(this.#buffer, this.#bufferedBytes, from)
        this.#bufferedBytes += copied
        from += copied
        if (this.#bufferedBytes === BUFFER_BYTES) this.#flush()
      }
    }
    return offset
  }

  /** Fills columns with the data at an offset. */
  readInto(offset: number, columns: readonly Column[]): void {
    this.#flush()
    let from = offset
    for (const { buffer, byteOffset, byteLength } of columns) {
      const bytes = Buffer.from(buffer, byteOffset, byteLength)
      this.#useFile('read', fd => readAll(fd, bytes, from))
      from += byteLength
    }
  }

  /** Closes and deletes the temporary file; reading or writing then throws. */
  close(): void {
    this.#isClosed = true
    this.#buffer = null
    if (this.#file === null) return
    closeSync(this.#file.fd)
    rmSync(this.#file.path, { force: true })
    this.#file = null
  }

  #flush(): void {
    if (this.#buffer === null || this.#bufferedBytes === 0) return
    const bytes = this.#buffer.subarray(0, this.#bufferedBytes)
    this.#useFile('written', fd => writeAll(fd, bytes, this.#writtenBytes))
    this.#writtenBytes += bytes.length
    this.#bufferedBytes = 0
  }

  /** Calls `work` with the open file. Throws StorageError for any failure. */
  #useFile(what: 'read' | 'written', work: (fd: number) => void): void {
    try {
      if (this.#isClosed) throw new Error('it was taken away')
      this.#file ??= createTemporaryFile()
      work(this.#file.fd)
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : message
      const mend = 'TMPDIR names a folder on a disk with more room'
      throw new StorageError(`a temporary file in ${tmpdir()} could not be ${what}: ${why}; ${mend}`, { cause })
    }
  }
}

/** Creates a temporary file, and deletes its name at once where the system allows it. */
function createTemporaryFile(): { path: string; fd: number } {
  const path = join(tmpdir(), `bands-${process.pid}-${Math.random().toString(36).slice(2)}.tmp`)
  const fd = openSync(path, 'wx+', 0o600)
  // Windows keeps the name of a file that is open.
  if (process.platform !== 'win32') rmSync(path, { force: true })
  return { path, fd }
}

/** Writes all bytes at an offset. A full disk takes a part of them without an error, and refuses the next part. */
function writeAll(fd: number, bytes: Buffer, offset: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, offset + done)
}

/** Fills `bytes` from an offset of a file. Throws if the file ends before. */
function readAll(fd: number, bytes: Buffer, offset: number): void {
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(fd, bytes, done, bytes.length - done, offset + done)
    if (read === 0) throw new Error('it ends too early')
    done += read
  }
}
