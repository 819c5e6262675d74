// 10,000 customers, 12,000 tickers, 1,000 questions a second: what each part would hold, by a simulation with times that are
// measured here, and a real run to hold the simulation against. BENCH_POSTGRES names a database that may be replaced.
//   node bench/capacity.mjs measure    what each step takes, into bench/capacity.json
//   node bench/capacity.mjs simulate   with these, the tables of docs/scale-out.md
//   node bench/capacity.mjs check [RATE] [SECONDS]   a real run, and what the simulation says of it

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ownBuild } from './builds.mjs'
import { bundled, onPostgres } from './charges.mjs'
import { measured } from './measure.mjs'
import { connected, emptied } from './postgres.mjs'
import { randomOf, simulated, zipf } from './queues.mjs'
import { asker, processorOf, started, within } from './servers.mjs'
import { importing, nextDay, tickersOf, universe } from './worlds.mjs'

const FILE = fileURLToPath(new URL('./capacity.json', import.meta.url))
const CUSTOMERS = 10_000
const FIELDS = ['rsi_zone', 'trend_direction', 'macd_state', 'volume_ratio_band']
const SERIES = FIELDS.flatMap(field => ['daily', 'weekly'].map(timeframe => `field=${field}&timeframe=${timeframe}`))
const POWER = 1
const WARM = 4_000
/** What a server keeps of answers, in bytes (src/server/options.ts), and what an entry takes beside its text. */
const [KEPT_BYTES, OVERHEAD] = [32 * 1024 * 1024, 1_200]
/** Of a thread pool's connections (src/store/postgres/address.ts). */
const CONNECTIONS = 4

/** The crowd that is asked about, on machines of their own a quarter of a millisecond apart. */
const CROWD = {
  customers: CUSTOMERS,
  tickers: 12_000,
  series: SERIES.length,
  power: POWER,
  warm: 200_000,
  connections: CONNECTIONS,
}
const APART = 0.00025
/** Servers, whether each account asks one of them alone, cores of the database, questions a second. */
const TRIED = [
  [1, false, 4, 1_000],
  [2, false, 4, 1_000],
  [3, false, 4, 1_000],
  [3, true, 4, 1_000],
  [3, false, 2, 1_000],
  [3, false, 4, 2_000],
  [3, true, 4, 2_000],
  [3, true, 4, 3_000],
  [6, true, 4, 4_000],
  [6, true, 8, 4_000],
]

const [what, ...words] = process.argv.slice(2)
if (what === 'measure') await measureAll(ownBuild())
else if (what === 'simulate') simulateAll(JSON.parse(readFileSync(FILE, 'utf8')))
else if (what === 'check') await check(ownBuild(), JSON.parse(readFileSync(FILE, 'utf8')), words.map(Number))
else throw new Error('measure, simulate or check')
process.exit()

/** The universe, and accounts with a key each, in a database that has nothing else of bands; one server over both. */
async function begun(build) {
  const url = onPostgres()
  await emptied(build)
  measured(build.bands(...importing(universe(), url)))
  const { openAccounts, makeKey } = await bundled(
    build.root,
    `export { openAccounts } from './src/open.js'; export { makeKey } from './src/accounts/key.js'`,
  )
  const client = await connected(build)
  await client.query('DROP SCHEMA IF EXISTS bands_accounts CASCADE')
  const accounts = await openAccounts({ accounts: url, env: {}, make: true })
  const created = new Date().toISOString()
  const keys = []
  for (let i = 0; i < CUSTOMERS; i += 20)
    await Promise.all(
      Array.from({ length: 20 }, async (_, j) => {
        const { id } = await accounts.create(`customer-${i + j}`, 'pro', created)
        const { key, identity, hash } = makeKey()
        await accounts.addKey(id, { identity, hash, name: 'first', created, expires: null })
        keys[i + j] = key
      }),
    )
  await accounts.close()
  const server = await started(build.bands('serve', '--port', '0', '--db', url, '--accounts', url, '--json'))
  const postmaster = parentOf((await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid)
  const tickers = tickersOf(build, url)
  return { url, keys, server, client, postmaster, tickers, ask: asker(server.url) }
}

function statOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
}

function parentOf(pid) {
  return Number(statOf(pid)[1])
}

/** Seconds of processor that a PostgreSQL of this machine has taken, with sessions that have ended. */
function databaseTime(postmaster) {
  const ended =
    statOf(postmaster)
      .slice(13, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  const children = readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && parentOf(name) === postmaster
    } catch {
      return false
    }
  })
  return children.reduce((sum, pid) => sum + (processorOf(pid) || 0), ended)
}

/** What questions cost that so many ask at a time, each again once it is answered. */
async function cost({ server, postmaster, ask, keys }, paths, clients) {
  const before = [processorOf(server.pid), databaseTime(postmaster), process.cpuUsage(), await commits(ask)]
  const answers = []
  let next = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < paths.length) answers.push(await ask(paths[next], keys[next++ % keys.length]))
    }),
  )
  const bad = answers.filter(({ status }) => status !== 200).length
  if (bad > 0) throw new Error(`${bad} of ${answers.length} were not answered`)
  const own = process.cpuUsage(before[2])
  const after = await commits(ask)
  const each = seconds => seconds / paths.length
  return {
    server: each(processorOf(server.pid) - before[0]),
    database: each(databaseTime(postmaster) - before[1]),
    client: each((own.user + own.system) / 1e6),
    batch: (after.charges - before[3].charges) / (after.commits - before[3].commits),
    took: within(0.5, answers) / 1000,
    bytes: answers.reduce((sum, { body }) => sum + body.length, 0) / answers.length,
  }
}

async function commits(ask) {
  const text = String((await ask('/metrics')).body)
  const value = name => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1])
  return { charges: value('bands_commit_charges_sum'), commits: value('bands_commit_charges_count') }
}

async function measureAll(build) {
  const house = await begun(build)
  const { client, postmaster, tickers, server } = house
  const path = (ticker, series) => `/v1/events?ticker=${ticker}&${series}`
  const popular = tickers.slice(0, 20).map(ticker => path(ticker, SERIES[0]))
  const often = (paths, count) => Array.from({ length: count }, (_, i) => paths[i % paths.length])
  // Functions are compiled, keys are known.
  await cost(house, often(popular, CUSTOMERS), 16)
  const alone = await cost(house, often(popular, 1_500), 1)
  const together = await cost(house, often(popular, 8_000), 32)
  // Of each series once.
  const unseen = tickers
    .slice(20)
    .flatMap(ticker => ['daily', 'weekly'].map(t => path(ticker, `field=rsi_zone&timeframe=${t}`)))
  const missed = await cost(house, unseen, 4)
  const look = await lookCost(client, postmaster)
  const [first, second] = [part(alone, together, 'server'), part(alone, together, 'database')]
  const ledger = await client.query(
    `SELECT pg_total_relation_size('bands_accounts.batches') / count(*) AS bytes FROM bands_accounts.ledger`,
  )
  const data = await client.query(
    `SELECT sum(pg_total_relation_size(oid))::float8 / ${tickers.length} AS bytes FROM pg_class WHERE relnamespace = 'bands_data'::regnamespace AND relkind = 'r'`,
  )
  const before = databaseTime(postmaster)
  const next = await nextDay(universe())
  const { cpu } = measured(build.bands(...importing(next, house.url)))
  const times = {
    question: { server: first.each / 2 },
    send: { server: first.each / 2 },
    look: { database: look.cpu },
    commit: { server: first.fixed, database: second.fixed },
    charge: { database: Math.max(0, second.each - look.cpu) },
    read: {
      server: Math.max(0, missed.server - first.each - first.fixed / missed.batch),
      database: Math.max(0, missed.database - second.each - second.fixed / missed.batch),
    },
    client: together.client,
    way: look.way,
    import: { importer: cpu / tickers.length, database: (databaseTime(postmaster) - before) / tickers.length },
  }
  const chain =
    first.each + first.fixed + look.cpu + times.commit.database + times.charge.database + 2 * times.way + alone.client
  times.sync = Math.max(0, alone.took - chain)
  const bytes = { answer: missed.bytes, ledger: Number(ledger.rows[0].bytes), ticker: data.rows[0].bytes }
  writeFileSync(
    FILE,
    `${JSON.stringify({ commit: build.name, node: process.versions.node, times, bytes, samples: { alone, together, missed, look } }, null, 1)}\n`,
  )
  print(readFileSync(FILE, 'utf8'))
  await client.end()
  await server.stop()
}

/** What each costs by itself, and what a commit costs however many share it. */
function part(alone, together, of) {
  const fixed = Math.max(0, (alone[of] - together[of]) / (1 / alone.batch - 1 / together.batch))
  return { fixed, each: Math.max(0, together[of] - fixed / together.batch) }
}

async function lookCost(client, postmaster) {
  const count = 5_000
  const [before, start, own] = [databaseTime(postmaster), performance.now(), process.cpuUsage()]
  for (let i = 0; i < count; i++) await client.query('SELECT count FROM bands_accounts.changes')
  const used = process.cpuUsage(own)
  const cpu = (databaseTime(postmaster) - before) / count
  const took = (performance.now() - start) / 1000 / count
  return { cpu, way: Math.max(0, took - cpu - (used.user + used.system) / 1e6 / count) }
}

function simulateAll({ times, bytes }) {
  const apart = { ...times, way: APART }
  const world = { ...CROWD, kept: Math.floor(KEPT_BYTES / (bytes.answer + OVERHEAD)), cores: 4 }
  const [seconds, rate] = [30, 1_000]
  print(
    '| servers | each account at | cores of the database | asked/s | answered/s | p50 ms | p99 ms | kept | a batch | server | database | connections |',
  )
  for (const [servers, byAccount, cores, asked] of TRIED)
    print(
      line(
        { servers, byAccount, cores, asked },
        simulated({ ...world, servers, byAccount, cores }, { rate: asked, seconds }, apart),
      ),
    )
  const quick = simulated({ ...world, servers: 3 }, { rate, seconds }, { ...apart, sync: 0.001 })
  print(`with a disk that syncs in a millisecond: ${line({ servers: 3, cores: 4, asked: rate }, quick)}`)
  const evening = { from: 10, batch: 50, batches: Math.ceil(CROWD.tickers / 50) }
  const found = simulated({ ...world, servers: 3 }, { rate, seconds: 120, import: evening }, apart)
  print(`with an import of one more bar of each ticker: ${JSON.stringify(found)}`)
  const none = simulated({ ...world, servers: 3, kept: 1 }, { rate, seconds }, apart)
  print(`where nothing is kept: ${line({ servers: 3, cores: 4, asked: rate }, none)}`)
  const day = 8 * 3600 * rate
  print(
    `a day of eight such hours: ${day} rows of the ledger, ${((day * bytes.ledger) / 1e9).toFixed(1)} GB; data ${((CROWD.tickers * bytes.ticker) / 1e9).toFixed(1)} GB; kept at each server ${world.kept} answers of ${Math.round(bytes.answer)} bytes`,
  )
}

function line(
  { servers, byAccount = false, cores, asked },
  { rate, p50, p99, kept, batch, server, database, connections },
) {
  const per = share => `${Math.round(share * 100)} %`
  const figures = [asked, Math.round(rate), (p50 * 1000).toFixed(1), (p99 * 1000).toFixed(1)]
  return [
    '',
    servers,
    byAccount ? 'one' : 'any',
    cores,
    ...figures,
    per(kept),
    batch.toFixed(1),
    per(server),
    per(database),
    per(connections),
    '',
  ]
    .join(' | ')
    .trim()
}

/** Customers and tickers by Zipf's law, at a rate and as fast as it goes; server, database and customers on these cores. */
async function check(build, { times, bytes }, [rate = 100, seconds = 60]) {
  const house = await begun(build)
  const { ask, keys, tickers } = house
  const random = randomOf(2)
  const [customer, ticker, series] = [CUSTOMERS, tickers.length, SERIES.length].map(count => zipf(count, POWER, random))
  const one = () => ask(`/v1/events?ticker=${tickers[ticker()]}&${SERIES[series()]}`, keys[customer()])
  const asked = async clients => {
    const [answers, end] = [[], performance.now() + 20_000]
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (performance.now() < end) answers.push(await one())
      }),
    )
    return answers
  }
  for (let i = 0; i < WARM; i += 20) await Promise.all(Array.from({ length: 20 }, one))
  const [server, database] = [processorOf(house.server.pid), databaseTime(house.postmaster)]
  const [start, open] = [performance.now(), []]
  for (let due = start; due < start + seconds * 1000; due += (-Math.log(1 - random()) / rate) * 1000) {
    if (due > performance.now()) await sleep(due - performance.now())
    open.push(one())
  }
  const answers = await Promise.all(open)
  const cpu = [processorOf(house.server.pid) - server, databaseTime(house.postmaster) - database].map(
    used => used / seconds,
  )
  const world = {
    customers: CUSTOMERS,
    tickers: tickers.length,
    series: SERIES.length,
    power: POWER,
    warm: WARM,
    connections: CONNECTIONS,
    servers: 1,
    cores: 2,
    alone: true,
    kept: Math.floor(KEPT_BYTES / (bytes.answer + OVERHEAD)),
  }
  print(`others on these cores: load ${loadavg()[0].toFixed(1)}`)
  const clients = 32
  const fast = await asked(clients)
  tell(`${rate} a second, ${seconds} s`, answers, seconds, simulated(world, { rate, seconds }, times), cpu)
  tell(
    `${clients} clients, each again when it is answered`,
    fast,
    20,
    simulated(world, { clients, seconds: 20 }, times),
  )
  await house.client.end()
  await house.server.stop()
}

function tell(name, answers, seconds, said, cpu) {
  const good = answers.filter(({ status }) => status === 200)
  const found = { rate: good.length / seconds, p50: within(0.5, good) / 1000, p99: within(0.99, good) / 1000 }
  print(
    `${name}; ${answers.length - good.length} not answered${cpu ? `; server ${cpu[0].toFixed(2)}, database ${cpu[1].toFixed(2)} cores` : ''}`,
  )
  for (const figure of ['rate', 'p50', 'p99'])
    print(
      `  ${figure}: measured ${found[figure].toPrecision(3)}, simulated ${said[figure].toPrecision(3)}: ${(found[figure] / said[figure]).toFixed(2)} x`,
    )
  print(
    `  simulated: kept ${said.kept.toFixed(2)}, a batch ${said.batch.toFixed(1)}, server ${said.server.toFixed(2)}, all cores ${said.database.toFixed(2)}`,
  )
}

function print(text) {
  process.stdout.write(`${text}\n`)
}
