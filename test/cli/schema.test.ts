import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BARS, scratch, typed } from './support/run.js'

const folder = scratch()
const ask = (line: string) =>
  typed(line, { env: { BANDS_DB: folder.file('bands.db'), BANDS_CONFIG_DIR: folder.file('config') } })

beforeAll(async () => {
  await ask(`import ${BARS}`)
})
afterAll(() => folder.remove())

const QUICK = '--resamples 99 --reps 99'

test.each([
  ['events', 'events AAPL rsi_zone --band oversold --json'],
  ['oversold', 'scan oversold --date 2018-02-08 --json'],
  ['tally', 'tally AAPL rsi_zone --band oversold --json'],
  ['now', 'now --json'],
  ['transitions', 'transitions AAPL rsi_zone --json'],
  ['explain', 'explain AAPL rsi_zone 2018-02-08 --json'],
  ['show', 'show AAPL rsi_zone --json'],
  ['study', `study AAPL rsi_zone --band oversold ${QUICK} --json`],
  ['sweep', `sweep AAPL --fields rsi_zone --horizon 5 ${QUICK} --json`],
  ['backtest', 'backtest AAPL rsi_zone --band oversold --hold 20 --reps 99 --json'],
  ['strategy', 'backtest AAPL rsi_zone --band oversold --hold 20 --print-config --json'],
  ['check-lookahead', 'check lookahead AAPL --fields rsi_zone --cuts 2 --json'],
  ['check-recursion', 'check recursion AAPL --fields rsi_zone --json'],
  ['import', `import ${BARS} --json`],
  ['facts', 'facts AAPL --json'],
  ['simulate', 'simulate 2 --bars 20 --load --json'],
  ['trials', 'trials --json'],
  ['tickers', 'tickers --json'],
  ['status', 'status --json'],
  ['verify', 'verify --json'],
  ['rebuild', 'rebuild --json'],
  ['config', 'config --json'],
  ['fields', 'fields --json'],
  ['doctor', 'doctor --json'],
  ['demo', 'demo --json'],
  ['account', 'accounts create alice --tier plus --json'],
  ['accounts', 'accounts list --json'],
  ['usage', 'accounts usage --days 7 --json'],
  ['key', 'keys create --account alice --json'],
  ['keys', 'keys list --account alice --json'],
  ['schemas', 'schema --json'],
])('the schema %s holds what bands %s prints', async (name, line) => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(JSON.parse((await ask(`schema ${name}`)).out))
  validate(JSON.parse((await ask(line)).out))
  expect(validate.errors ?? []).toEqual([])
})

test('a schema refuses an answer that lacks a key or has another type', async () => {
  const validate = new Ajv2020({ allowUnionTypes: true }).compile(JSON.parse((await ask('schema now')).out))
  const answer = JSON.parse((await ask('now --json')).out)
  expect(validate({ ...answer, states: undefined })).toBe(false)
  expect(validate({ ...answer, timeframe: 'hourly' })).toBe(false)
})

test('without a name the names are listed, also as data', async () => {
  expect((await ask('schema')).out).toMatch(/^tally +bands\.tally\/1$/m)
  const { schemas } = JSON.parse((await ask('schema --json')).out)
  expect(schemas).toContainEqual({ name: 'study', schema: 'bands.study/1' })
  expect(schemas).toContainEqual({ name: 'strategy', schema: null })
})

test('a slip gets the nearest name', async () => {
  const { code, err } = await ask('schema taly')
  expect(code).toBe(2)
  expect(err).toContain('tally')
})

test('a schema has no rows', async () => {
  expect((await ask('schema tally --csv')).code).toBe(2)
})
