import { fstatSync, write, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { StorageError } from '../errors.js'

/** Where text goes. */
export interface Stream {
  /** False for a pipe or a file. */
  readonly terminal: boolean
  /** Columns of the terminal; null where unknown. */
  columns(): number | null
  /** Resolves when everything is handed over, so a slow reader slows the writer. Throws ClosedPipe. */
  write(chunk: string | Uint8Array): Promise<void>
}

/** The reader of our output has gone (`| head -1`): no fault, and nothing left to do. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe'
}

/**
 * Standard output or error by its descriptor. `process.stdout` is touched on a terminal only, because its first touch
 * costs more than answering a question does.
 */
export function descriptor(fd: 1 | 2): Stream {
  const terminal = isTerminal(fd)
  return {
    terminal,
    columns: () => (terminal ? ((fd === 1 ? process.stdout : process.stderr).columns ?? null) : null),
    write: chunk => writeAll(fd, typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
  }
}

/** Up to here a write is done at once; above, off the main thread, so that a blocked pipe still lets signals through. */
const SMALL = 16_384

const writeLater = promisify(write)

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  let at = 0
  while (at < bytes.length) {
    try {
      if (bytes.length <= SMALL) at += writeSync(fd, bytes, at)
      else at += (await writeLater(fd, bytes, at, bytes.length - at, null)).bytesWritten
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'EPIPE') throw new ClosedPipe()
      // A pipe that whoever started us made non-blocking, and that is full at the moment.
      if (code !== 'EAGAIN') throw new StorageError(`cannot write the output: ${(cause as Error).message}`, { cause })
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
}

function isTerminal(fd: number): boolean {
  try {
    // Most runs in a script write to a pipe or a file, which this tells without loading node's terminal code.
    if (!fstatSync(fd).isCharacterDevice()) return false
  } catch {
    return false
  }
  const { isatty } = createRequire(import.meta.url)('node:tty') as typeof import('node:tty')
  return isatty(fd)
}
