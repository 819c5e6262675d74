import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { emptySeries } from '../src/core/model/series.js'
import { Random } from '../src/core/statistics/random.js'
import { simulatedTicker } from '../src/data/simulate/simulate.js'
import {
  type BandsClient,
  BandsError,
  databasePath,
  type Importer,
  openBands,
  openImporter,
  openRemote,
  type RemoteClient,
} from '../src/index.js'
import { DOCS, documentedCodes } from './support/documented-codes.js'
import { draws, notInQuick } from './support/full.js'
import { type Ground, type Served, serve, simulatedGround } from './support/serve.js'

const SEED = 917
const CREDITS = { day: 10_000_000, hour: 10_000_000 }

let ground: Ground
let server: Served
let bands: BandsClient
let remote: RemoteClient
let importer: Importer
/** An answer, as a program may have kept it. */
let studied: unknown
const folder = () => join(ground.db, '..')
beforeAll(async () => {
  // A file without a path is standard input, which nobody closes here.
  Object.defineProperty(process, 'stdin', { configurable: true, get: () => Readable.from([]) })
  ground = await simulatedGround({ count: 2, bars: 320 })
  server = await serve(ground, { credits: { free: CREDITS, plus: CREDITS, pro: CREDITS } })
  bands = await openBands({ db: ground.db, ledger: false })
  const url = server.url
  remote = await openRemote({ url, key: await server.key('pro'), retries: 0, bars: { db: ground.db, ledger: false } })
  studied = JSON.parse(JSON.stringify(await bands.study({ ...POOL, band: 'oversold', horizon: 5, ...FEW })))
  importer = await openImporter({ db: join(folder(), 'other.db') })
  writeFileSync(join(folder(), 'A.csv'), 'date,open,high,low,close,volume\n2020-01-02,1,2,1,2,10\n')
})
afterAll(async () => {
  await Promise.all([bands.close(), remote.close(), importer.close()])
  await server.stop()
  ground.remove()
})

/** A function or method, and arguments with which it answers. */
interface Call {
  name: string
  call(...args: unknown[]): unknown
  good(): unknown[]
}

const ONE = { ticker: 'SIM0001', field: 'rsi_zone' }
const POOL = { tickers: ['SIM0001'], field: 'rsi_zone' }
const FEW = { reps: 99, resamples: 99 }
const FILTER = { tickers: ['SIM0001'], fields: ['rsi_zone'], timeframes: ['weekly'] }
const STRATEGY = {
  entry: { field: 'rsi_zone', bands: ['oversold'], context: { ticker: 'SIM0002', field: 'rsi_zone' } },
  exit: { hold: 5, stop: '5%' },
}
const BACKTEST = { ...POOL, band: 'oversold', hold: 5, reps: 99 }
const BARS = {
  ...simulatedTicker(1, { count: 1, bars: 30, seed: 1, end: 19_000 }),
  prices: 'raw',
  source: 'x',
  format: 'y',
}
const REPORT = { period_end: 18_950, known: 19_000, session: null, eps: 1, revenue: 2, book_value_ps: 3, basis: 'bars' }

/** Every question of a client; what only prices or this machine know is of the database alone. */
function questionsOf(client: () => BandsClient | RemoteClient, of: string): Call[] {
  const calls: Record<string, unknown[]> = {
    events: [{ ...ONE, band: ['oversold'], limit: 3, after: '2023-01-01', timeframe: 'daily' }],
    oversold: [{ limit: 5, min_severity: 'oversold', asset_class: 'stock' }],
    history: [{ ...ONE, band: 'oversold', context_ticker: 'SIM0002', context_field: 'macd_state' }],
    poolEvents: [{ ...POOL, band: 'oversold', limit: 3 }],
    tally: [{ ...POOL, by: 'band', before: '2024-01-01' }],
    transitions: [POOL],
    now: [{ tickers: ['SIM0001'], field: ['rsi_zone'], timeframe: 'weekly' }],
    fields: [],
    study: [{ ...POOL, band: 'oversold', horizon: [5], ...FEW }, { step: () => {} }],
    backtest: [BACKTEST, { step: () => {} }],
    sweep: [{ tickers: ['SIM0001'], field: ['rsi_zone'], horizon: [5], resamples: 99 }, { step: () => {} }],
    report: [studied, { command: 'bands' }],
  }
  return Object.entries(calls).map(([name, good]) => callOf(`${of}.${name}`, client, name, good))
}

function callOf(label: string, target: () => object, method: string, good: unknown[]): Call {
  return {
    name: label,
    call: (...args) => (Reflect.get(target(), method) as (...args: unknown[]) => unknown).apply(target(), args),
    good: () => good,
  }
}

function calls(): Call[] {
  const own = () => bands
  const write = () => importer
  const facts = [{ ticker: 'ABC', kind: 'reports', records: [REPORT] }]
  return [
    ...questionsOf(() => bands, 'bands'),
    ...questionsOf(() => remote, 'remote'),
    callOf('bands.backtest', own, 'backtest', [{ tickers: ['SIM0001'], strategy: STRATEGY, reps: 99 }]),
    callOf('bands.explain', own, 'explain', [{ ...ONE, timeframe: 'daily', date: '2024-01-02' }]),
    callOf('bands.screen', own, 'screen', [{ tickers: ['SIM0001'], when: 'rsi_zone = neutral', since: 5 }]),
    callOf('bands.changes', own, 'changes', [{ tickers: ['SIM0001'], since: '2020-01-02', timeframe: 'daily' }]),
    callOf('bands.exportEvents', own, 'exportEvents', [FILTER]),
    callOf('bands.exportSeries', own, 'exportSeries', [FILTER]),
    callOf('bands.exportBars', own, 'exportBars', [{ tickers: ['SIM0001'] }]),
    callOf('bands.facts', own, 'facts', [{ ticker: 'SIM0001', kind: 'splits' }]),
    callOf('bands.tickers', own, 'tickers', []),
    callOf('bands.status', own, 'status', []),
    callOf('remote.checkKey', () => remote, 'checkKey', []),
    callOf('importer.put', write, 'put', [[BARS], { replace: true, onProgress: () => {} }]),
    callOf('importer.putFacts', write, 'putFacts', [facts, { file: 'x', format: 'y' }, { replace: true }]),
    callOf('importer.import', write, 'import', [
      [{ name: 'A.csv', path: join(folder(), 'A.csv'), bytes: 60 }],
      { ticker: 'A', prices: 'raw', skipBadRows: true, hints: { delimiter: ',' }, today: 20_000 },
    ]),
    callOf('importer.rebuild', write, 'rebuild', [() => {}]),
    callOf('importer.remove', write, 'remove', ['ABC']),
    callOf('importer.removeAfter', write, 'removeAfter', ['SIM0001', 20_000]),
    callOf('importer.rename', write, 'rename', ['SIM0007', 'SIM0008']),
    callOf('importer.tickers', write, 'tickers', []),
    {
      name: 'openBands',
      call: closing(openBands),
      good: () => [{ db: ground.db, tier: 'plus', asOf: '2024-01-02', ledger: false }],
    },
    {
      name: 'openRemote',
      call: closing(openRemote),
      good: () => [{ url: server.url, key: 'k', bars: { db: ground.db }, retries: 1 }],
    },
    {
      name: 'openImporter',
      call: closing(openImporter),
      good: () => [{ db: join(folder(), 'third.db'), wait: false }],
    },
    { name: 'databasePath', call: databasePath as (...args: unknown[]) => unknown, good: () => [{ db: ground.db }] },
  ]
}

function closing(open: (options: never) => Promise<{ close(): Promise<void> }>): Call['call'] {
  return async (...args) =>
    (await (open as (...args: unknown[]) => Promise<{ close(): Promise<void> }>)(...args)).close()
}

const CYCLE: Record<string, unknown> = { ...POOL }
CYCLE.tickers = CYCLE
const RING: unknown[] = []
RING.push(RING)
const JUNK: readonly unknown[] = [
  undefined,
  null,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0,
  1.5,
  2 ** 40,
  10n,
  '',
  ' ',
  'x',
  '\0',
  '../ x',
  'all',
  '1e1',
  'é'.repeat(300),
  true,
  false,
  Symbol('s'),
  () => {},
  [],
  [null],
  [[]],
  ['x', undefined],
  {},
  { x: 1 },
  CYCLE,
  RING,
  new Date(Number.NaN),
  new Map([['a', 1]]),
  new Set(),
  Object.create(null),
  new Int32Array(2),
  /x/,
  new Error('e'),
  Promise.resolve(1),
  emptySeries('daily', 0),
  JSON.parse('{"__proto__": 1}'),
  { toString: null },
]

/** Arguments with which something is wrong. */
function spoilt(args: readonly unknown[], random: Random): unknown[] {
  const junk = (): unknown => JUNK[random.below(JUNK.length)]
  if (random.below(6) === 0) return [junk(), junk(), junk()].slice(0, random.below(4))
  const place = random.below(Math.max(1, args.length))
  return args.map((arg, i) => (i === place ? spoiltValue(arg, random, junk) : arg))
}

/** The value, or something in it, replaced, left out or added to. */
function spoiltValue(value: unknown, random: Random, junk: () => unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || random.below(4 + depth) === 0) return junk()
  if (Array.isArray(value)) {
    const place = random.below(value.length + 1)
    return place === value.length
      ? [...value, junk()]
      : value.with(place, spoiltValue(value[place], random, junk, depth + 1))
  }
  const keys = Object.keys(value)
  const key = keys[random.below(keys.length + 1)]
  if (key === undefined) return { ...value, extra: junk() }
  const { [key]: one, ...others } = value as Record<string, unknown>
  return random.below(5) === 0 ? others : { ...others, [key]: spoiltValue(one, random, junk, depth + 1) }
}

/** null where the call is answered. */
async function refusalOf({ call }: Call, args: readonly unknown[]): Promise<unknown> {
  try {
    const answer = await call(...args)
    if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer)
      for await (const _ of answer as AsyncIterable<unknown>);
    return null
  } catch (error) {
    return error ?? new Error('nothing was thrown')
  }
}

it(`ends every wrong call of the library in an error with a code that ${DOCS} names (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const codes = documentedCodes()
  const random = new Random(SEED)
  const all = calls()
  const bare = new Map<string, string>()
  let refused = 0
  for (let draw = 0; draw < draws(4_000); draw++) {
    const one = all[draw % all.length]!
    const error = await refusalOf(one, spoilt(one.good(), random))
    if (error === null) continue
    refused++
    if (error instanceof BandsError && codes.includes(error.code)) continue
    const place = error instanceof Error ? error.stack?.split('\n').slice(0, 4).join(' ') : String(error)
    bare.set(`${one.name}: ${place}`, '')
  }
  expect([...bare.keys()]).toEqual([])
  expect(refused).toBeGreaterThan(draws(4_000) / 3)
})

notInQuick('answers the calls that it spoils', { timeout: 60_000 }, async () => {
  for (const one of calls()) {
    const error = await refusalOf(one, one.good())
    expect((error as BandsError | null)?.code, `${one.name} ${error}`).toBeUndefined()
  }
})
