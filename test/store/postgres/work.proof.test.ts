import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { parseDay } from '../../../src/model/day.js'
import { openQueue } from '../../../src/open/queue.js'
import { barsToCsv, type SimulatedTicker, simulatedTicker } from '../../../src/simulate/simulate.js'
import { Random } from '../../../src/statistics/random.js'
import type { Job, Queue } from '../../../src/store/postgres/queue.js'
import { BIN, typed } from '../../cli/support/run.js'
import { draws, NIGHT, provenInFull } from '../../support/full.js'
import { alone, kill, type Target, type Victim } from '../../support/killing.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { pick } from '../../support/random-facts.js'
import { shardsForAll } from '../../support/shards.js'
import { derivedIn } from '../../support/store.js'

/** Files that are written in one transaction, and one that takes several. */
const [FILES, TICKERS, BARS] = [8, 6, 400]
const [MANY, FEW] = [450, 60]

describePostgres('three workers that are killed', () => {
  const cluster = clusterForAll()
  working(
    () => alone(cluster.current),
    ['client', 'client', 'client', 'connection', 'server'],
    async (url, bars) => {
      expect(await cluster.current.sql(ADDED, url.split('/').at(-1))).toEqual([`${bars}|0|${FILES}`])
    },
  )
})

describePostgres('three workers over three shards that are killed', () => {
  const clusters = shardsForAll()
  const victims = ['client', 'client', 'connection', 'server', 'shard', 'connection of a shard'] as const
  // A job that has written on one shard, when another dies, is done again over that: it is not done once to the row.
  working(
    () => clusters.current,
    victims,
    async () => {},
  )
})

/** @param checkJobs looks at the jobs themselves, of files with so many bars that are written in one transaction each */
function working(
  target: () => Target,
  victims: readonly Victim[],
  checkJobs: (url: string, bars: number) => Promise<void>,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'bands-work-'))
  const workers = new Set<ChildProcess>()
  let expected: Awaited<ReturnType<typeof derivedIn>>
  let bars = 0
  beforeAll(async () => {
    for (let i = 0; i < FILES; i++) {
      const tickers = Array.from({ length: TICKERS }, (_, t) => simulated(i * TICKERS + t + 1, BARS))
      bars += tickers.reduce((sum, ticker) => sum + ticker.bars.days.length, 0)
      write(`a${i}.csv`, [...barsToCsv(tickers)])
    }
    const many = Array.from({ length: MANY }, (_, t) => simulated(1_000 + t, FEW))
    write('b.csv', [...barsToCsv(many)])
    const url = await target().front.createDatabase()
    expect((await typed(`import ${folder} --db ${url}`)).code).toBe(0)
    expected = await derivedIn(url)
  })
  afterAll(() => {
    for (const worker of workers) worker.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const rounds = draws(2)
  provenInFull(
    `have every job done whole, and no row lost or written twice (${rounds} rounds)`,
    async () => {
      const random = new Random(11)
      const killed: Partial<Record<Victim, number>> = {}
      let begun = 0
      for (let round = 0; round < rounds; round++) {
        const url = await target().createDatabase()
        await typed(`import ${folder} --queue --db ${url}`)
        for (let i = 0; i < 3; i++) started(url)
        for (let kills = 0; kills < 4; kills++) {
          await sleep(200 + random.below(1_500))
          const victim = pick(random, victims)
          killed[victim] = (killed[victim] ?? 0) + 1
          await kill(target(), victim, random, killOne)
          while (workers.size < 3) started(url)
        }
        const jobs = await whenDone(url)
        for (const worker of workers) worker.kill('SIGTERM')
        await Promise.all([...workers].map(worker => new Promise(resolve => worker.once('close', resolve))))
        begun += jobs.reduce((sum, { tries }) => sum + tries, 0)
        expect(await derivedIn(url)).toEqual(expected)
        await checkJobs(url, bars)
      }
      if (NIGHT) process.stdout.write(`${JSON.stringify({ rounds, killed, begun })}\n`)
    },
    1_800_000,
  )

  function write(name: string, text: readonly string[]): void {
    writeFileSync(join(folder, name), text.join(''))
  }

  function started(url: string): void {
    const worker = spawn(process.execPath, [BIN, 'work', '--quiet', '--threads', '1', '--db', url], { stdio: 'ignore' })
    workers.add(worker)
    worker.once('close', () => workers.delete(worker))
  }

  async function killOne(): Promise<void> {
    const [worker] = workers
    if (worker === undefined) return
    const ended = new Promise(resolve => worker.once('close', resolve))
    worker.kill('SIGKILL')
    await ended
  }
}

/** Of files that are written in one transaction: how many bars their jobs have added in all, and how many were there already. */
const ADDED = `SELECT sum((ticker->>'added')::int), sum((ticker->>'unchanged')::int), count(DISTINCT id)
  FROM bands_queue.job, jsonb_array_elements((output->>'answer')::jsonb->'files') file, jsonb_array_elements(file->'tickers') ticker
  WHERE data->>'command' = 'import' AND file->>'file' LIKE '%/a%'`

function simulated(index: number, bars: number): SimulatedTicker {
  return simulatedTicker(index, { count: 1, bars, seed: 11, end: parseDay('2016-07-18')! })
}

/** Waits until nothing is left to be done. @returns what was */
async function whenDone(url: string): Promise<Job[]> {
  for (;;) {
    let queue: Queue | undefined
    try {
      queue = await openQueue({ db: url, env: {} })
      const { waiting, running, done } = await queue.counts()
      if (waiting + running === 0) {
        const failed = await queue.jobs({ state: 'failed', limit: 100 })
        expect(failed.map(({ task, error }) => [task.command, error])).toEqual([])
        expect(done).toBeGreaterThanOrEqual(FILES + 1)
        return await queue.jobs({ limit: 1_000 })
      }
    } catch (error) {
      // A server that was killed recovers.
      if (!/started or stopped|does not answer|cannot be reached/.test(String(error))) throw error
    } finally {
      await queue?.close()
    }
    await sleep(200)
  }
}
