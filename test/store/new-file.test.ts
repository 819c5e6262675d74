import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openImporter } from '../../src/app/open/writing.js'
import { Busy, StorageError } from '../../src/core/errors.js'
import type { ImportOptions, ImportProgress } from '../../src/data/load/report.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { fileOf, HEADER } from '../support/imports.js'
import { bundled, started } from '../support/processes.js'
import { remount, smallDisk, sourced, temporaryFolder } from '../support/store.js'

/** More than are written in one transaction, which is 200. */
const MANY = [...simulatedTickers({ count: 210, bars: 3, seed: 6, end: 17_000 })].map(sourced)
const [ONE] = MANY
const LONG = [...simulatedTickers({ count: 214, bars: 1000, seed: 6, end: 17_000 })].slice(210).map(sourced)

async function put(db: string, tickers: typeof MANY, options: Pick<ImportOptions, 'onProgress'> = {}, wait = false) {
  const importer = await openImporter({ db, env: {}, wait })
  try {
    return await importer.put(tickers, options)
  } finally {
    await importer.close()
  }
}

/** The tickers of a database without damage. */
async function tickersIn(db: string): Promise<number> {
  const store = openSqlite(db, { readonly: true })
  try {
    expect(await store.verify()).toEqual([])
    return (await store.tickers()).length
  } finally {
    await store.close()
  }
}

describe('a first import', () => {
  it('that is killed leaves no file of its name; another is refused until then, or waits', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'bands.db')
    const program = await bundled('test/store/first-import-process.ts', temporaryFolder())
    const run = started(program, [db])
    while (run.lines().length === 0) await sleep(5)
    const underWay = readdirSync(folder)
    expect(
      underWay.filter(name => !name.startsWith('bands.db-')).map(name => name.replace(/\.\d.*\.new/, '.NEW')),
    ).toEqual(['bands.db.NEW'])
    await expect(put(db, [ONE!])).rejects.toThrow(Busy)
    expect(readdirSync(folder)).toEqual(underWay)
    const waiting = put(db, [ONE!], {}, true)
    await sleep(300)
    expect(existsSync(db)).toBe(false)
    run.child.kill('SIGKILL')
    await run.ended
    await waiting
    expect(readdirSync(folder).sort()).toEqual(['bands.db', 'bands.db-writer'])
    expect(await tickersIn(db)).toBe(1)
  })

  it('has its name before its first file is reported, and the next files come to it', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'bands.db')
    const paths = ['A', 'B'].map(name => fileOf(folder, `${name}.csv`, `${HEADER}\n2024-01-02,1,1,1,1,1\n`))
    const bad = fileOf(folder, 'bad.csv', `${HEADER}\n2024-01-02,1,1,1,x,1\n`)
    const importer = await openImporter({ db, env: {} })
    const inputs = [bad, ...paths].map(path => ({ name: path, path, bytes: null }))
    const found: number[] = []
    const onRefused = () => expect(existsSync(db)).toBe(false)
    for await (const _report of importer.import(inputs, { onRefused })) found.push(await tickersIn(db))
    await importer.close()
    expect(found).toEqual([1, 2])
  })

  it('of refused files alone makes no file', async () => {
    const folder = temporaryFolder()
    const bad = fileOf(folder, 'bad.csv', `${HEADER}\n2024-01-02,1,1,1,x,1\n`)
    const importer = await openImporter({ db: join(folder, 'bands.db'), env: {} })
    await expect(importer.import([{ name: bad, path: bad, bytes: null }]).next()).rejects.toThrow(/x/)
    await importer.close()
    expect(readdirSync(folder)).toEqual(['bad.csv'])
  })

  it('onto a disk that becomes full keeps the tickers that are loaded, and the same import goes on', async ({
    skip,
  }) => {
    const disk = smallDisk('16m')
    if (disk === null) return skip('no disk of its own can be had here')
    const db = join(disk, 'bands.db')
    const tickers = [...MANY.slice(0, 200), ...LONG]
    const onProgress = ({ stage, done }: ImportProgress): void => {
      if (stage !== 'deriving') return
      const { blocks, bfree, bsize } = statfsSync(disk)
      if (done === 203) remount(disk, `size=${((blocks - bfree) * bsize) / 1024 + 200}k`)
    }
    await expect(put(db, tickers, { onProgress })).rejects.toThrow(
      `${db}: the disk is full; what was being written is not in it; 200 of the 204 tickers of simulate are loaded`,
    )
    remount(disk, 'size=16m')
    expect(await tickersIn(db)).toBe(200)
    expect((await put(db, tickers)).map(({ added }) => added).slice(199, 201)).toEqual([0, 1000])
    expect(await tickersIn(db)).toBe(204)
  })

  it('reports the number of merged tickers, then of derived ones, each up to all of them', async () => {
    const seen: string[] = []
    const onProgress = ({ stage, done, of }: ImportProgress): void => void seen.push(`${stage} ${done}/${of}`)
    await put(join(temporaryFolder(), 'bands.db'), MANY, { onProgress })
    const all = (stage: string) => MANY.map((_, i) => `${stage} ${i + 1}/${MANY.length}`)
    expect(seen).toEqual([...all('merging'), ...all('deriving')])
  })

  it('replaces no file that another program has made meanwhile', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'bands.db')
    const onProgress = ({ stage, done }: ImportProgress): void => {
      if (stage === 'deriving' && done === 205) writeFileSync(db, 'another')
    }
    const refused = put(db, MANY, { onProgress })
    await expect(refused).rejects.toThrow(StorageError)
    await expect(refused).rejects.toThrow(`another program has made ${db} meanwhile`)
    expect(readFileSync(db, 'utf8')).toBe('another')
    expect(readdirSync(folder).sort()).toEqual(['bands.db', 'bands.db-writer'])
  })

  it('replaces no link to a file that does not exist, and names that file', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'bands.db')
    symlinkSync('missing/data.db', db)
    const refused = put(db, MANY)
    await expect(refused).rejects.toThrow(StorageError)
    await expect(refused).rejects.toThrow(`it is a link to ${join(folder, 'missing/data.db')}, where no file is`)
    expect(readlinkSync(db)).toBe('missing/data.db')
    expect(readdirSync(folder).sort()).toEqual(['bands.db'])
  })

  it('through a linked folder has the lock of the same file by its other name', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real'), join(folder, 'linked'))
    const [db, other] = ['real', 'linked'].map(name => join(folder, name, 'bands.db')) as [string, string]
    let refusal: unknown
    const first = openSqlite(db, { readonly: false, isPublishedLater: true })
    try {
      openSqlite(other, { readonly: false, isPublishedLater: true })
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(Busy)
    await first.publish()
    await first.close()
    expect(await tickersIn(other)).toBe(0)
  })
})
