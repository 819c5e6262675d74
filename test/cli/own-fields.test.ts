import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { BadData, InvalidParameter } from '../../src/core/errors.js'
import { ownFieldSet } from '../../src/core/params/fields-file.js'
import { notInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'
import { bundledBars, expectEnd, expectRefusal, type Ran, run, unpainted, wordsOf } from './support/run.js'

const { folder } = bundledBars()
const DB = { BANDS_DB: folder.file('bands.db') }

const TEXT = `# Mine.
- field: my_rsi
  of: rsi(close, 14)
  cuts: [20, 30, 40, 60, 70, 80]
  bands: [deep_oversold, oversold, neutral_low, neutral, neutral_high, overbought, deep_overbought]
- field: dip
  when:
    deep: my_rsi in (oversold, deep_oversold) and GSPC:trend_direction in (uptrend, strong_uptrend)
    shallow: my_rsi = neutral_low
    none: otherwise
`
const HASHES = Object.fromEntries(ownFieldSet(TEXT, '').all.flatMap(({ name, hash }) => (hash ? [[name, hash]] : [])))
const MINE = { my_rsi: HASHES.my_rsi }
const BOTH = { dip: HASHES.dip, my_rsi: HASHES.my_rsi }

/** A file in a folder of its own, as it lies in the folder of config.json. */
function fileOf(name: string, text: string): { path: string; folder: string } {
  const own = folder.file(name)
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'fields.yaml'), text)
  return { path: join(own, 'fields.yaml'), folder: own }
}

const FILE = fileOf('mine', TEXT)
const BROKEN = fileOf('broken', '- field: rsi_zone\n  of: close\n  bands: [a]\n')

/** With the own fields, unless another environment says otherwise. */
function ask(line: string, env: Record<string, string> = { BANDS_FIELDS_FILE: FILE.path }): Promise<Ran> {
  return run(wordsOf(line), { env: { ...DB, ...env } })
}

async function found(line: string, env?: Record<string, string>) {
  const { code, out, err } = await ask(`${line} --json`, env)
  expect(code, err).toBe(0)
  return JSON.parse(out)
}

describe('an own field with the lengths of a specified one', () => {
  const BAND = '--band oversold'
  const FEW = '--tests "draws 99, bootstrap 99"'
  it.each([
    ['events', `events AAPL FIELD ${BAND} --limit all`],
    ['tally', `tally AAPL GSPC FIELD ${BAND}`],
    ['tally by bands', 'tally AAPL FIELD --by band'],
    ['transitions', 'transitions AAPL FIELD --timeframe weekly'],
    ['show', 'show AAPL FIELD --after 2018-01-01'],
    ['study', `study AAPL FIELD ${BAND} --horizon 5 ${FEW}`],
    ['study of many, in threads', `study --all FIELD ${BAND} --horizon 5 --threads 2 ${FEW}`],
    ['sweep', 'sweep AAPL --field FIELD --horizon 5 --tests "bootstrap 99"'],
    ['backtest', `backtest AAPL FIELD ${BAND} --hold 5 --tests "draws 99"`],
    ['now', 'now AAPL --field FIELD'],
    ['screen', "screen 'FIELD = overbought'"],
    ['changes', 'changes --since 2018-04-01 --field FIELD'],
    [
      'a comparison of strategies by context',
      'backtest GSPC macd_state --band expanding_positive --exit FIELD=overbought --tests "draws 99"',
    ],
    ['events as of a day', `events AAPL FIELD ${BAND} --as-of 2016-05-05 --limit all`],
    ['a context', 'events AAPL macd_state --context GSPC:FIELD=neutral --limit 3'],
    ['a condition', "events AAPL --when 'FIELD enters oversold'"],
  ])('has the answers of that one: %s', async (_what, line) => {
    const own = await found(line.replaceAll('FIELD', 'my_rsi'))
    const specified = await found(line.replaceAll('FIELD', 'rsi_zone'))
    expect(specified).not.toHaveProperty('own_fields')
    const named = JSON.parse(JSON.stringify(specified).replaceAll('rsi_zone', 'my_rsi'))
    expect(withoutTrials(own)).toEqual({ ...withoutTrials(named), own_fields: MINE })
  })

  it('is exported as that one: events, and a column of series', async () => {
    const events = async (field: string) => (await ask(`export events --tickers AAPL --field ${field} --ndjson`)).out
    expect(await events('my_rsi')).toBe((await events('rsi_zone')).replaceAll('rsi_zone', 'my_rsi'))
    const { out } = await ask('export series --tickers AAPL --ndjson')
    const rows = out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(rows.length).toBeGreaterThan(1_000)
    for (const row of rows) {
      expect(row.my_rsi).toBe(row.rsi_zone)
      expect(row).toHaveProperty('dip')
    }
  })

  it('is explained by its expression, with the value', async () => {
    const { rule, readings, band } = await found('explain AAPL my_rsi 2018-02-08')
    expect(rule).toContain('rsi(close, 14); deep_oversold < 20 ≤ oversold')
    const specified = (await found('explain AAPL rsi_zone 2018-02-08')).readings
    const value = specified.find(({ name }: { name: string }) => name === 'rsi').value
    expect(readings).toContainEqual(expect.objectContaining({ name: 'rsi(close, 14)', value }))
    expect(band).toBe('oversold')
  })
})

/** The ledger counts what was looked at: the second question is another trial. */
function withoutTrials(document: object): object {
  return JSON.parse(
    JSON.stringify(document, (key, value) => (['ledger', 'trials', 'log', 'log_q'].includes(key) ? undefined : value)),
  )
}

notInQuick('own fields count in the trial log, and anew when their definition changes', async () => {
  const db = { BANDS_DB: folder.file('counted.db') }
  copyFileSync(folder.file('bands.db'), db.BANDS_DB)
  const looked = async (file: string) =>
    (await found('sweep AAPL --field my_rsi --horizon 5 --tests "bootstrap 99"', { ...db, BANDS_FIELDS_FILE: file }))
      .tried
  const first = await looked(FILE.path)
  expect(first.ledger).toBe(first.cells)
  expect((await looked(FILE.path)).ledger).toBe(first.cells)
  const other = fileOf('longer', TEXT.replace('close, 14', 'close, 21'))
  expect((await looked(other.path)).ledger).toBeGreaterThan(first.cells)
})

test('bands fields FIELD describes it with its rule, one of your own or not', async () => {
  const { fields } = await found('fields my_rsi rsi_zone')
  expect(fields.map(({ field }: { field: string }) => field)).toEqual(['my_rsi', 'rsi_zone'])
  const { rule } = await found('explain AAPL rsi_zone')
  expect(fields[1].rule).toBe(rule)
  expect((await ask('fields rsi_zone', {})).out.replace(/\s+/g, ' ')).toContain(`Rule: ${rule}`)
  expectRefusal(await ask('fields rsi_zon', {}), 2, 'Did you mean "rsi_zone"?')
  expectRefusal(await ask('fields rsi_zone --all', {}), 2, '--all is only for bands fields check FILE')
})

test('bands fields --json has the hash of each own field, and none for the specified ones', async () => {
  const { fields } = await found('fields')
  const hashes = fields.flatMap(({ field, hash }: { field: string; hash?: string }) => (hash ? [[field, hash]] : []))
  expect(Object.fromEntries(hashes)).toEqual(HASHES)
})

notInQuick('programs are told of the same definitions as whoever asks for JSON', async () => {
  const bands = await openBands({ db: DB.BANDS_DB, fields: TEXT, ledger: false })
  const aapl = { tickers: ['AAPL'] }
  const dips = { ...aapl, field: 'dip', band: 'shallow', horizon: [5], reps: 99, resamples: 99 }
  const bought = { ...aapl, field: 'rsi_zone', band: 'oversold', hold: 5, reps: 99 } as const
  const cases = [
    [await bands.events({ ticker: 'AAPL', field: 'my_rsi' }), MINE],
    [await bands.events({ ticker: 'AAPL', field: 'rsi_zone', when: 'dip = none' }), BOTH],
    [await bands.events({ ticker: 'AAPL', field: 'rsi_zone' }), undefined],
    [await bands.poolEvents({ ...aapl, when: 'my_rsi enters oversold' }), MINE],
    [await bands.tally({ ...aapl, field: 'dip' }), BOTH],
    [await bands.now({ ...aapl, field: ['my_rsi'] }), MINE],
    [await bands.explain({ ticker: 'AAPL', field: 'dip' }), BOTH],
    [await bands.screen({ when: 'dip = none' }), BOTH],
    [await bands.study(dips), BOTH],
    [await bands.sweep({ ...aapl, field: ['my_rsi'], horizon: [5], resamples: 99 }), MINE],
    [await bands.backtest({ ...aapl, field: 'rsi_zone', band: 'oversold', exit: 'dip = none', reps: 99 }), BOTH],
    [await bands.backtest({ ...bought, rank: 'my_rsi' }), MINE],
    [await bands.backtest({ ...bought, rank: '-my_rsi' }), MINE],
    [await bands.backtest({ ...bought, rank: ' - dip' }), BOTH],
    [await bands.backtest({ ...bought, rank: '-rsi(close, 14)' }), undefined],
  ] as const
  await bands.close()
  for (const [answer, definitions] of cases)
    expect((answer as { own_fields?: object }).own_fields, JSON.stringify(answer).slice(0, 80)).toEqual(definitions)
})

describe('a field of rules', () => {
  it('is explained by its rules, test by test', async () => {
    const { rule, tests, band } = await found('explain AAPL dip 2018-02-08')
    expect(rule).toContain('shallow: my_rsi = neutral_low; none: otherwise')
    expect(tests.map(({ subject, holds }: { subject: string; holds: boolean }) => [subject, holds])).toEqual([
      ['my_rsi', true],
      ['GSPC:trend_direction', false],
      ['my_rsi', false],
    ])
    expect(band).toBe('none')
  })

  it('is of the tier of what it names, another ticker being context', async () => {
    expectRefusal(await ask('events AAPL dip --tier free'), 4, 'cross-asset correlation')
    expect((await ask('events AAPL my_rsi --tier free')).code).toBe(0)
  })

  it('is omitted from checks of fields that need bars', async () => {
    const { passed, fields } = await found('check lookahead AAPL --cuts 2')
    const names = fields.map(({ field }: { field: string }) => field)
    expect([passed, names.includes('my_rsi'), names.includes('dip')]).toEqual([true, true, false])
    expectRefusal(await ask('check lookahead AAPL --field dip'), 2, 'dip uses other fields')
  })
})

describe('the place of own fields', () => {
  test('in a file that is named, by a variable, or in the folder of config.json; the option comes first', async () => {
    const other = fileOf('other', '- { field: far, of: close, cuts: [1], bands: [near, away] }')
    const names = async (line: string, env: Record<string, string>) =>
      (await found(line, env)).fields.slice(21).map(({ field }: { field: string }) => field)
    expect(await names('fields', {})).toEqual([])
    expect(await names('fields', { BANDS_FIELDS_FILE: FILE.path })).toEqual(['my_rsi', 'dip'])
    expect(await names('fields', { BANDS_CONFIG_DIR: FILE.folder })).toEqual(['my_rsi', 'dip'])
    expect(await names(`fields --fields-file ${other.path}`, { BANDS_FIELDS_FILE: FILE.path })).toEqual(['far'])
    expect(await names('fields', { BANDS_FIELDS_FILE: other.path, BANDS_CONFIG_DIR: FILE.folder })).toEqual(['far'])
  })

  test('a file that is named and missing is refused', async () => {
    expectRefusal(await ask('events AAPL rsi_zone --fields-file nowhere.yaml', {}), 3, 'nowhere.yaml')
  })

  test('without the file they are unknown', async () => {
    expectRefusal(await ask('events AAPL my_rsi', {}), 2, 'there is no field "my_rsi"')
  })

  test('a slip names the nearest of them', async () => {
    expectRefusal(await ask('events AAPL my_rs'), 2, 'Did you mean "my_rsi"')
    expectRefusal(await ask('events AAPL dip --band shalow'), 2, 'Did you mean "shallow"')
  })
})

describe('a broken file', () => {
  test.each(['events AAPL rsi_zone', 'tally AAPL rsi_zone', 'now AAPL', "screen 'rsi_zone = oversold'", 'status'])(
    'ends bands %s at its place',
    async line => {
      for (const env of [{ BANDS_FIELDS_FILE: BROKEN.path }, { BANDS_CONFIG_DIR: BROKEN.folder }])
        expectRefusal(await ask(line, env), 5, `${BROKEN.path}:1:10: rsi_zone is a field of bands already`)
    },
  )

  test.each(['doctor', 'config', 'fields', 'completion bash'])('lets bands %s run', async line => {
    const { out } = await ask(`${line} --json`, { BANDS_FIELDS_FILE: BROKEN.path })
    expect(JSON.parse(out)).toHaveProperty('schema', `bands.${line.split(' ')[0]}/1`)
  })

  test('is shown by bands doctor and by bands fields', async () => {
    const env = { BANDS_FIELDS_FILE: BROKEN.path }
    const said = `${BROKEN.path}:1:10: rsi_zone is a field of bands already`
    const { code, out } = await ask('doctor --json', env)
    expect(code).toBe(5)
    const check = { name: 'fields', outcome: 'fail', detail: expect.stringContaining(said) }
    expect(JSON.parse(out).checks).toContainEqual(expect.objectContaining(check))
    expectEnd(await ask('fields', env), 0, `Fields of your own are left out: ${said}`)
    const { checks } = await found('doctor')
    expect(checks).toContainEqual({ name: 'fields', outcome: 'ok', detail: 'your own: my_rsi, dip', remedy: null })
  })
})

describe('bands fields check', () => {
  notInQuick('counts how often each band occurred, as the series have it', async () => {
    const { fields, tickers } = await found(`fields check ${FILE.path}`, {})
    expect(tickers).toBe(2)
    expect(fields.map(({ field, hash }: { field: string; hash: string }) => [field, hash])).toEqual(
      Object.entries(HASHES),
    )
    const counts = new Map<string, number>()
    const { out } = await ask('export series --ndjson --timeframe daily')
    for (const line of out.trim().split('\n')) {
      const { my_rsi: band } = JSON.parse(line)
      counts.set(band, (counts.get(band) ?? 0) + 1)
    }
    const [{ bands, bars, undefined: none }] = fields
    expect(none).toBe(counts.get(null as never))
    for (const { band, bars: own, share } of bands) {
      expect(own, band).toBe(counts.get(band) ?? 0)
      expect(share, band).toBe(own / (bars - none))
    }
  })

  it('draws them on a terminal, and a row a band for machines', async () => {
    const { out } = await run(['fields', 'check', FILE.path], { env: DB, terminal: 100 })
    expect(unpainted(out)).toMatch(/oversold +2% {2}#+ +78 +33/)
    const { out: csv } = await ask(`fields check ${FILE.path} --tickers AAPL --timeframe weekly --csv`, {})
    const [head, ...rows] = csv.trim().split('\n')
    expect(head).toBe(
      'field,hash,timeframe,tickers,band,bars,share,events,by_ticker_least,by_ticker_median,by_ticker_most',
    )
    expect(rows).toHaveLength(10)
  })

  it('refuses a broken file at its place, and what is no file', async () => {
    expectRefusal(await ask(`fields check ${BROKEN.path}`, {}), 5, `${BROKEN.path}:1:10`)
    const close = fileOf('close', '- field: close\n  of: rsi(close, 2)\n  cuts: [50]\n  bands: [x, y]\n').path
    for (const line of [`fields check ${close}`, `export series --tickers AAPL --fields-file ${close}`, 'now AAPL'])
      expectRefusal(await ask(line, { BANDS_FIELDS_FILE: close }), 5, `${close}:1:10: close is a column of the exports`)
    expectRefusal(await ask('fields check nowhere.yaml', {}), 3, 'nowhere.yaml')
    expectRefusal(await ask('fields check', {}), 2, 'takes one file of own fields')
  })
})

describe('while a line is typed', () => {
  const offered = async (line: string, env: Record<string, string>): Promise<string[]> => {
    const { out } = await run(['completion', '--complete', '--', ...line.split(' ')], { env: { ...DB, ...env } })
    return out
      .trim()
      .split('\n')
      .map(one => one.split('\t')[0]!)
  }
  it.each([
    ['events AAPL my', { BANDS_FIELDS_FILE: FILE.path }, ['my_rsi']],
    ['events AAPL my', { BANDS_CONFIG_DIR: FILE.folder }, ['my_rsi']],
    [`events --fields-file ${FILE.path} AAPL my`, {}, ['my_rsi']],
    [`events --fields-file=${FILE.path} AAPL my`, {}, ['my_rsi']],
    ['events AAPL my', {}, ['']],
    ['events AAPL rsi', { BANDS_FIELDS_FILE: BROKEN.path }, ['rsi_zone']],
  ])('%s is completed with the fields of the user', async (line, env, words) => {
    expect(await offered(line, env as Record<string, string>)).toEqual(words)
  })
})

describe('a server', () => {
  const served = serveFile({ count: 1 })

  it('knows the specified fields alone', async () => {
    const { server } = await served
    const env = { BANDS_FIELDS_FILE: FILE.path, BANDS_API_KEY: await server.key('pro') }
    const refused = await ask(`events SIM0001 my_rsi --remote ${server.url}`, env)
    expectRefusal(refused, 2, 'my_rsi')
    expect((await ask(`events SIM0001 rsi_zone --remote ${server.url}`, env)).code).toBe(0)
  })
})

describe('in a program', () => {
  it('own fields are a text, or a list of definitions', async () => {
    const list = [
      {
        field: 'my_rsi',
        of: 'rsi(close, 14)',
        cuts: [20, 30, 40, 60, 70, 80],
        bands: ['deep_oversold', 'oversold', 'neutral_low', 'neutral', 'neutral_high', 'overbought', 'deep_overbought'],
      },
    ]
    for (const fields of [TEXT, list]) {
      const bands = await openBands({ db: folder.file('bands.db'), fields })
      try {
        const own = await bands.events({ ticker: 'AAPL', field: 'my_rsi', band: 'oversold', limit: 'all' })
        const specified = await bands.events({ ticker: 'AAPL', field: 'rsi_zone', band: 'oversold', limit: 'all' })
        expect(own).toEqual({ ...specified, field: 'my_rsi', own_fields: MINE })
        expect((await bands.tally({ tickers: ['AAPL', 'GSPC'], field: 'my_rsi', band: 'oversold' })).events).toBe(33)
        expect((await bands.explain({ ticker: 'AAPL', field: 'my_rsi' })).rule).toContain('rsi(close, 14)')
      } finally {
        await bands.close()
      }
    }
  })

  it('their faults are reported when they are opened', async () => {
    await expect(openBands({ fields: '- field: Dip' })).rejects.toThrow(BadData)
    await expect(openBands({ fields: '- field: Dip' })).rejects.toThrow('fields:1:10: "Dip" is no name')
    await expect(openBands({ fields: [{ field: 'dip', of: 'rsi(clos, 2)', bands: ['a'] }] })).rejects.toThrow(
      'no price and no call "clos"',
    )
    await expect(openBands({ fields: 3 as never })).rejects.toThrow(InvalidParameter)
    await expect(openBands({ fields: [3n] as never })).rejects.toThrow(InvalidParameter)
  })
})
