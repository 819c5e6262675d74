import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { head } from '../../../src/model/series.js'
import { barsToCsv, type SimulatedTicker, simulatedTicker } from '../../../src/simulate/simulate.js'
import { Random } from '../../../src/statistics/random.js'
import { openPostgres } from '../../../src/store/postgres/data.js'
import { BIN } from '../../cli/support/run.js'
import { draws, NIGHT, provenInFull } from '../../support/full.js'
import { alone, kill, killProcess, type Target, untilItAnswers, type Victim } from '../../support/killing.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { pick } from '../../support/random-facts.js'
import { shardsForAll } from '../../support/shards.js'

const [FILES, TICKERS, BARS] = [6, 12, 500]
describePostgres('an import that a kill -9 interrupts', () => {
  const cluster = clusterForAll()
  interrupted(() => alone(cluster.current), ['server', 'connection', 'client'])
})

describePostgres('an import into three shards that a kill -9 interrupts', () => {
  const clusters = shardsForAll()
  interrupted(() => clusters.current, ['server', 'connection', 'client', 'shard', 'connection of a shard'])
})

function interrupted(target: () => Target, victims: readonly Victim[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'bands-'))
  const files = { first: [] as string[], next: [] as string[] }
  let expected = ''
  beforeAll(async () => {
    for (let i = 0; i < FILES; i++) {
      const tickers = Array.from({ length: TICKERS }, (_, t) => simulated(i * TICKERS + t + 1))
      files.first.push(
        written(
          `a${i}.csv`,
          tickers.map(one => ({ ...one, bars: head(one.bars, BARS - 20) })),
        ),
      )
      files.next.push(written(`b${i}.csv`, tickers))
    }
    const db = join(folder, 'bands.db')
    for (const names of [files.first, files.next]) await bands(['import', ...names, '--db', db]).ended
    expected = exported(db)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const rounds = draws(2)
  provenInFull(
    `loses nothing that it has said, leaves nothing half done, and is finished by the next (${rounds} rounds)`,
    async () => {
      const random = new Random(7)
      const killed: Partial<Record<Victim, number>> = {}
      let cutOff = 0
      for (let round = 0; round < rounds; round++) {
        const url = await target().createDatabase()
        for (const [names, bars] of [
          [files.first, BARS - 20],
          [files.next, BARS],
        ] as const) {
          const run = bands(['import', ...names, '--ndjson', '--db', url])
          while (run.lines().length === 0 && run.child.exitCode === null) await sleep(5)
          await sleep(random.below(1_500))
          const victim = pick(random, victims)
          killed[victim] = (killed[victim] ?? 0) + 1
          await kill(target(), victim, random, async () => killProcess(run.child.pid!))
          const code = await run.ended
          if (code !== 0) cutOff++
          expect([0, 8, null], run.said()).toContain(code)
          await untilItAnswers(url)
          await checkWhole(url, run.lines(), bars)
          const again = bands(['import', ...names, '--ndjson', '--wait', '--db', url])
          expect(await again.ended, again.said()).toBe(0)
          await checkWhole(url, again.lines(), bars)
        }
        expect(exported(url)).toBe(expected)
      }
      if (NIGHT) process.stdout.write(`${JSON.stringify({ rounds, killed, cutOff })}\n`)
    },
    rounds * 600_000,
  )

  function written(name: string, tickers: SimulatedTicker[]): string {
    const path = join(folder, name)
    writeFileSync(path, [...barsToCsv(tickers)].join(''))
    return path
  }
}

function simulated(index: number): SimulatedTicker {
  return simulatedTicker(index, { count: 1, bars: BARS, seed: 11, end: 17_000 })
}

/** The product as it is built, with what it prints. */
function bands(words: readonly string[]) {
  const child = spawn(process.execPath, [BIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const text = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text.err += chunk
  })
  return {
    child,
    /** Whole ones alone: what a file's line tells is loaded. */
    lines: () =>
      text.out
        .slice(0, text.out.lastIndexOf('\n') + 1)
        .split('\n')
        .filter(Boolean),
    said: () => text.err,
    ended: new Promise<number | null>(resolve => child.on('close', code => resolve(code))),
  }
}

/** What was told is there, and all that is there is as it was written. */
async function checkWhole(url: string, lines: readonly string[], bars: number): Promise<void> {
  const store = await openPostgres(url, { readonly: true })
  try {
    expect(await store.verify()).toEqual([])
    for (const line of lines) {
      const { ticker } = JSON.parse(line) as { ticker: string }
      expect((await store.ticker(ticker))?.bars, ticker).toBe(bars)
    }
  } finally {
    await store.close()
  }
}

/** All bars and events, without when and where they came from. */
function exported(db: string): string {
  const asked = (what: string): string =>
    execFileSync(process.execPath, [BIN, 'export', what, '--ndjson', '--db', db], {
      maxBuffer: 2 ** 30,
      encoding: 'utf8',
    })
  return asked('bars') + asked('events')
}
