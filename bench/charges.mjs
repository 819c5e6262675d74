// Charges alone, without questions: nodes that each keep one batch under way, as a server does, on SQLite or PostgreSQL.
// `node bench/charges.mjs ROOT PLACE BATCH SECONDS` is one such node: what it charged a second, by its own clock.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FOLDER } from './folder.mjs'
import { started } from './servers.mjs'
import { Missing } from './worlds.mjs'

const OWN = fileURLToPath(import.meta.url)
const ACCOUNTS = 80
const ROUNDS = 5
const SECONDS = 2
const NODES = 3
let bundles = 0

/** At batches as they come under little load, and under much. */
export const charges = [64, 256, 512].map(batch => ({
  name: `P1-${batch}`,
  group: 'charges',
  what: `charges a second, PostgreSQL, ${NODES} nodes, batches of ${batch}`,
  target: batch === 512 ? { ratio: 0.9 } : {},
  of: 'rate',
  rounds: ROUNDS,
  sampler: build => charged(build, onPostgres(), batch, NODES),
  floor: { name: 'SQLite, one node', sampler: build => charged(build, join(FOLDER, 'charged.db'), batch, 1) },
}))

/** A database that may be written to: the accounts in it stay. */
function onPostgres() {
  const url = process.env.BENCH_POSTGRES
  if (url === undefined) throw new Missing('BENCH_POSTGRES names no database of PostgreSQL (postgres://…)')
  return url
}

/** What so many nodes charge together, while all of them do. */
function charged(build, place, batch, nodes) {
  const command = [process.execPath, OWN, build.root, place, String(batch), String(SECONDS)]
  return Object.assign(
    async () => {
      const running = await Promise.all(Array.from({ length: nodes }, () => started(command)))
      const rates = await Promise.all(
        running.map(({ url }) => url).map(url => fetch(url).then(answer => answer.json())),
      )
      await Promise.all(running.map(({ stop }) => stop()))
      return { rate: rates.reduce((sum, { rate }) => sum + rate, 0) }
    },
    { end: () => place.endsWith('.db') && rmSync(place.replace('.db', '.accounts.db'), { force: true }) },
  )
}

if (process.argv[1] === OWN) await node(process.argv.slice(2))

/** Makes ready, says where it is asked to begin, charges, and answers with how many a second. */
async function node([root, place, batch, seconds]) {
  const accounts = await opened(root, place)
  const owners = []
  for (let i = 0; i < ACCOUNTS; i++) owners.push(await ownerOf(accounts, `customer-${i}`))
  await during(accounts, owners, Number(batch), 0.3)
  const { createServer } = await import('node:http')
  const server = createServer(async (_, response) => {
    response.end(JSON.stringify({ rate: await during(accounts, owners, Number(batch), Number(seconds)) }))
  })
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
  })
  process.once('SIGTERM', () => accounts.close().finally(() => process.exit()))
}

async function opened(root, place) {
  const { openAccounts } = await bundled(root, `export { openAccounts } from './src/app/open/accounts.js'`)
  return openAccounts({ ...(place.endsWith('.db') ? { db: place } : { accounts: place }), env: {}, make: true })
}

/** What a module of a build's sources gives, in this process. */
export async function bundled(root, contents) {
  const { build } = createRequire(join(root, 'package.json'))('esbuild')
  const outfile = join(FOLDER, `bundled-${process.pid}-${++bundles}.cjs`)
  // As if it lay beside what the build made.
  const define = { 'import.meta.url': 'bandsFileUrl', 'import.meta.dirname': 'bandsFolder' }
  const folder = join(root, 'dist')
  const url = pathToFileURL(join(root, 'dist', 'charges.js')).href
  const banner = { js: `const [bandsFolder, bandsFileUrl] = ${JSON.stringify([folder, url])}` }
  const form = { bundle: true, format: 'cjs', platform: 'node', target: 'node22', mainFields: ['module', 'main'] }
  await build({ ...form, stdin: { contents, resolveDir: root }, outfile, define, banner, logLevel: 'error' })
  const found = createRequire(import.meta.url)(outfile)
  rmSync(outfile)
  return found
}

/** Whoever of several nodes is first makes it. */
async function ownerOf(accounts, name) {
  try {
    return await accounts.create(name, 'pro', new Date().toISOString())
  } catch {
    return accounts.account(name)
  }
}

async function during(accounts, owners, batch, seconds) {
  const limits = { day: 1e12, hour: 1e12 }
  const hash = Buffer.alloc(32)
  const start = performance.now()
  let count = 0
  while (performance.now() - start < seconds * 1000) {
    const charges = Array.from({ length: batch }, (_, i) => ({
      account: owners[(count + i) % owners.length].id,
      key: 'identity',
      requestId: `${Date.now().toString(16)}-${randomUUID()}`,
      idempotency: null,
      question: hash,
      answer: hash,
      endpoint: '/v1/events',
      credits: 1,
      limits,
      at: Date.now(),
    }))
    await accounts.charge(charges)
    count += batch
  }
  return count / ((performance.now() - start) / 1000)
}
