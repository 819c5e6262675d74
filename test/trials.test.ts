import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { describeTrials } from '../src/app/present/data.js'
import { ANY_EVENT } from '../src/core/params/studies.js'
import type { Trial, TrialQuestion, Trials } from '../src/core/source.js'
import { openSqliteTrials } from '../src/data/store/sqlite/lists.js'
import { openBands } from '../src/index.js'
import {
  CELL_TEST,
  cellTrial,
  compareWithLog,
  correctedByLog,
  countedTrials,
  hashOf,
  RANDOM_ENTRY,
  withCountedTrials,
} from '../src/research/trials.js'
import { scratch } from './cli/support/run.js'
import { Database } from './support/database.js'
import { csv, fileOf, imported, simulatedRows } from './support/imports.js'
import { temporaryFolder } from './support/store.js'

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
    const found = await withCountedTrials(await ledger(''), ask)
    expect(found).toEqual({ noted: { ofKind: 2, all: 2 }, known: [one, two], warnings: ['another one'] })
  })

  it('is answered without a ledger', async () => {
    expect(await withCountedTrials(null, ask)).toEqual({ noted: null, known: null, warnings: ['another one'] })
  })

  it('keeps its answer where the ledger cannot be written, counts its looks all the same, and says so', async () => {
    const trials = await ledger("CREATE TRIGGER full BEFORE INSERT ON trials BEGIN SELECT RAISE(ABORT, 'full'); END")
    const found = await withCountedTrials(trials, ask)
    expect(found).toMatchObject({ noted: { ofKind: 2, all: 2 }, known: [one, two] })
    expect(found.warnings).toEqual([
      'another one',
      expect.stringMatching(/^this run is not noted in the trial log: .*full/),
    ])
    expect(await trials.of('cell')).toEqual([one])
  })

  it('keeps its answer where the ledger cannot even be read', async () => {
    const found = await withCountedTrials(await ledger('DROP TABLE trials'), ask)
    expect(found).toMatchObject({ noted: { ofKind: 2, all: 2 }, known: [one, two] })
    expect(found.warnings).toHaveLength(2)
  })

  it('throws what the question throws', async () => {
    const trials = await ledger('')
    const failing = async (): Promise<{ warnings: string[] }> => Promise.reject(new RangeError('no such thing'))
    await expect(withCountedTrials(trials, failing)).rejects.toThrow('no such thing')
    expect(await trials.of('cell')).not.toContain(three)
  })
})

it('of a combination has the hash that older logs have', () => {
  const filter = { ...ANY_EVENT, field: 'rsi_zone', timeframe: 'daily', bands: ['oversold'] } as const
  const spec = { tickers: ['AAPL'], filter, horizon: 20, first: 15_000, last: 17_000 }
  expect(cellTrial(spec, { p: 0.5, test: CELL_TEST, sharpe: null }).hash).toMatch(/^8bcd349e/)
})

/** A trial of a question: windows of the same one share its number. */
function tried(n: number, question: number, p: number | null, more: Partial<Trial> = {}): Trial {
  const asked: TrialQuestion = { question: `question ${question}`, timeframe: 'daily', first: 100, last: 200 }
  return { hash: `trial ${n}`, spec: `cell ${n}`, p, test: CELL_TEST, sharpe: null, asked, ...more }
}

describe('the standing of a result in the log', () => {
  const own = [tried(1, 1, 0.004), tried(2, 1, 0.3)]

  it('counts questions and windows, what chance gives of them, and corrects every p by Benjamini and Hochberg', () => {
    const others = Array.from({ length: 18 }, (_, i) => tried(3 + i, 2 + Math.floor(i / 2), 0.5))
    const { log, q } = compareWithLog(own, [...own, ...others], 'ledger')
    expect(log).toEqual({ family: 'ledger', questions: 10, windows: 20, expected: 1 })
    expect(q.get('trial 1')).toBeCloseTo(0.08, 12)
    expect(q.get('trial 2')).toBe(0.5)
  })

  it('counts as bands trials does: a strategy without a test does not count', () => {
    const strategies = [RANDOM_ENTRY, null].map((test, i) => {
      const asked = { ...own[0]!.asked!, question: `trial ${20 + i}` }
      return tried(20 + i, 0, 0.2, { test, asked })
    })
    const { log } = compareWithLog(own, countedTrials(own, strategies), 'ledger')
    const noted = [
      own.map(one => ({ ...one, kind: 'cell' as const })),
      strategies.map(one => ({ ...one, kind: 'strategy' as const })),
    ]
    const { paragraphs } = describeTrials(noted.flat(), { kinds: ['cell', 'strategy'], limit: 20, since: null })
    expect(log).toMatchObject({ questions: 2, windows: 3 })
    expect(paragraphs[0]).toMatchObject({
      heading: ['tried: 2 questions (3 windows)', '1 about events, 1 about strategies, 1 more without a test'],
    })
  })

  it('takes only the same timeframe and dates that overlap', () => {
    const asked = { ...own[0]!.asked!, question: 'other' }
    const others: TrialQuestion[] = [
      { ...asked, timeframe: 'weekly' },
      { ...asked, first: 201, last: 300 },
      { ...asked, first: null, last: null },
      { ...asked, question: 'touches', first: 200, last: 300 },
    ]
    const { log } = compareWithLog(
      own,
      others.map((asked, i) => tried(10 + i, 2, 0.5, { asked })),
      'ledger',
    )
    expect(log).toMatchObject({ questions: 2, windows: 3 })
  })

  it('takes a p of another test for 1, and a trial without a question for one of the same data', () => {
    const other = { p: 0.001, test: 'shift', sharpe: null }
    const others = [1, 2].map((n): Trial => ({ hash: `other ${n}`, spec: `words ${n}`, ...other }))
    const { log, q } = compareWithLog(own, others, 'ledger')
    expect(log).toMatchObject({ questions: 3, windows: 4 })
    expect(q.get('trial 1')).toBeCloseTo(0.016, 12)
  })

  it('keeps the p that a test gave where a run without one asks the same', () => {
    const untested = own.map(trial => ({ ...trial, p: null, test: null }))
    expect(compareWithLog(untested, own, 'ledger').q.get('trial 1')).toBeCloseTo(0.008, 12)
    expect(compareWithLog(untested, [], 'ledger').q.get('trial 1')).toBeNull()
  })

  it('makes a verdict stricter, never milder, unless the family is the run', () => {
    const { log } = compareWithLog(own, [], 'ledger')
    expect([0.01, 0.2, null].map(q => correctedByLog(0.03, log, q))).toEqual([0.03, 0.2, 0.03])
    expect(correctedByLog(0.03, { ...log, family: 'run' }, 0.2)).toBe(0.03)
    expect([correctedByLog(null, log, 0.2), correctedByLog(0.03, null, 0.2)]).toEqual([null, 0.03])
  })
})

describe('a tally and a study of one question', () => {
  const cases: [string, object][] = [
    ['a band', { field: 'rsi_zone', band: 'oversold' }],
    ['two bands, weekly', { field: 'rsi_zone', band: 'oversold,overbought', timeframe: 'weekly' }],
    ['dates', { field: 'rsi_zone', band: 'oversold', after: '2018-03-01', before: '2019-03-01' }],
    ['a condition', { when: 'rsi_zone = oversold for 2' }],
    ['a condition on a field', { field: 'trend_direction', band: 'uptrend', when: 'rsi_zone != oversold' }],
    ['a context', { field: 'rsi_zone', band: 'oversold', context: 'TWO:trend_direction=uptrend' }],
  ]

  const folder = scratch()
  afterAll(folder.remove)
  const db = folder.file('own.db')
  beforeAll(async () => {
    await imported(
      db,
      ['ONE', 'TWO'].map((name, i) => fileOf(folder.path, `${name}.csv`, csv(simulatedRows(i, 700)))),
    )
  })

  it.each(cases)('count once: %s', async (_, question) => {
    const bands = await openBands({ db })
    onTestFinished(() => bands.close())
    const { context, ...plain } = question as { context?: string }
    const [ticker, field, band] = context?.split(/[:=]/) ?? []
    const tallied = context === undefined ? {} : { context_ticker: ticker, context_field: field, context_band: band }
    const tickers = ['TWO', 'ONE']
    const { log } = await bands.tally({ ...plain, ...tallied, tickers } as never)
    expect(log!.windows).toBeGreaterThan(0)
    const studied = await bands.study({ ...(question as object), tickers, reps: 99, resamples: 99 } as never)
    expect(studied.log).toEqual(log)
  })
})

it('has for a hash SHA-256 of the JSON of a trial', () => {
  const text = fc.string({ unit: 'binary', maxLength: 200 })
  const sha256 = (document: object): string => createHash('sha256').update(JSON.stringify(document)).digest('hex')
  fc.assert(fc.property(text, asked => hashOf({ asked }) === sha256({ asked })))
})
