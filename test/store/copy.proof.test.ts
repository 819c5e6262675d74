import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { openStore } from '../../src/store/opening.js'
import { everythingIn, expectAlike } from '../support/copies.js'
import { draws, FULL } from '../support/full.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { bundled, started } from '../support/processes.js'
import { loadedInto, temporaryFolder } from '../support/store.js'

const COUNT = FULL ? 120 : 48
const KILLS = Math.max(3, draws(20))

/** How many tickers there are, as a reader of the target sees it in the middle of a copy; null: it cannot be opened yet. */
async function lookedAt(address: string): Promise<{ tickers: number; definitions: string } | null> {
  if (!address.includes(':') && !existsSync(address)) return null
  const store = await openStore(address, { readonly: true }).catch(() => null)
  if (store === null) return null
  try {
    return await store.atOneMoment(async () => {
      const found = { tickers: 0, definitions: await store.definitions() }
      // Whole, or not there: each is read with all that belongs to it.
      for (const { daily, weekly, entry } of await store.summaries()) {
        expect([daily.bars, weekly.bars > 0]).toEqual([entry.bars, true])
        found.tickers += 1
      }
      return found
    })
  } finally {
    await store.close()
  }
}

describePostgres('a copy whose process is killed', () => {
  const cluster = clusterForAll()
  const folder = mkdtempSync(join(tmpdir(), 'bands-copy-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let program: string
  let source: string
  beforeAll(async () => {
    program = await bundled('test/cli/bands-process.ts', folder)
    source = await cluster.current.createDatabase()
    const store = await openStore(source, { readonly: false })
    await loadedInto(store, [...simulatedTickers({ count: COUNT, bars: 150, seed: 3, end: 17_000 })])
    await store.close()
  })

  it.each(['a file', 'PostgreSQL'])('into %s leaves whole tickers, and the next one converges', async kind => {
    const target = kind === 'a file' ? join(temporaryFolder(), 'bands.db') : await cluster.current.createDatabase()
    const words = ['store', 'copy', '--from', source, '--to', target, '-q']
    const seen: number[] = []
    for (let kill = 1; kill <= KILLS; kill++) {
      const run = started(program, words)
      let isOver = false
      void run.ended.then(() => {
        isOver = true
      })
      const enough = (COUNT * kill) / (KILLS + 1)
      while (!isOver && ((await lookedAt(target))?.tickers ?? 0) < enough) await sleep(1)
      run.child.kill('SIGKILL')
      await run.ended
      const found = (await lookedAt(target))!
      seen.push(found.tickers)
      if (found.tickers < COUNT) expect(found.definitions).toBe(`a part of ${source.replace('bands@', '')}`)
    }
    // Each has found what the one before had left.
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(await started(program, words).ended).toBe(0)
    const [one, other] = [await openStore(source, { readonly: true }), await openStore(target, { readonly: true })]
    expectAlike(await everythingIn(other), await everythingIn(one))
    await Promise.all([one.close(), other.close()])
  })
})
