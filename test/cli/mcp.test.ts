import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { notInQuick } from '../support/full.js'
import { BIN, expectRefusal, importBundledBars, run, scratch, typed } from './support/run.js'

/** `bands mcp`, asked by the official client of the protocol. */

const folder = scratch()
const db = folder.file('bands.db')
const client = new Client({ name: 'a test', version: '1' })

interface Answered {
  isError?: boolean
  content: { type: string; text: string }[]
}

async function ask(name: string, params: object = {}) {
  const { isError = false, content } = (await client.callTool({ name, arguments: { ...params } })) as Answered
  expect(content).toHaveLength(1)
  expect(content[0]!.text.length).toBeLessThanOrEqual(LONGEST)
  return { isError, answer: JSON.parse(content[0]!.text) }
}

async function found(name: string, params: object = {}) {
  const { isError, answer } = await ask(name, params)
  expect(isError, JSON.stringify(answer)).toBe(false)
  return answer
}

const LONGEST = 25_000
const OVERSOLD = { field: 'rsi_zone', band: 'oversold' }

beforeAll(async () => {
  await importBundledBars(db)
  const env = { PATH: process.env.PATH!, HOME: folder.path }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BIN, 'mcp', '--db', db], env }))
})
afterAll(async () => {
  await client.close()
  folder.remove()
})

describe('bands mcp', () => {
  test('says at a terminal that it waits for an assistant, and nothing in a pipe', async () => {
    const line = `mcp --db ${db}`
    expect(await typed(line, { stdin: '', terminal: 200 })).toMatchObject({
      out: '',
      err: expect.stringContaining('Waiting for an assistant on standard input.'),
    })
    expect(await typed(line, { stdin: '' })).toMatchObject({ out: '', err: '' })
  })

  test('lists its tools in less than 8 kB, none of which changes the data', async () => {
    const { tools } = await client.listTools()
    const names = 'fields tickers status now events tally transitions screen changes explain study backtest'
    expect(tools.map(({ name }) => name).join(' ')).toBe(names)
    for (const { annotations } of tools) expect(annotations).toEqual({ readOnlyHint: true })
    expect(JSON.stringify(tools).length).toBeLessThan(8000)
    expect(client.getServerVersion()).toMatchObject({ name: 'bands' })
    expect(client.getInstructions()).toContain('fields and tickers say what can be asked')
  })

  test('describes each parameter where it first occurs, without the lists of bands', async () => {
    const { tools } = await client.listTools()
    const words = tools.flatMap(({ inputSchema }) =>
      Object.entries(inputSchema.properties ?? {}).map(([name, one]) => ({
        name,
        ...(one as { description?: string }),
      })),
    )
    for (const { name } of words)
      expect(
        words.some(one => one.name === name && (one.description ?? '') !== ''),
        name,
      ).toBe(true)
    expect(JSON.stringify(tools)).not.toContain('deep_oversold')
  })

  test.each([
    ['fields', {}, 'fields'],
    ['tickers', {}, 'ranges'],
    ['status', {}, 'bars'],
    ['now', { tickers: ['AAPL'], field: ['rsi_zone'] }, 'states'],
    ['events', { ticker: 'AAPL', ...OVERSOLD, limit: 3 }, 'events'],
    ['tally', { tickers: ['AAPL'], ...OVERSOLD }, 'groups'],
    ['transitions', { field: 'rsi_zone' }, 'matrix'],
    ['screen', { when: 'rsi_zone != neutral' }, 'matches'],
    ['changes', {}, 'changes'],
    ['explain', { ticker: 'AAPL', field: 'rsi_zone', date: '2018-02-08' }, 'band'],
    ['study', { tickers: ['AAPL'], ...OVERSOLD, horizon: [5] }, 'windows'],
    ['backtest', { tickers: ['GSPC'], ...OVERSOLD, hold: 20 }, 'verdict'],
  ] as const)('answers %s', async (name, params, key) => {
    expect(await found(name, params)).toHaveProperty(key)
  })

  test('answers as the library does, with six digits', async () => {
    const bands = await openBands({ db, ledger: false })
    const params = { ticker: 'AAPL', ...OVERSOLD, limit: 3 } as const
    expect(await found('events', params)).toEqual(JSON.parse(JSON.stringify(await bands.events(params))))
    const tally = await found('tally', { tickers: ['AAPL'], ...OVERSOLD, horizon: [20] })
    const { groups } = await bands.tally({ tickers: ['AAPL'], ...OVERSOLD, horizon: [20] })
    expect(tally.groups[0].windows[0].top_share).toBe(Number(groups[0]!.windows[0]!.top_share!.toPrecision(6)))
    await bands.close()
  })

  test('asks every loaded ticker where none is named', async () => {
    const all = await found('tally', OVERSOLD)
    const named = await found('tally', { ...OVERSOLD, tickers: ['AAPL'] })
    expect(all.events).toBeGreaterThan(named.events)
  })

  notInQuick('cuts the rows of a long answer, and says how many there are and how to narrow the question', async () => {
    const { rows_here, for_more, changes } = await found('changes', { since: '2012-01-01' })
    const [, here, of] = /^(\d+) of (\d+)$/.exec(rows_here.changes)!
    expect(changes).toHaveLength(Number(here))
    expect(Number(of)).toBeGreaterThan(1000)
    expect(for_more).toBe('narrow the question by tickers, field, since; the command line has all')
    const narrow = await found('changes', { since: '2018-05-01', field: ['rsi_zone'], tickers: ['AAPL'] })
    expect(narrow).not.toHaveProperty('rows_here')
  })

  test.each([
    ['a misspelt field', 'events', { ticker: 'AAPL', field: 'rsi_zon' }, 'field'],
    ['a misspelt band', 'tally', { tickers: ['AAPL'], field: 'rsi_zone', band: 'oversolt' }, 'band'],
    ['a misspelt ticker', 'now', { tickers: ['AAPLE'] }, 'tickers'],
  ] as const)('refuses %s, and the refusal says what is meant', async (_what, name, params, param) => {
    const { isError, answer } = await ask(name, params)
    expect(isError).toBe(true)
    const [meant] = answer.suggestions
    await found(name, { ...params, [param]: param === 'tickers' ? [meant] : meant })
  })

  test('refuses an unknown parameter, and names those that there are', async () => {
    const { isError, answer } = await ask('events', { ticker: 'AAPL', ...OVERSOLD, colour: 'red' })
    expect(isError).toBe(true)
    expect(answer).toMatchObject({ param: 'colour', allowed: expect.arrayContaining(['ticker', 'field', 'band']) })
  })

  test('knows a condition that was named since it began', async () => {
    expect((await ask('screen', { when: '@calm' })).isError).toBe(true)
    await run(['conditions', 'add', 'calm', 'rsi_zone = neutral'], { env: { BANDS_DB: db } })
    expect((await found('fields')).conditions).toEqual({ calm: 'rsi_zone = neutral' })
    expect(await found('screen', { when: '@calm' })).toMatchObject({
      when: 'rsi_zone = neutral',
      named_conditions: { calm: 'rsi_zone = neutral' },
    })
  })

  test('ends with its input, and has nothing but answers on standard output', async () => {
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const { code, out } = await typed('mcp', {
      env: { BANDS_DB: db },
      stdin: `${JSON.stringify({ ...hello, params })}\n`,
    })
    expect(code).toBe(0)
    for (const line of out.split('\n').filter(text => text !== '')) expect(JSON.parse(line).jsonrpc).toBe('2.0')
  })

  test('refuses a server, and a database that is not there', async () => {
    expectRefusal(await typed('mcp --remote https://api.example.com', { env: { BANDS_DB: db } }), 2, '--remote')
    expectRefusal(await typed('mcp --db /nowhere/x.db'), 3, 'there is no database at /nowhere/x.db')
  })
})
