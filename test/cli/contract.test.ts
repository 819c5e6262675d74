import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CATALOGUE, TOP_WORDS } from '../../src/app/cli/catalogue.js'
import { COMMON_COMMANDS, PURPOSES, TOP_HELP } from '../../src/app/cli/help.js'
import { parseWords } from '../../src/app/cli/program.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { type FakeVendor, fakeVendor, walk } from '../support/vendors.js'
import { BARS, type Lent, type Ran, scratch, typed, wordsOf } from './support/run.js'

const folder = scratch()
const ask = async (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(await filled(line), {
    stdin: 'bands_key',
    ...(line.includes('serve') ? { signal: 'SIGTERM' } : {}),
    ...lent,
    env: {
      BANDS_DB: folder.file('bands.db'),
      BANDS_CONFIG_DIR: folder.file('config'),
      HOME: folder.path,
      ...lent.env,
    },
  })

let made = 0

/** A server that knows every key, and answers no question. */
const server = createServer((_, response) => {
  response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_parameter","message":"no."}')
})

/**
 * With a new name for `{new}`, the identity of a new key for `{key}`, the address of a server for
 * `{server}`, a profile that is logged in for `{login}`, and a list for `{list}`.
 */
async function filled(line: string): Promise<string> {
  made += 1
  const { port } = server.address() as AddressInfo
  const named = line.replace('{new}', `account-${made}`).replace('{server}', `http://127.0.0.1:${port}`)
  if (line.includes('{login}')) {
    await ask('login --profile work --remote {server}')
    return named.replace('{login}', 'work')
  }
  if (line.includes('{list}')) {
    const list = `list-${made}`
    await ask(`watch add ${list} AAPL GSPC`)
    return named.replace('{list}', list)
  }
  if (line.includes('{condition}')) {
    const condition = `condition_${made}`
    await ask(`conditions add ${condition} rsi_zone=oversold`)
    return named.replace('{condition}', condition)
  }
  if (!line.includes('{key}')) return named
  const { identity } = JSON.parse((await ask('keys create alice --json')).out)
  return named.replace('{key}', identity)
}

const FACTS = folder.file('earnings.csv')
const STRATEGIES = [5, 20].map(hold => folder.file(`hold-${hold}.yaml`))

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  writeFileSync(FACTS, 'ticker,report_date,session,eps_estimate,eps_actual\nABC,2018-02-01,post,1.00,1.25\n')
  for (const [i, hold] of [5, 20].entries())
    writeFileSync(
      STRATEGIES[i]!,
      `tickers: [AAPL]\nentry: {field: rsi_zone, bands: [oversold]}\nexit: {hold: ${hold}}\n`,
    )
  await ask(`import ${BARS}`)
  await ask('accounts create alice --tier plus')
  await ask('watch add tech AAPL GSPC')
  await ask('conditions add dip rsi_zone=oversold')
  vendor = await fakeVendor('coinbase', { history: symbol => walk(symbol, { everyDay: true }) })
  mkdirSync(folder.file('config'), { recursive: true })
  writeFileSync(folder.file('config/providers.yaml'), `coinbase: { like: coinbase, base: '${vendor.base}' }\n`)
  await ask('fetch BTC-USD --from coinbase')
})
let vendor: FakeVendor

afterAll(async () => {
  await vendor.close()
  server.close()
  folder.remove()
})

/** Needs PostgreSQL: test/store/postgres/accounts.test.ts runs it. */
const ELSEWHERE = ['mcp', 'ui', 'accounts grant']

/** A line for every command, without an output format; each may be run again and again. */
const LINES: Readonly<Record<string, string>> = {
  events: 'events AAPL rsi_zone --band oversold',
  tally: 'tally AAPL rsi_zone --band oversold',
  now: 'now',
  transitions: 'transitions AAPL rsi_zone',
  screen: 'screen rsi_zone!=oversold',
  changes: 'changes --since 2018-05-01',
  'scan oversold': 'scan oversold --date 2018-02-08',
  explain: 'explain AAPL rsi_zone 2018-02-08',
  show: 'show AAPL rsi_zone',
  export: 'export events --tickers AAPL --field rsi_zone --timeframe weekly',
  sql: 'sql "SELECT ticker, count(*) AS n FROM bars GROUP BY ticker ORDER BY ticker"',
  import: `import ${BARS} ${FACTS}`,
  facts: 'facts ABC',
  fetch: 'fetch BTC-USD --from coinbase --replace',
  update: 'update BTC-USD',
  providers: 'providers',
  pull: 'pull ABC rsi_zone --dry-run --remote https://bands.invalid',
  simulate: 'simulate 2 --bars 20',
  tickers: 'tickers',
  status: 'status',
  verify: 'verify',
  rebuild: 'rebuild',
  remove: 'remove SIM0001',
  rename: 'rename SIM0001 NEW',
  backup: `backup ${folder.file('backups')}/{new}`,
  restore: `restore ${folder.file('backup')} --replace`,
  unlock: 'unlock',
  serve: 'serve --port 0',
  mcp: 'mcp',
  ui: 'ui',
  'accounts create': 'accounts create {new} --tier plus',
  'watch add': 'watch add mine AAPL',
  'watch list': 'watch list',
  'watch show': 'watch show tech',
  'watch remove': 'watch remove {list} GSPC',
  'conditions add': 'conditions add mine2 rsi_zone=oversold',
  'conditions list': 'conditions list',
  'conditions show': 'conditions show dip',
  'conditions remove': 'conditions remove {condition}',
  'accounts list': 'accounts list',
  'accounts set-tier': 'accounts set-tier alice pro',
  'accounts usage': 'accounts usage --limit 7',
  'accounts layout': 'accounts layout',
  'accounts grant': 'accounts grant bands_server',
  'accounts copy': `accounts copy ${folder.file('copied.accounts.db')} --replace`,
  'keys create': 'keys create alice',
  'keys list': 'keys list alice',
  'keys revoke': 'keys revoke {key}',
  'keys roll': 'keys roll {key} --grace 2d',
  login: 'login --remote {server}',
  logout: 'logout --profile {login}',
  config: 'config',
  fields: 'fields',
  schema: 'schema',
  doctor: 'doctor',
  completion: 'completion bash',
  man: 'man tally',
  demo: `demo --report ${folder.file('demo.html')}`,
  study: 'study AAPL rsi_zone --band oversold --tests "bootstrap 99, draws 99"',
  backtest: 'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 99"',
  compare: `compare ${STRATEGIES.join(' ')} --tests "bootstrap 99"`,
  sweep: 'sweep AAPL --field rsi_zone --horizon 5 --tests "bootstrap 99"',
  trials: 'trials',
  'check lookahead': 'check lookahead AAPL --field rsi_zone --cuts 2',
}

/** Whether a document is as `bands schema NAME` says. */
async function schemaErrors(name: string, document: unknown): Promise<unknown[]> {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(JSON.parse((await ask(`schema ${name}`)).out))
  validate(document)
  return validate.errors ?? []
}

/** Answers that bear no name of a schema, and those that are made of bars or events as they come. */
const SCHEMAS: Readonly<Record<string, string | null>> = {
  events: 'events',
  'scan oversold': 'oversold',
  export: null,
  simulate: null,
}

test('the catalogue names each command once', () => {
  const names = CATALOGUE.map(entry => entry.name)
  expect(new Set(names).size).toBe(names.length)
  const missing = names.filter(name => !Object.hasOwn(LINES, name))
  expect(missing, 'without a command line in LINES').toEqual([])
})

/** What a command takes away has to be there again. */
async function prepared(name: string): Promise<void> {
  if (name === 'rename') await ask('remove NEW')
  if (name === 'restore') await ask(`backup ${folder.file('backup')}`)
  if (name === 'remove' || name === 'rename') await ask('simulate 1 --bars 20 --load')
}

/** Of the lines of every command one writes rows in the quick run: there are as many paths as kinds of answers. */
const ROWS_IN_QUICK = ['events', 'now', 'export', 'watch list', 'schema', 'status']

/** Commands that another run answers in other words: it finds what the one before has done, or tells the time. */
const CHANGING = 'import,fetch,update,facts,status,doctor,tickers,rebuild,keys create,serve'.split(',')

describe.each(CATALOGUE.map(entry => [entry.name, entry] as const))('bands %s', (name, entry) => {
  const line = LINES[name]!
  const [answered, answeredInFull] = ELSEWHERE.includes(name) ? [test.skip, test.skip] : [test, notInQuick]
  beforeAll(async () => {
    await prepared(name)
  })

  answered('writes one JSON document, as its schema says, and a newline to stdout with --json', async () => {
    const ran = await ask(`${line} --json`)
    expect(ran.code).toBe(0)
    const document = JSON.parse(ran.out)
    expect(ran.out.endsWith('\n')).toBe(true)
    const schema = SCHEMAS[name] === undefined ? /^bands\.([\w-]+)\/\d+$/.exec(document.schema)![1]! : SCHEMAS[name]
    if (schema !== null) expect(await schemaErrors(schema, document)).toEqual([])
  })

  answeredInFull('writes the same with --json before the command', async () => {
    await prepared(name)
    const ran = await ask(`--json ${line}`)
    expect(ran.code).toBe(0)
    if (CHANGING.includes(name) || line.includes('{')) return
    await prepared(name)
    expect((await ask(`${line} --json`)).out).toBe(ran.out)
  })

  answeredInFull('writes JSON that parses, without colour, on a terminal that is told to be coloured', async () => {
    await prepared(name)
    const ran = await ask(`${line} --json`, { terminal: 80, env: { FORCE_COLOR: '1' } })
    expect(ran.out).not.toContain('\u001b')
    expect(() => JSON.parse(ran.out)).not.toThrow()
  })

  const rows = ROWS_IN_QUICK.includes(name) ? answered : answeredInFull
  rows('writes NDJSON and CSV that parse', async () => {
    await prepared(name)
    const lines = (await ask(`${line} --ndjson`)).out.split('\n').filter(text => text !== '')
    for (const text of lines.slice(0, 50)) expect(() => JSON.parse(text)).not.toThrow()
    await prepared(name)
    const [header = '', ...rows] = (await ask(`${line} --csv`)).out.trimEnd().split('\n')
    expect(header).toMatch(/^[a-z][\w,]*$/)
    for (const row of rows.slice(0, 50))
      if (!row.includes('"')) expect(row.split(',')).toHaveLength(header.split(',').length)
  })

  test('explains itself with examples first and every option', async () => {
    const command = await entry.load()
    const { code, out } = await ask(`${name} --help all`)
    expect(code).toBe(0)
    expect(out.startsWith(`bands ${name}: ${entry.summary}\n\n  ${command.examples[0]}\n`)).toBe(true)
    for (const [flags] of command.options ?? []) expect(out).toContain(/--[\w-]+/.exec(flags)![0])
    expect(out.endsWith('bands help options\n')).toBe(true)
    expect((await ask(`help ${name} all`)).out).toBe(out)
  })

  test('gives examples that are understood', async () => {
    for (const example of (await entry.load()).examples) {
      const own = example.split('|').find(part => /^ *bands /.test(part))!
      expect(await parseWords(wordsOf(own).slice(1))).toMatchObject({ name })
    }
  })
})

describe('the top', () => {
  test('is under 24 lines of at most 80 columns, and names twelve commands', async () => {
    expect(TOP_HELP.split('\n').length).toBeLessThan(24)
    for (const line of TOP_HELP.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(COMMON_COMMANDS).toHaveLength(12)
    for (const word of COMMON_COMMANDS) expect(TOP_HELP).toMatch(new RegExp(`^  ${word} +\\w`, 'm'))
  })

  test('lists every command once in bands help all, and no other', async () => {
    expect(Object.values(PURPOSES).flat().sort()).toEqual([...TOP_WORDS].sort())
    const { code, out } = await ask('help all')
    expect(code).toBe(0)
    for (const word of TOP_WORDS) expect(out).toMatch(new RegExp(`^  ${word} {2}`, 'm'))
  })

  test.each(['', '--help', '-h', 'help', '--json', '-q'])('is what bands %s prints', async line => {
    expect(await ask(line)).toEqual({ code: 0, out: TOP_HELP, err: '' })
  })

  test('gives examples that are understood', async () => {
    const examples = TOP_HELP.match(/^ {2}bands .*$/gm)!
    expect(examples.length).toBeGreaterThan(1)
    for (const example of examples) {
      const words = example.split('|')[0]!.trim().split(/ {3,}/)[0]!.split(/ +/).slice(1)
      await expect(parseWords(words)).resolves.toHaveProperty('command')
    }
  })

  test('prints the version of the package', async () => {
    expect((await ask('--version')).out).toMatch(/^bands \d+\.\d+\.\d+\n$/)
    expect((await ask('events AAPL rsi_zone -V')).out).toMatch(/^bands \d+\.\d+\.\d+\n$/)
  })
})

describe('bands schema', () => {
  const printed = [
    ['simulate', 'simulate 2 --bars 20 --load'],
    ['setting', 'config get remote'],
    ['strategy', 'backtest AAPL rsi_zone --band oversold --hold 20 --print-config'],
    ['strategy', "backtest AAPL --when 'rsi_zone = oversold' --exit 'rsi_zone = neutral' --print-config"],
  ] as const

  test.each(firstInQuick(printed, 3))('%s holds what bands %s prints', async (name, line) => {
    expect(await schemaErrors(name, JSON.parse((await ask(`${line} --json`)).out))).toEqual([])
  })

  test('refuses an answer that lacks a key or has another type', async () => {
    const answer = JSON.parse((await ask('now --json')).out)
    expect(await schemaErrors('now', { ...answer, states: undefined })).not.toEqual([])
    expect(await schemaErrors('now', { ...answer, timeframe: 'hourly' })).not.toEqual([])
  })

  test('lists the names without one, also as data; has no rows, and the nearest name for a slip', async () => {
    expect((await ask('schema')).out).toMatch(/^tally +bands\.tally\/\d+$/m)
    const { schemas } = JSON.parse((await ask('schema --json')).out)
    expect(schemas).toContainEqual({ name: 'backup', schema: 'bands.backup/2' })
    expect(schemas).toContainEqual({ name: 'strategy', schema: null })
    expect(await ask('schema taly')).toMatchObject({ code: 2, err: expect.stringContaining('tally') })
    expect((await ask('schema tally --csv')).code).toBe(2)
  })
})
