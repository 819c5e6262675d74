import { copyFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { expectEnd, type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
let ground: Ground
let server: Served
let keys: Record<'free' | 'plus' | 'pro', string>
beforeAll(async () => {
  ground = await simulatedGround({ count: 3, bars: 1_600 })
  server = await serve(ground)
  keys = { free: await server.key('free'), plus: await server.key('plus'), pro: await server.key('pro') }
})
afterAll(async () => {
  await server.stop()
  ground.remove()
  folder.remove()
})

let made = 0
/** A database that is not there yet. */
const newDb = (): string => folder.file(`own-${++made}.db`)

/** A pull from the server with the key of a tier, into a database. */
const pull = (db: string, words: string, { key = keys.pro, ...lent }: Lent & { key?: string } = {}): Promise<Ran> =>
  typed(`pull ${words} --db ${db} --remote ${server.url}`, {
    ...lent,
    env: { COLUMNS: '400', BANDS_API_KEY: key, ...lent.env },
  })

/** A question to the database alone. */
const ask = (db: string, line: string, lent: Lent = {}): Promise<Ran> =>
  typed(`${line} --db ${db}`, { ...lent, env: { COLUMNS: '400', ...lent.env } })

/** The same question to the server. */
const remote = (line: string, key = keys.pro): Promise<Ran> =>
  typed(`${line} --remote ${server.url}`, { env: { BANDS_API_KEY: key } })

const credits = async (key: string): Promise<number> => {
  const answer = await server.get('/v1/events?ticker=NOSUCH&field=rsi_zone', key)
  return Number(answer.headers['x-requests-used'])
}

describe('bands pull', () => {
  it('says beforehand what it costs, and afterwards what it has brought, and the same questions answer offline', async () => {
    const db = newDb()
    const before = await credits(keys.pro)
    const ran = await pull(db, 'SIM0001,SIM0002 rsi_zone volume_ratio_band --timeframe both')
    expect(ran.code).toBe(0)
    const spent = (await credits(keys.pro)) - before
    const [plan, priced] = ran.err.split('\n')
    expect(plan).toBe(
      `8 series of ${server.url}: 8 new; at least 8 credits, one more for each further 100 events; 100,000 left today and 10,000 this hour.`,
    )
    expect(priced).toMatch(
      new RegExp(
        `^the first page of each is there; the others take ${spent - 8} credits more; 99,992 left today and 9,992 this hour\\.$`,
      ),
    )
    expect(ran.out).toContain(`${spent} credits spent`)
    for (const line of [
      'events SIM0001 rsi_zone --json',
      'events SIM0002 volume_ratio_band --timeframe weekly --limit 100 --json',
      'events SIM0001 volume_ratio_band --band high --limit 3 --json --context SIM0002:rsi_zone=neutral',
      'events SIM0001 rsi_zone --csv --limit 50',
      'events SIM0001 rsi_zone --ndjson --before 2023-06-01',
      'tally SIM0001 rsi_zone --band oversold --json',
      'transitions SIM0001,SIM0002 rsi_zone --json',
    ]) {
      const own = await ask(db, line)
      // The trial log counts what was asked before; a server's events are not in it.
      const withoutLog = (text: string): string => text.replaceAll(/"log":(\{[^}]*\}|null)/g, '')
      expect([line, own.code, withoutLog(own.out)]).toEqual([line, 0, withoutLog((await remote(line)).out)])
      expect(own.err).toMatch(
        new RegExp(`^SIM000\\d.*: pulled from ${server.url} on 2026-01-01, as of 2024-06-28\\n`, 'm'),
      )
    }
    expect((await ask(db, 'now SIM0001')).out).toMatch(/rsi_zone[\s\S]*volume_ratio_band/)
  })

  it('asks nothing and needs no key for a dry run', async () => {
    const db = newDb()
    const line = `pull SIM0001 rsi_zone macd_state --dry-run --db ${db} --remote ${server.url}`
    expect(await typed(line)).toEqual({
      code: 0,
      out: `2 series of ${server.url}: 2 new; at least 2 credits, one more for each further 100 events.\n`,
      err: '',
    })
    await pull(db, 'SIM0001 rsi_zone --max-credits 1')
    const { credits: price, series } = JSON.parse((await typed(`${line} --json`)).out)
    expect(series.map((one: { due: string }) => one.due)).toEqual(['new', 'rest'])
    expect(price.least).toBeGreaterThan(2)
  })

  it('shows on a terminal a line that the database answers, regardless of the chosen server', async () => {
    const db = newDb()
    const home = folder.file('hinted')
    const env = { COLUMNS: '200', BANDS_API_KEY: keys.pro, XDG_DATA_HOME: home }
    const typedOnTerminal = (line: string, more: Record<string, string> = {}): Promise<Ran> =>
      typed(line, { terminal: 200, env: { ...env, ...more } })
    const named = await typedOnTerminal(`pull SIM0001 rsi_zone --db ${db} --remote ${server.url}`)
    expect(named.err).toContain(`next, without a server: bands events SIM0001 rsi_zone --db ${db}`)
    const own = await typedOnTerminal(`pull SIM0001 rsi_zone --timeframe weekly --remote ${server.url}`)
    expect(own.err).toMatch(/next, without a server: bands events SIM0001 rsi_zone --timeframe weekly\W/)
    const chosen = { BANDS_REMOTE: server.url }
    const kept = await typedOnTerminal('pull SIM0001 rsi_zone', chosen)
    const [, line = ''] = /next, without a server: bands (events SIM0001 rsi_zone --remote local)/.exec(kept.err) ?? []
    expect((await typed(line, { env: { XDG_DATA_HOME: home, ...chosen } })).err).toContain('pulled from')
  })

  it('stops at the limit of credits with 8, shows the remaining series, and continues', async () => {
    const db = newDb()
    const before = await credits(keys.pro)
    const ran = await pull(db, 'SIM0001 SIM0002 volume_ratio_band --max-credits 4')
    expect(ran.code).toBe(8)
    expect((await credits(keys.pro)) - before).toBe(4)
    expect(ran.err).toMatch(
      /error: 4 credits are spent, as many as may be: \d of 2 series are not at their end, for (at least )?\d+ credits? more; the same command goes on\.$/m,
    )
    expect((await pull(newDb(), 'SIM0001 volume_ratio_band --max-credits 1')).err).toContain(
      'error: 1 credit is spent, as many as may be: 1 of 1 series are not at their end',
    )
    const rest = await pull(db, 'SIM0001 SIM0002 volume_ratio_band --json')
    expect(rest.code).toBe(0)
    const all = JSON.parse((await pull(newDb(), 'SIM0001 SIM0002 volume_ratio_band --json')).out).credits
    expect(JSON.parse(rest.out).credits).toBe(all - 4)
  })

  it('suggests fields for similar words, and names missing arguments', async () => {
    const db = newDb()
    expect((await pull(db, 'SIM0001 rsi_zon')).err).toMatch(
      /^error: there is no field "rsi_zon"\. Did you mean "rsi_zone"\?[\s\S]*try: +bands pull SIM0001 rsi_zone/,
    )
    expect((await pull(db, 'rsizone SIM0001')).code).toBe(2)
    expect((await pull(db, 'SIM0001')).err).toContain('error: FIELD is missing; all asks for each.')
    expect((await pull(db, 'rsi_zone')).err).toContain('error: TICKER is missing.')
    expect((await pull(db, 'SIM0001 rsi_zone --max-credits few')).err).toContain(
      '--max-credits "few" is not an integer',
    )
    expect((await pull(db, 'SIM0001 rsi_zone --timeframe hourly')).err).toContain('not one of daily, weekly, both')
    const none = await typed(`pull SIM0001 rsi_zone --db ${db}`, { env: { COLUMNS: '400', BANDS_API_KEY: keys.pro } })
    expectEnd(
      none,
      2,
      'error: no server is chosen to pull from: name one with --remote URL, or with --profile NAME after bands login.',
    )
  })

  it('reports a ticker that the server does not have with 3, and pulls the others', async () => {
    const db = newDb()
    const ran = await pull(db, 'SIM0001 SIM0009 rsi_zone')
    expect(ran.code).toBe(3)
    expect(ran.err).toContain('error: One of 2 series could not be pulled: no bars for "SIM0009"')
    expect((await ask(db, 'events SIM0001 rsi_zone --json')).code).toBe(0)
  })

  it('refuses a wrong key with 4 and an unreachable server with 7, and shows no key', async () => {
    const db = newDb()
    const key = `${keys.pro.slice(0, -1)}${keys.pro.endsWith('A') ? 'B' : 'A'}`
    const wrong = await pull(db, 'SIM0001 rsi_zone', { key })
    expect([wrong.code, wrong.out]).toEqual([4, ''])
    const env = { BANDS_API_KEY: keys.pro }
    const gone = await typed(`pull SIM0001 rsi_zone --db ${db} --remote http://127.0.0.1:1 --retries 0`, { env })
    expect([gone.code, gone.out]).toEqual([7, ''])
    expect(wrong.err + gone.err).not.toContain(keys.pro.slice(15))
  })
})

describe('pulled data', () => {
  it('is listed by status with its server and day, and is not taken for the sample', async () => {
    const db = newDb()
    await pull(db, 'SIM0001 rsi_zone macd_state')
    const { out } = await ask(db, 'status')
    expect(out).toMatch(new RegExp(`SIM0001 +2 +\\d+ +2026-01-01 +2024-06-28 +${server.url}`))
    const rows = (await ask(db, 'status --ndjson')).out.trim().split('\n')
    expect(rows.map(row => JSON.parse(row))).toMatchObject([
      { ticker: 'SIM0001', bars: null, source: server.url, format: 'pulled', last: '2024-06-28' },
    ])
    expect(JSON.parse((await ask(db, 'status --json')).out)).toMatchObject({
      tickers: [],
      pulled: [{ ticker: 'SIM0001' }],
    })
    const home = folder.file('home')
    await typed(`pull SIM0001 rsi_zone --remote ${server.url}`, {
      env: { BANDS_API_KEY: keys.pro, XDG_DATA_HOME: home },
    })
    const own = await typed('events SIM0001 rsi_zone --json', { env: { XDG_DATA_HOME: home } })
    expect([own.code, own.err]).toEqual([0, expect.not.stringContaining('sample')])
  })

  it('names missing series and the line that pulls them, and questions that need bars', async () => {
    const db = newDb()
    await pull(db, 'SIM0001 rsi_zone')
    const other = await ask(db, 'events SIM0001 macd_state --timeframe weekly')
    expectEnd(other, 3, 'bands pull SIM0001 macd_state --timeframe weekly')
    for (const line of ['explain SIM0001 rsi_zone', 'show SIM0001 rsi_zone', 'export events --tickers SIM0001']) {
      const ran = await ask(db, line)
      expect([line, ran.code, ran.err]).toEqual([line, 3, expect.stringMatching(/only .*events/)])
    }
    const early = await ask(db, 'events SIM0001 rsi_zone --as-of 2024-01-31')
    expectEnd(early, 2, '--as-of 2024-01-31 is before 2024-06-28')
  })

  it('reports missing later returns after a pull with a Free key', async () => {
    const db = newDb()
    await pull(db, 'SIM0001 volume_ratio_band', { key: keys.free })
    expect(JSON.parse((await ask(db, 'events SIM0001 volume_ratio_band --json')).out).query_range).toBe('90d')
    const tally = await ask(db, 'tally SIM0001 volume_ratio_band')
    expectEnd(tally, 4, 'was pulled with a free key')
    await pull(db, 'SIM0001 volume_ratio_band', { key: keys.plus })
    expect((await ask(db, 'tally SIM0001 volume_ratio_band')).code).toBe(0)
  })
})

describe('a database with bars of some tickers and pulled events of others', () => {
  const db = folder.file('mixed.db')
  const mixed = (line: string): Promise<Ran> => ask(db, line)

  /** SIM0003 has bars; of SIM0001 two fields were pulled, of SIM0002 one and part of another. */
  beforeAll(async () => {
    copyFileSync(ground.db, db)
    for (const ticker of ['SIM0001', 'SIM0002']) expect((await mixed(`remove ${ticker}`)).code).toBe(0)
    await pull(db, 'SIM0001 rsi_zone valuation_zone')
    await pull(db, 'SIM0002 macd_state')
    expect((await pull(db, 'SIM0002 rsi_zone --max-credits 1')).code).toBe(8)
  })

  it('shows all known states, and omits fields that were not named', async () => {
    const { code, out, err } = await mixed('now --json')
    expect(code).toBe(0)
    expect(err).not.toContain('left out')
    const { states } = JSON.parse(out) as { states: { ticker: string; field: string }[] }
    const of = (ticker: string): string[] => states.filter(state => state.ticker === ticker).map(state => state.field)
    expect([of('SIM0001'), of('SIM0002')]).toEqual([['rsi_zone', 'valuation_zone'], ['macd_state']])
    expect(of('SIM0003')).toHaveLength(21)
    expect((await mixed('now SIM0001 --csv')).out.split('\n')).toHaveLength(4)
  })

  it('says which tickers it leaves out of a field that was named', async () => {
    for (const line of ['now --field rsi_zone --json', 'tally rsi_zone --all --json']) {
      const { code, out, err } = await mixed(line)
      expect([code, out]).toEqual([0, expect.stringContaining('SIM0001')])
      expect(out).not.toContain('SIM0002')
      expect(err).toContain(
        'left out, because their daily rsi_zone is not here, or not to its end (bands status lists the pulled data): SIM0002.',
      )
      expect((await mixed(`${line} --quiet`)).err).not.toContain('left out')
    }
  })

  it('shows the ranges of all its tickers, and no day of only some', async () => {
    for (const line of ['tally rsi_zone --all', 'transitions rsi_zone --all', 'events rsi_zone --all']) {
      const { out } = await mixed(`${line} --json`)
      expect(JSON.parse(out), line).toMatchObject({ query_range: '5y, all', after: null, before: null })
      expect(JSON.parse((await mixed(`${line} --after 2022-01-01 --json`)).out).after, line).toBe('2022-01-01')
    }
    const shown = await ask(db, 'tally rsi_zone --all', { terminal: 200 })
    expect(unpainted(shown.out)).toContain('5y or all dates')
    const states = JSON.parse((await mixed('now --field rsi_zone --json')).out)
    expect(states.query_range).toBe('5y, all')
  })

  it.each([
    ['now SIM0001 --field macd_state', 3, ''],
    ['now SIM0002 --field rsi_zone', 8, ''],
    ['now SIM0001 --timeframe weekly', 3, 'try:   bands pull SIM0001 rsi_zone --timeframe weekly '],
    ['tally growth_zone --tickers SIM0001', 3, ''],
    ['facts SIM0001 --json', 3, 'only events are here, pulled from'],
    ['remove SIM001', 3, 'nothing is loaded for "SIM001"'],
  ])('refuses %s with %i, and says what to do', async (line, code, said) => {
    const ran = await mixed(line)
    expectEnd(ran, code, said)
  })

  it('is checked and counted with its pulled tickers', async () => {
    expect((await mixed('verify')).out).toMatch(/^3 tickers.* checked: all as it was written/m)
    expect((await mixed('verify --deep --json')).out).toContain('"tickers":3')
    expect(await mixed('doctor --csv')).toMatchObject({ code: 0, out: expect.stringContaining('tickers: 3') })
  })
})
