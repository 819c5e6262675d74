import { appendFileSync, copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wordsAsText } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import type { BarsReport, ImportOptions } from '../../src/data/load/report.js'
import { Cache } from '../../src/data/local/cache.js'
import { doctor } from '../../src/data/local/doctor.js'
import { Local } from '../../src/data/local/local.js'
import { status } from '../../src/data/local/status.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { FULL } from '../support/full.js'
import { contentAt, fileOf, HEADER, WHO } from '../support/imports.js'
import { smallDisk, temporaryFolder } from '../support/store.js'

/** As many are written as one. */
const ONCE = 200
/** For two writes, and for three. */
const TWO = ONCE + 10
const THREE = 2 * ONCE + 10

/** Rows of so many tickers from a day on, their prices so many times what they would be. */
function file(folder: string, name: string, tickers: number, from: number, days: number, times = 1): string {
  const rows = Array.from({ length: tickers }, (_, i) =>
    Array.from({ length: days }, (_, day) => {
      const date = new Date(Date.UTC(2024, 0, 1 + from + day)).toISOString().slice(0, 10)
      const close = ((100 + ((i + from + day) % 7)) * times).toFixed(2)
      return `T${String(i).padStart(3, '0')},${date},${close},${close},${close},${close},1000\n`
    }).join(''),
  )
  return fileOf(folder, name, `ticker,${HEADER}\n${rows.join('')}`)
}

const KILLED = new Error('killed')

/** Imports a file into a database, and dies at a write, counted from 1; or something else happens to it there. */
async function run(
  db: string,
  path: string,
  options: ImportOptions = {},
  dies = 0,
  happens = (): void => {
    throw KILLED
  },
): Promise<BarsReport | null> {
  const store = openSqlite(db, { readonly: false })
  let writes = 0
  const write: Store['write'] = async (batch, definitions) => {
    if (++writes >= dies && dies > 0) happens()
    await store.write(batch, definitions)
  }
  const mortal = new Proxy(store, {
    get(target, name) {
      const value: unknown = name === 'write' ? write : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const importer = await Importer.begin(mortal, readFile, WHO)
  try {
    for await (const report of importer.import([{ name: path, path, bytes: null }], options))
      if (report.holds === 'bars') return report
    return null
  } catch (error) {
    if (error !== KILLED) throw error
    return null
  } finally {
    await importer.close()
  }
}

async function statusOf(db: string) {
  const store = openSqlite(db, { readonly: true })
  const { part_loaded = [], unfinished, tickers } = await status(new Cache(store, null, null))
  const damages = await store.verify()
  await store.close()
  return { part_loaded, unfinished, tickers: tickers.length, damages }
}

describe('an import that is stopped between two writes', () => {
  it('leaves its first tickers whole, and says so until the same import has gone on to its end', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'stopped.db')
    const whole = join(folder, 'whole.db')
    const path = file(folder, 'all.csv', TWO, 0, 20)
    await run(whole, path)
    await run(db, path, {}, 2)
    const stopped = await statusOf(db)
    expect(stopped).toMatchObject({ tickers: ONCE, unfinished: 0, damages: [] })
    expect(stopped.part_loaded).toMatchObject([{ file: path, tickers: ONCE, of: TWO }])
    const report = (await run(db, path))!
    expect(report.resumed).toBe(ONCE)
    expect(report.tickers.map(({ added, unchanged }) => [added, unchanged])).toEqual(
      Array.from({ length: TWO }, (_, i) => (i < ONCE ? [0, 20] : [20, 0])),
    )
    expect(await contentAt(db)).toEqual(await contentAt(whole))
    expect(await statusOf(db)).toMatchObject({ part_loaded: [], tickers: TWO, damages: [] })
  })

  const ways = [
    ['rescale', { rescale: true }, 20, 0.5],
    ['replace', { replace: true }, 5, 1],
    ['accept_jump', { acceptJump: true }, 20, 0.5],
  ] as const
  it.each(FULL ? ways : ways.slice(0, 1))(
    'goes on with %s where it was stopped, and does so to no ticker twice',
    async (_, options, from, times) => {
      const folder = temporaryFolder()
      const db = join(folder, 'stopped.db')
      const whole = join(folder, 'whole.db')
      const before = file(folder, 'before.csv', THREE, 0, 20)
      const path = file(folder, 'all.csv', THREE, from, 10, times)
      await run(db, before)
      copyFileSync(db, whole)
      await run(whole, path, options)
      for (const dies of [2, 2]) expect(await run(db, path, options, dies)).toBeNull()
      const report = (await run(db, path, options))!
      expect([report.resumed, report.refused]).toEqual([2 * ONCE, []])
      expect(report.tickers.slice(0, 2 * ONCE).every(({ unchanged }) => unchanged === 10)).toBe(true)
      expect(await contentAt(db)).toEqual(await contentAt(whole))
      expect((await statusOf(db)).part_loaded).toEqual([])
    },
  )

  it('begins again where something else has changed bars in the meantime', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'stopped.db')
    const whole = join(folder, 'whole.db')
    const other = file(folder, 'other.csv', TWO, 20, 10)
    const path = file(folder, 'all.csv', TWO, 0, 20)
    await run(whole, path, { replace: true })
    await run(db, path, { replace: true }, 2)
    await run(db, other)
    expect((await statusOf(db)).part_loaded).toMatchObject([{ file: path, tickers: ONCE }])
    const report = (await run(db, path, { replace: true }))!
    expect([report.resumed, report.tickers[0]?.added]).toEqual([undefined, 20])
    expect(await contentAt(db)).toEqual(await contentAt(whole))
    expect((await statusOf(db)).part_loaded).toEqual([])
  })

  it('keeps fields that use facts available, with unchanged stamps of answers', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'stopped.db')
    const path = file(folder, 'all.csv', TWO, 0, 3)
    await run(db, path, {}, 2)
    const store = openSqlite(db, { readonly: true })
    const source = new Local(store, 'pro', null)
    expect(await source.granted()).toEqual({ fields: FIELDS, omitted: [] })
    const stamp = () => source.answerStamp([{ ticker: 'T000', timeframe: 'daily', field: 'growth_zone' }])
    const before = await stamp()
    await run(db, path)
    expect(await stamp()).toBe(before)
    await store.close()
  })

  it('by a full disk says what is loaded, and that the same import goes on after that', async ({ skip }) => {
    const disk = smallDisk('64m')
    if (disk === null) return skip('no disk of its own can be had here')
    const db = join(disk, 'full.db')
    const filler = join(disk, 'filler')
    const path = file(temporaryFolder(), 'all.csv', TWO, 0, 20)
    const fill = () => expect(() => appendFileSync(filler, Buffer.alloc(64 << 20))).toThrow(/ENOSPC/)
    await expect(run(db, path, {}, 2, fill)).rejects.toThrow(
      `${db}: the disk is full; what was being written is not in it; ${ONCE} of the ${TWO} tickers of ${path} are loaded, and the same import again goes on after them`,
    )
    rmSync(filler)
    expect(await statusOf(db)).toMatchObject({ tickers: ONCE, part_loaded: [{ tickers: ONCE, of: TWO }], damages: [] })
    expect((await run(db, path))!.resumed).toBe(ONCE)
  })

  it('is reported by the doctor, with the command that continues it, until a rebuild accepts it', async () => {
    const folder = temporaryFolder()
    const db = join(folder, 'stopped.db')
    await run(db, file(folder, 'all.csv', THREE, 0, 3), {}, 3)
    await run(db, file(folder, 'other.csv', THREE, 3, 1))
    const about = { node: process.versions.node, abi: process.versions.modules, today: 20_000 }
    const checked = async () => {
      const { checks } = await doctor({ database: db, ...about, extraChecks: [], terminal: [] })
      const { outcome, detail, remedy } = checks.find(({ name }) => name === 'imports')!
      return [outcome, detail, remedy === null ? null : wordsAsText(remedy)]
    }
    expect(await checked()).toEqual([
      'warn',
      `${2 * ONCE} of the ${THREE} tickers of ${join(folder, 'all.csv')} are loaded`,
      'wait for it; if none is running, the same import again goes on; rebuild leaves it at that',
    ])
    const importer = await Importer.begin(openSqlite(db, { readonly: false }), readFile, WHO)
    await importer.rebuild()
    await importer.close()
    expect(await checked()).toEqual(['ok', 'finished', null])
    expect((await statusOf(db)).part_loaded).toEqual([])
  })
})

it('a rebuild that is stopped leaves nothing that could be taken for derived with these definitions', async () => {
  const folder = temporaryFolder()
  const db = join(folder, 'stopped.db')
  await run(db, file(folder, 'all.csv', TWO, 0, 3))
  const store = openSqlite(db, { readonly: false })
  await store.write({}, 'older')
  await store.close()
  await run(db, file(folder, 'more.csv', TWO, 3, 1), {}, 2)
  const half = openSqlite(db, { readonly: true })
  await expect(new Cache(half, null, null).view('T000', 'daily', 'rsi_zone')).rejects.toThrow(/rebuild/)
  await half.close()
  await run(db, file(folder, 'more.csv', TWO, 3, 1))
  expect((await statusOf(db)).tickers).toBe(TWO)
})
