import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Trial, Trials } from '../../src/source.js'
import { openSqliteTrials } from '../../src/store/sqlite/lists.js'
import { counted } from '../../src/study/trials.js'
import { Database } from '../support/database.js'
import { temporaryFolder } from '../support/store.js'

const [one, two, three] = [1, 2, 3].map(
  (n): Trial => ({ hash: String(n).padStart(64, '0'), spec: `cell ${n}`, p: n / 10, test: 'shift', sharpe: null }),
) as [Trial, Trial, Trial]

async function ask(trials: Trials | null) {
  const noted = await trials?.note('cell', [one, two])
  return { noted: noted ?? null, known: (await trials?.of('cell')) ?? null, warnings: ['another one'] }
}

/** A ledger that has one cell, and what another process does to its file. */
async function ledger(sql: string): Promise<Trials> {
  const path = join(temporaryFolder(), 'bands.trials.db')
  const trials = openSqliteTrials(path)
  onTestFinished(() => trials.close())
  await trials.note('cell', [one])
  const db = new Database(path)
  db.exec(sql)
  db.close()
  return trials
}

describe('a question whose looks are noted', () => {
  it('is answered as it is where they can be', async () => {
    const found = await counted(await ledger(''), ask)
    expect(found).toEqual({ noted: { ofKind: 2, all: 2 }, known: [one, two], warnings: ['another one'] })
  })

  it('is answered without a ledger', async () => {
    expect(await counted(null, ask)).toEqual({ noted: null, known: null, warnings: ['another one'] })
  })

  it('keeps its answer where the ledger cannot be written, counts its looks all the same, and says so', async () => {
    const trials = await ledger("CREATE TRIGGER full BEFORE INSERT ON trials BEGIN SELECT RAISE(ABORT, 'full'); END")
    const found = await counted(trials, ask)
    expect(found).toMatchObject({ noted: { ofKind: 2, all: 2 }, known: [one, two] })
    expect(found.warnings).toEqual([
      'another one',
      expect.stringMatching(/^this run is not noted in the ledger of .*full/),
    ])
    expect(await trials.of('cell')).toEqual([one])
  })

  it('keeps its answer where the ledger cannot even be read', async () => {
    const found = await counted(await ledger('DROP TABLE trials'), ask)
    expect(found).toMatchObject({ noted: { ofKind: 2, all: 2 }, known: [one, two] })
    expect(found.warnings).toHaveLength(2)
  })

  it('throws what the question throws', async () => {
    const trials = await ledger('')
    const failing = async (): Promise<{ warnings: string[] }> => Promise.reject(new RangeError('no such thing'))
    await expect(counted(trials, failing)).rejects.toThrow('no such thing')
    expect(await trials.of('cell')).not.toContain(three)
  })
})
