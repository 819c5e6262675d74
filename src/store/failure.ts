import { Busy, StorageError } from '../errors.js'

/**
 * What SQLite says went wrong, as an error that names the file and what to do; anything else as it is.
 *
 * @param remedy what to do when the file is damaged
 */
export function translated(location: string, cause: unknown, remedy: string): unknown {
  const code = (cause as { code?: unknown }).code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return cause
  const message = (cause as Error).message
  if (code.startsWith('SQLITE_BUSY'))
    return new Busy(`${location} is busy: another process is writing; try again`, { cause })
  if (code.startsWith('SQLITE_FULL'))
    return new StorageError(`${location}: the disk is full; nothing was changed`, { cause })
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    return new StorageError(`${location} is damaged (${message}); ${remedy}`, { cause })
  if (code.startsWith('SQLITE_READONLY'))
    return new StorageError(`${location} cannot be written: ${message}`, { cause })
  return new StorageError(`${location}: ${message} (${code})`, { cause })
}
