import { crc32 } from 'node:zlib'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'
import { BadData } from '../errors.js'

/** The one file in a zip archive: its name without folders, and its bytes, checked. Throws BadData. */
export async function onlyFile(file: string, archive: Buffer): Promise<{ name: string; bytes: Buffer }> {
  const refuse = (what: string, cause?: unknown) => new BadData({ file }, what, { cause })
  const listed = await contents(archive).catch(cause => {
    throw refuse('the zip archive is damaged or cut off', cause)
  })
  const found = listed.entries.filter(({ fileName }) => !fileName.endsWith('/') && !fileName.startsWith('__MACOSX/'))
  const [entry] = found
  if (entry === undefined) throw refuse('the zip archive is empty')
  if (found.some(({ fileName }) => fileName === '[Content_Types].xml'))
    throw refuse('this is an Office document (Excel?); save the sheet as CSV and import that')
  if (found.length > 1) throw refuse(`the zip archive holds ${found.length} files; unpack it and import the folder`)
  if (entry.isEncrypted()) throw refuse('the zip archive is protected by a password; unpack it and import the file')
  try {
    const bytes = await unpacked(listed.zip, entry)
    return { name: entry.fileName.slice(entry.fileName.lastIndexOf('/') + 1), bytes }
  } catch (cause) {
    throw refuse('the zip archive is damaged', cause)
  }
}

function contents(archive: Buffer): Promise<{ zip: ZipFile; entries: Entry[] }> {
  return new Promise((resolve, reject) => {
    fromBuffer(archive, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) return reject(error)
      const entries: Entry[] = []
      zip.on('entry', (entry: Entry) => {
        entries.push(entry)
        zip.readEntry()
      })
      zip.on('error', reject)
      zip.on('end', () => resolve({ zip, entries }))
      zip.readEntry()
    })
  })
}

/** yauzl checks sizes and leaves the checksum to us. */
async function unpacked(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const chunks = await new Promise<Buffer[]>((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) return reject(error)
      const read: Buffer[] = []
      stream.on('data', (chunk: Buffer) => read.push(chunk))
      stream.on('error', reject)
      stream.on('end', () => resolve(read))
    })
  })
  const bytes = Buffer.concat(chunks)
  if (crc32(bytes) !== entry.crc32) throw new RangeError('the checksum does not fit')
  return bytes
}
