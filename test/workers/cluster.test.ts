import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RayCluster } from '../../src/app/open/cluster.js'
import { lengthBytes, readFrames, serializeMessage } from '../../src/app/open/frames.js'
import { parseBacktest } from '../../src/core/params/backtest.js'
import { parseGrid } from '../../src/core/params/grid.js'
import { parseStudy, parseSweep } from '../../src/core/params/studies.js'
import type { PricedSource } from '../../src/core/source.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { grid } from '../../src/research/backtest/grid.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { NIGHT } from '../support/full.js'
import { NO_RAY, RAY_ENV, RayOnLoopback } from '../support/ray.js'
import { fixture, openedForAll, storeOf, temporaryFolder } from '../support/store.js'

/**
 * Ray is started here, on loopback, from the Python that PYTHON names or python3 is. Without it these tests are skipped,
 * unless REQUIRE_RAY=1.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BANDS = join(ROOT, 'bin', 'bands.js')
const GATEWAY = join(ROOT, 'dist', 'workers', 'gateway.py')
const TICKERS = 12
/** Long enough for Ray, and far shorter than a hang. */
const LIMIT = 240_000
const ROUNDS = NIGHT ? 10 : 1

let store: Store
openedForAll(async folder => {
  store = await storeOf(
    Array.from({ length: TICKERS }, (_, i) => fixture(i + 1, 600)),
    folder,
  )
  return store
})

const QUESTIONS: Readonly<Record<string, (source: PricedSource, tickers: string[]) => Promise<unknown>>> = {
  'a sweep': (source, tickers) => sweep(source, parseSweep({ tickers, resamples: 199, pbo_blocks: 4 })),
  'a sweep by ticker, validated': (source, tickers) =>
    sweep(source, parseSweep({ tickers, field: 'rsi_zone', by: 'ticker', resamples: 99, pbo_blocks: 4, cv: { k: 3 } })),
  'a study': (source, tickers) =>
    eventStudy(source, parseStudy({ tickers, field: 'rsi_zone', band: 'oversold', abnormal: 'mean' })),
  draws: (source, tickers) => {
    const { strategy, run } = parseBacktest({ tickers, field: 'rsi_zone', hold: 10, max_positions: 2 }, { tier: null })
    return backtest(source, strategy, run)
  },
  'candidates, walking forward': (source, tickers) => {
    const asked = { tickers, field: 'rsi_zone', hold: [5, 10], max_positions: 2 }
    const parts = { walk_forward: { train: 200, test: 100, step: 100 } }
    const { strategy, run } = parseBacktest({ ...asked, ...parts }, { tier: null })
    return backtest(source, strategy, run)
  },
  'a grid': (source, tickers) => {
    const vary = ['hold=5,10,20', 'stop=none,5%']
    return grid(source, parseGrid({ tickers, field: 'rsi_zone', max_positions: 2, vary }, { tier: null }))
  },
}

async function answer(name: string, cluster?: RayCluster): Promise<string> {
  const local = new Local(store, null, null, { threads: 1, cluster })
  return JSON.stringify(await QUESTIONS[name]!(local, await store.names()))
}

describe.skipIf(NO_RAY !== '')(`a cluster of Ray${NO_RAY}`, () => {
  let ray: RayOnLoopback
  let cluster: RayCluster

  beforeAll(async () => {
    ray = await RayOnLoopback.start(2)
    cluster = new RayCluster(ray.address, { env: RAY_ENV })
  }, LIMIT)
  afterAll(async () => {
    await cluster.close()
    await ray.stop()
  }, LIMIT)

  it.each(Object.keys(QUESTIONS))('answers %s with the bytes of this machine', { timeout: LIMIT }, async name => {
    const here = await answer(name)
    expect(here.length).toBeGreaterThan(1000)
    expect((await answer(name, cluster)) === here).toBe(true)
  })

  // A worker as an actor did not come back from this: the command waited for ever.
  it.each([
    ['a process of bands', () => ray.killHost()],
    ['a worker of Ray', () => ray.killWorker()],
    ['a raylet', () => ray.killRaylet()],
  ])('answers the same, and does not hang, where %s is killed', { timeout: ROUNDS * LIMIT }, async (_, kill) => {
    const here = await answer('a sweep')
    for (let round = 0; round < ROUNDS; round++) {
      const [there] = await Promise.all([answer('a sweep', cluster), kill()])
      expect(there === here).toBe(true)
    }
  })

  it('refuses every question, and does not hang, after its gateway was killed', { timeout: LIMIT }, async () => {
    const lost = new RayCluster(ray.address, { env: RAY_ENV })
    await answer('a study', lost)
    execFileSync('pkill', ['-KILL', '--newest', '--full', 'workers/gateway.py'])
    for (let question = 0; question < 3; question++)
      await expect(answer('a study', lost)).rejects.toThrow('the connection to Ray ended')
    await lost.close()
  })

  it('derives a database again to the same events', { timeout: LIMIT }, async () => {
    const made = await storeOf(
      [1, 2, 3].map(i => fixture(i, 600)),
      temporaryFolder(),
    )
    await made.close()
    const db = made.location
    const run = (...words: string[]): string => {
      const { stdout, stderr, status } = spawnSync(process.execPath, [BANDS, ...words, '--db', db], {
        env: RAY_ENV,
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      })
      expect(status, stderr).toBe(0)
      return stdout
    }
    const before = run('export', 'events')
    run('rebuild', '--cluster', ray.address)
    expect(run('export', 'events') === before).toBe(true)
    expect(run('verify')).toContain('3 tickers checked')
  })

  it('cancels what runs when it is stopped', { timeout: LIMIT }, async () => {
    const words = ['sweep', '--all', '--db', store.location, '--tests', 'bootstrap 5000', '--cluster', ray.address]
    const child = spawn(process.execPath, [BANDS, ...words], { env: RAY_ENV, stdio: 'ignore' })
    const ended = once(child, 'exit')
    await until(() => ray.workers().length > 0)
    child.kill('SIGINT')
    const [code, signal] = await ended
    expect(code === 130 || signal === 'SIGINT').toBe(true)
    await until(() => ray.workers().length === 0)
  })

  it('refuses the bands of a worker that is another one', { timeout: LIMIT }, async () => {
    const child = spawn('python3', [GATEWAY], { env: RAY_ENV, stdio: ['pipe', 'pipe', 'ignore'] })
    const send = (kind: string, bytes: Buffer): void => {
      const head = Buffer.alloc(9)
      head.write(kind, 'latin1')
      child.stdin.write(Buffer.concat([head, lengthBytes(bytes), bytes]))
    }
    const host = join(ROOT, 'dist', 'workers', 'host.js')
    const own = { node: process.execPath, host, version: '1', identity: 'bands of yesterday' }
    send('S', Buffer.from(JSON.stringify({ address: ray.address, cpus: null, retries: 1, ...own })))
    send('D', serializeMessage({ job: 'derive', data: null }))
    send('T', serializeMessage([]))
    const answers: string[] = []
    for await (const { head, bytes } of readFrames(child.stdout, 17)) {
      answers.push(`${head.toString('latin1', 0, 1)} ${bytes}`)
      if (answers.length === 2) child.stdin.end()
    }
    expect(answers[1]).toMatch(/^F \S+ has bands .* and not bands of yesterday$/)
  })

  it('is refused at an address where none answers', { timeout: LIMIT }, async () => {
    const none = new RayCluster('ray://127.0.0.1:1', { env: RAY_ENV })
    await expect(none.open({ job: 'derive', data: null })).rejects.toThrow('ray://127.0.0.1:1 does not answer')
  })
})

it('needs Python, and says how Ray comes to it', async () => {
  const cluster = new RayCluster('ray', { env: { PATH: '' } })
  const open = cluster.open({ job: 'derive', data: null })
  await expect(open).rejects.toThrow(/^a cluster needs python3 with Ray, .* this line installs it:\n {2}python3 -m pip/)
  await expect(open).rejects.toMatchObject({ code: 'config' })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 50))
}
