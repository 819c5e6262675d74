import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { backUp, backUpInto, readManifest } from '../../../src/app/backup/backup.js'
import { finishRestore, restore } from '../../../src/app/backup/restore.js'
import { openImporter } from '../../../src/app/open/writing.js'
import { BandsError } from '../../../src/core/errors.js'
import { sliceBars } from '../../../src/core/model/series.js'
import { readFile } from '../../../src/data/feeds/read.js'
import { Importer } from '../../../src/data/load/import.js'
import { type SimulatedTicker, simulatedTickers } from '../../../src/data/simulate/simulate.js'
import { openSqlite } from '../../../src/data/store/sqlite/data.js'
import type { Files } from '../../../src/data/store/sqlite/files.js'
import { inspect } from '../../../src/data/store/sqlite/inspect.js'
import { openSqliteTrials, openSqliteTrialsForReading } from '../../../src/data/store/sqlite/lists.js'
import { MIGRATIONS } from '../../../src/data/store/sqlite/schema.js'
import { verifyTrials } from '../../../src/data/store/sqlite/verify.js'
import { UNDERIVED } from '../../../src/data/store/store.js'
import { openSqliteAccounts } from '../../../src/server/accounts/sqlite/accounts.js'
import { verifyAccounts } from '../../../src/server/accounts/sqlite/verify.js'
import { Database } from '../../support/database.js'
import { toSchema } from '../../support/old-schema.js'

/** What is done to the files of a user, each from its begin to its end, and how they are looked at afterwards. */

export interface Work {
  name: string
  /** What is done before, where nothing fails, beside what every folder has. */
  prepare?(folder: string): Promise<void>
  run(folder: string): Promise<void>
}

/** Made when they are asked for: hundreds of processes that are killed need none or one of them. */
const world = once(() => [...simulatedTickers({ count: 3, bars: 150, seed: 5, end: 17_000 })])
const many = once(() => [...simulatedTickers({ count: 208, bars: 3, seed: 6, end: 17_000 })].slice(3))

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const SOURCE = { file: 'simulate', format: 'simulated' }
const AT = '2026-03-24T12:30:00.000Z'

export function filesIn(folder: string): Files {
  const at = (name: string): string => join(folder, name)
  return {
    data: at('bands.db'),
    accounts: at('bands.accounts.db'),
    trials: at('bands.trials.db'),
    lists: at('bands.lists.db'),
  }
}

/** Two tickers, the first with facts; an account with a charge; a trial. */
export async function begin(folder: string): Promise<void> {
  const [one, two] = world()
  await importing(folder, async importer => {
    await importer.put([one!, two!].map(ticker => sourced(ticker)))
    await importer.putFacts(one!.facts, SOURCE)
  })
  await charging(folder, async accounts => {
    await accounts.create('alice', 'free', AT)
    const hash = createHash('sha256').update('key').digest()
    await accounts.addKey(1, { identity: 'Identity', hash, name: 'key', created: AT, expires: null })
  })
  await note(folder, 1)
}

export const WORKS: readonly Work[] = [
  { name: 'create', run: folder => importing(folder, async () => {}, 'new.db') },
  { name: 'create accounts', run: folder => charging(folder, async () => {}, 'new.accounts.db') },
  {
    name: 'first import',
    // Two groups of tickers, of which a full disk may leave the first.
    run: async folder => {
      const importer = await openImporter({ db: join(folder, 'new.db'), env: {} })
      try {
        await importer.put(many().map(ticker => sourced(ticker)))
      } finally {
        await importer.close()
      }
    },
  },
  { name: 'import', run: folder => importing(folder, importer => importer.put([sourced(world()[2]!)])) },
  {
    name: 'update',
    // More tickers than are written as one: a kill may come between two commits.
    prepare: folder => importing(folder, importer => importer.put(many().map(ticker => sourced(ticker, 0, 2)))),
    run: folder => importing(folder, importer => importer.put(many().map(ticker => sourced(ticker, 2, 3)))),
  },
  { name: 'import-facts', run: folder => importing(folder, importer => importer.putFacts(world()[1]!.facts, SOURCE)) },
  { name: 'rebuild', run: folder => importing(folder, importer => importer.rebuild()) },
  {
    name: 'schema step',
    async prepare(folder) {
      const db = new Database(filesIn(folder).data)
      toSchema(db, 6)
      db.close()
    },
    run: folder => importing(folder, importer => importer.rebuild()),
  },
  { name: 'remove', run: folder => importing(folder, importer => importer.remove('SIM0002')) },
  { name: 'pull', run: pull },
  { name: 'charge', run: folder => charging(folder, accounts => accounts.charge([CHARGE])) },
  { name: 'trials', run: folder => note(folder, 2) },
  {
    name: 'backup',
    // The second takes the first away.
    run: async folder => {
      for (let i = 0; i < 2; i++) await backUpInto(filesIn(folder), join(folder, 'backups'), { keep: 1 })
    },
  },
  {
    name: 'restore',
    async prepare(folder) {
      await backUp(filesIn(folder), join(folder, 'backup'))
      await importing(folder, importer => importer.remove('SIM0002'))
      await charging(folder, accounts => accounts.setTier('alice', 'pro'))
      await note(folder, 2)
    },
    run: folder => restore(join(folder, 'backup'), filesIn(folder), { replace: true }).then(() => undefined),
  },
]

/** A work that is broken off again and again. */
export interface Broken {
  /** Puts what it begins with where it is done, in the place of what is there. */
  fresh(): void
  /**
   * What is amiss once it was broken off, or has failed; after that it is done again.
   * @param error what it threw, null where it ended well, or `killed`
   */
  amiss(error: unknown): Promise<string[]>
}

/** Makes a folder that has what every folder has `ready` for a work that is done in a copy of it, `at` another place. */
export async function broken({ prepare, run }: Work, ready: string, at: string): Promise<Broken> {
  await prepare?.(ready)
  const fresh = (): void => {
    rmSync(at, { recursive: true, force: true })
    cpSync(ready, at, { recursive: true })
  }
  fresh()
  const before = (await look(at)).state
  await run(at)
  const after = (await look(at)).state
  const amiss = async (error: unknown): Promise<string[]> => {
    const told: string[] = []
    if (!(error === null || error === 'killed' || error instanceof BandsError))
      told.push(`it is thrown as it comes: ${String((error as Error).stack ?? error)}`)
    try {
      const found = await look(at)
      if (found.wrong.length > 0) told.push(`it is damaged: ${found.wrong.join(', ')}`)
      // What is behind is answered by nobody, and finished by the next.
      if (![before, after].includes(found.state) && found.unsettled === 0) told.push('it is between')
      if (error === null && found.state !== after) told.push('it says that it is done, and is not')
      await run(at)
      const again = await look(at)
      if (again.state !== after || again.wrong.length > 0) told.push('done again it is not the same')
      if (again.left.length > 0) told.push(`done again it leaves ${again.left.join(', ')}`)
    } catch (thrown) {
      told.push(`with room and a sound disk it does not work again: ${String((thrown as Error).stack)}`)
    }
    return told
  }
  return { fresh, amiss }
}

/** What can be asked of a folder, as a digest, and what is wrong with it. */
export interface Look {
  state: string
  wrong: string[]
  /** Steps of an import that are left; nobody is answered from what they are about. */
  unsettled: number
  /** Files that something has left behind. */
  left: string[]
}

export async function look(folder: string): Promise<Look> {
  const files = filesIn(folder)
  finishRestore(files)
  const found: unknown[] = []
  const wrong: string[] = []
  let unsettled = 0
  for (const name of ['bands.db', 'new.db'].filter(name => existsSync(join(folder, name)))) {
    if (inspect(join(folder, name)).schema < MIGRATIONS.length) {
      found.push(name, 'of an older version')
      continue
    }
    const store = openSqlite(join(folder, name), { readonly: true })
    try {
      wrong.push(...(await store.verify()).map(({ ticker, what }) => `${name}: ${ticker} ${what}`))
      unsettled += (await store.unsettled()).length
      // Nobody is answered before all is derived anew.
      if ((await store.definitions()) === UNDERIVED) {
        unsettled++
        continue
      }
      for (const ticker of await store.names()) {
        const sheets = Object.entries(await store.sheets(ticker)).map(([kind, { rows }]) => [kind, rows])
        const events = await store.recorded(ticker, 'daily', 'rsi_zone')
        found.push(
          name,
          ticker,
          sheets,
          (await store.bars(ticker))?.close,
          events?.field,
          await store.pages.entries(ticker),
        )
      }
    } finally {
      await store.close()
    }
  }
  for (const name of ['bands.accounts.db', 'new.accounts.db'].filter(name => existsSync(join(folder, name)))) {
    wrong.push(...verifyAccounts(join(folder, name)).damages.map(({ what }) => `${name}: ${what}`))
    await charging(folder, async accounts => found.push(await accounts.keys(), await accounts.reconcile()), name)
  }
  wrong.push(...verifyTrials(files.trials).damages.map(({ what }) => `trials: ${what}`))
  const trials = openSqliteTrialsForReading(files.trials)
  found.push(await trials.of('cell'))
  await trials.close()
  const names = existsSync(join(folder, 'backups')) ? readdirSync(join(folder, 'backups')).sort() : []
  const backups = names.filter(name => !name.endsWith('.new'))
  for (const [i, name] of backups.entries()) {
    const kinds = wholeBackup(join(folder, 'backups', name))
    if (i === backups.length - 1) found.push('backup', kinds)
  }
  const unfinished = [...readdirSync(folder), ...names].filter(name => /\.(new|partial|restore)(-\w+)?$/.test(name))
  // Only the newest is to stay.
  const left = [...unfinished, ...backups.slice(0, -1)]
  const state = createHash('sha256').update(JSON.stringify(found)).digest('hex').slice(0, 16)
  return { state, wrong, unsettled, left }
}

/** What is in a backup, each file of which is what was put in: throws otherwise. */
function wholeBackup(folder: string): string[] {
  return readManifest(folder).files.map(({ kind, name, sha256 }) => {
    const content = readFileSync(join(folder, name))
    if (createHash('sha256').update(content).digest('hex') !== sha256) throw new Error(`${name} is not what was put in`)
    return kind
  })
}

async function importing(
  folder: string,
  work: (importer: Importer) => Promise<unknown>,
  name = 'bands.db',
): Promise<void> {
  const store = openSqlite(join(folder, name), { readonly: false })
  let importer: Importer
  try {
    importer = await Importer.begin(store, readFile, {
      pid: process.pid,
      host: 'here',
      started: new Date().toISOString(),
    })
  } catch (error) {
    await store.close()
    throw error
  }
  try {
    await work(importer)
  } finally {
    await importer.close()
  }
}

type Accounts = ReturnType<typeof openSqliteAccounts>

async function charging(
  folder: string,
  work: (accounts: Accounts) => Promise<unknown>,
  name = 'bands.accounts.db',
): Promise<void> {
  const accounts = openSqliteAccounts(join(folder, name))
  try {
    await work(accounts)
  } finally {
    await accounts.close()
  }
}

const CHARGE = {
  account: 1,
  key: 'Identity',
  requestId: 'request-1',
  endpoint: '/v1/events',
  credits: 1,
  // Named: who is not answered asks again by the same name, and is charged once.
  idempotency: Buffer.alloc(32, 3),
  question: Buffer.alloc(32, 1),
  answer: Buffer.alloc(32, 2),
  limits: { day: 250, hour: 100 },
  at: Date.parse(AT),
}

async function note(folder: string, n: number): Promise<void> {
  const trials = openSqliteTrials(filesIn(folder).trials, () => Date.parse(AT))
  try {
    await trials.note('cell', [
      { hash: String(n).padStart(64, '0'), spec: `cell ${n}`, p: 0.5, test: null, sharpe: null },
    ])
  } finally {
    await trials.close()
  }
}

async function pull(folder: string): Promise<void> {
  const store = openSqlite(filesIn(folder).data, { readonly: false })
  try {
    const key = { ticker: 'AAPL', timeframe: 'daily', field: 'rsi_zone' } as const
    const body = { ...key, events: [], total_occurrences: 0, query_range: '5y' }
    const page = { before: null, pulled_at: AT, as_of: '2018-05-11', etag: null, gapAbove: false, body }
    await store.pages.put({ ...key, url: 'https://bands.example', kept: [page], coming: [] })
  } finally {
    await store.close()
  }
}

function sourced({ ticker, bars }: SimulatedTicker, from = 0, to?: number) {
  const source = { source: 'simulate', format: 'simulated' }
  return { ticker, bars: sliceBars(bars, from, to), prices: 'raw' as const, ...source }
}
