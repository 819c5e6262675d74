import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/app/cli/errors.js'
import { main } from '../../src/app/cli/main.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { Database } from '../support/database.js'
import { BARS, type Lent, type Ran, scratch, typed, UNPRINTABLE, unpainted } from './support/run.js'

const folder = scratch()
const db = folder.file('bands.db')
const env = { BANDS_DB: db }
/** Of databases that are no file; one is as a file of variables may quote it. */
const NO_FILE = 'is a URL, and a database of bands is a file on this machine'
const URLS = [
  ['postgres://me:secret@10.0.0.1/bands', NO_FILE],
  ['postgres://10.0.0.1/bands?password=secret', NO_FILE],
  ['postgres:secret', NO_FILE],
  ['mysql:/secret', NO_FILE],
  ['file:///secret', NO_FILE],
] as const
const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env, ...lent.env } })

beforeAll(async () => {
  expect((await ask(`import ${BARS}`)).code).toBe(0)
})
afterAll(folder.remove)

describe('every exit code is met', () => {
  test.each([
    'events AAPL rsi_zone',
    'events AAPL rsi_zone --band deep_oversold --after 2018-05-10',
    '--help',
    '',
    '--version',
    'help events',
  ])('0: bands %s', async line => {
    expect((await ask(line)).code).toBe(0)
  })

  test('1: an unforeseen error asks for a report', async () => {
    let err = ''
    const broken = (): never => {
      throw new RangeError('boom')
    }
    const stream = {
      terminal: false,
      columns: () => null,
      write: async (text: unknown) => {
        err += String(text)
      },
    }
    const world = {
      out: { ...stream, write: broken },
      err: stream,
      env,
      stdin: broken,
      now: () => new Date(),
      onStop: broken,
    }
    expect(await main(['fields', '--csv'], world)).toBe(1)
    expect(err).toMatch(/^error: boom\n {2}please: this is a fault of bands: report it/)
    expect(err).not.toContain('at ')
  })

  test.each([
    'nonsense',
    'events',
    'events AAPL',
    'events AAPL rsi_zone more',
    'events AAPL rsi_zone --nonsense',
    'events AAPL rsi_zone --band',
    'events AAPL rsi_zone --band up',
    'events AAPL rsi_zone --limit 0x10',
    'events AAPL rsi_zone --before 2023-02-29',
    'events AAPL rsi_zone --timeframe hourly',
    'events AAPL rsi_zone --context GSPC:trend_direction',
    'events AAPL rsi_zone --context GSPC:trend_direction=uptrend,downtrend',
    'transitions AAPL rsi_zone --context GSPC:trend_direction=uptrend',
    'study GSPC rsi_zone trend_direction',
    'sweep AAPL --context-lag 1',
    'events AAPL rsi_zone --band oversold --band up',
    'events AAPL rsi_zone --limit 1 --limit 2',
    'events AAPL nonsense',
    'events AA%L rsi_zone',
    'events AAPL rsi_zone --tier gold',
    'events AAPL rsi_zone --as-of yesterday',
    'events AAPL rsi_zone --json --csv',
    'events AAPL rsi_zone --output xml',
    'events AAPL rsi_zone --color sometimes',
    'export bars --field rsi_zone',
    'export bars --write bars.xlsx',
    'import',
  ])('2: bands %s', async line => {
    const ran = await ask(line)
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toMatch(/^error: |^\{"error":"invalid_parameter",/)
  })

  test.each([
    ['now AAPL --csv out.csv', 'now AAPL --csv > out.csv'],
    ["events AAPL rsi_zone -o 'my events.json' --limit 1", "events AAPL rsi_zone --json --limit 1 > 'my events.json'"],
    ['export events --csv out.csv', 'export events --csv > out.csv'],
    ['events AAPL rsi_zone --output out.ndjson', 'events AAPL rsi_zone --ndjson > out.ndjson'],
    ['simulate 3 --write sim.csv', 'simulate 3 --csv > sim.csv'],
    ['export events --write out.csv --fied rsi_zone', 'export events --write out.csv --field rsi_zone'],
  ])('a file after a format ends in the redirection that is meant: %s', async (line, meant) => {
    const { code, err } = await ask(line)
    expect(code).toBeGreaterThan(0)
    expect(err).toMatch(/ {2}try: +bands .*\n$/)
    expect(err.endsWith(` bands ${meant}\n`)).toBe(true)
  })

  test('2: export writes no file whose ending it does not know, unless --output says what is in it', async () => {
    const file = folder.file('bars.xlsx')
    const ran = await ask(`export bars --tickers AAPL --write ${file}`)
    expect(ran).toMatchObject({ code: 2, out: '' })
    // The length of the folder's name decides where lines break.
    expect(ran.err.replace(/\s+/g, ' ')).toContain(
      'is not a file name that ends in .ndjson, .csv, .parquet, .json, .jsonl',
    )
    expect(ran.err).toContain(`  try:   bands export bars --tickers AAPL --write ${folder.file('bars.csv')}\n`)
    expect(existsSync(file)).toBe(false)
    for (const more of [`--write ${file} --output csv`, `--write ${folder.file('bars')}`])
      expect(await ask(`export bars --tickers AAPL ${more}`)).toMatchObject({ code: 0, out: '' })
  })

  test.each(URLS)(
    '2: a database that is the URL %s is refused in a sentence, and no folder is made of it',
    async (url, what) => {
      const before = readdirSync('.')
      for (const line of ['import data/bars', 'events AAPL rsi_zone', 'accounts list', 'doctor', 'config'])
        for (const form of ['', ' --json --debug']) {
          const byOption = await typed(`${line} --db ${url}${form}`)
          const byVariable = await typed(`${line}${form}`, { env: { BANDS_DB: url } })
          for (const [ran, name] of [
            [byOption, '--db'],
            [byVariable, 'BANDS_DB'],
          ] as const) {
            expect(ran).toMatchObject({ code: 2, out: '' })
            const said = form === '' ? name : name.replace('--', '')
            expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(`${said} ${what}`)
            expect(ran.err).not.toMatch(/secret|10\.0\.0\.1/)
          }
        }
      expect(readdirSync('.')).toEqual(before)
    },
  )

  test.each(['events ZZZZ rsi_zone', 'import nothing-here.csv', 'remove ZZZZ', 'export bars --tickers @nothing-here'])(
    '3: bands %s',
    async line => expect(await ask(line)).toMatchObject({ code: 3, out: '' }),
  )

  test('3: nothing matches, with --fail-empty', async () => {
    const line = 'events AAPL rsi_zone --band deep_oversold --after 2018-05-10 --json'
    const quiet = await ask(line)
    const failing = await ask(`${line} --fail-empty`)
    expect(quiet.code).toBe(0)
    expect(failing.code).toBe(3)
    expect(failing.out).toBe(quiet.out)
    expect(JSON.parse(failing.out).events).toEqual([])
  })

  test('3: a database that was named and is not there', async () => {
    for (const line of ['events AAPL rsi_zone', 'rebuild', 'remove AAPL']) {
      const ran = await ask(`${line} --db ${folder.file('none.db')}`)
      expect(ran).toMatchObject({ code: 3, out: '' })
      expect(ran.err).toContain('there is no database at')
    }
  })

  test.each([
    ['import', 'nofile.csv'],
    ['import', 'no-folder/a.csv'],
    ['import', '*.tsv'],
    ['restore', 'no-folder'],
  ])('3: bands %s of %s, which is not there', async (command, file) => {
    const ran = await ask(`${command} ${folder.file(file)}`)
    expect(ran).toMatchObject({ code: 3, out: '' })
    expect(ran.err.endsWith(`\n  try:   bands help ${command}\n`)).toBe(true)
  })

  test.each([
    [`import ${BARS}/AAPL.csv --db LINK`, 6, `import ${BARS}/AAPL.csv --db TARGET`],
    ['events AAPL rsi_zone --db LINK', 3, 'import FILE --db TARGET'],
    ['remove AAPL --db LINK', 3, 'import FILE --db TARGET'],
    ['unlock --db LINK', 3, 'import FILE --db TARGET'],
    ['backup copy --db LINK', 3, 'import FILE --db TARGET'],
    ['accounts list --accounts LINK', 3, 'accounts create NAME --tier free --accounts TARGET'],
    ['accounts create ann --tier free --accounts LINK', 6, 'accounts create ann --tier free --accounts TARGET'],
  ])('a link to a missing file ends in a line that works: %s', async (line, code, works) => {
    const [link, target] = [folder.file('link.db'), folder.file('target.db')]
    symlinkSync('target.db', link)
    try {
      const ran = await ask(line.replace('LINK', link))
      expect(ran).toMatchObject({ code, out: '' })
      const last = ran.err.trimEnd().split('\n').at(-1)!
      expect(last).toBe(`  try:   bands ${works.replace('TARGET', target)}`)
      const again = last.split(' bands ')[1]!.replace('FILE', `${BARS}/AAPL.csv`).replace('NAME', 'ann')
      expect((await ask(again)).code).toBe(0)
    } finally {
      for (const name of readdirSync(folder.path).filter(each => /^(link|target)/.test(each)))
        rmSync(folder.file(name), { recursive: true })
    }
  })

  test('4: a field or a feature above the tier', async () => {
    const ran = await ask('events AAPL pe_vs_sector --tier plus')
    expect(ran).toMatchObject({ code: 4, out: '' })
    expect(ran.err).toMatch(
      /^error: pe_vs_sector needs the Pro tier; you asked as Plus\.\n {2}locally: bands events AAPL pe_vs_sector\n$/,
    )
    const context = '--context GSPC:rsi_zone=oversold'
    expect((await ask(`events AAPL rsi_zone --tier free ${context}`)).code).toBe(4)
    expect((await ask('events AAPL pe_vs_sector', { env: { BANDS_TIER: 'free' } })).err).toContain(
      '  locally: BANDS_TIER= bands events AAPL pe_vs_sector\n',
    )
  })

  test('5: bad data names its place and leaves nothing behind', async () => {
    const file = folder.file('BAD.csv')
    writeFileSync(file, 'date,open,high,low,close,volume\n2020-01-02,1,2,1,2,10\n2020-01-03,1,-2,1,2,10\n')
    const ran = await ask(`import ${file}`)
    expect(ran).toMatchObject({ code: 5, out: '' })
    expect(ran.err).toContain(`${file}:3:`)
    expect((await ask('status --csv')).out).not.toContain('BAD')
  })

  test('5: verify finds a database that SQLite cannot read', async () => {
    const cut = folder.file('cut.db')
    writeFileSync(cut, readFileSync(folder.file('bands.db')).subarray(0, 30_000))
    const { code, out, err } = await ask(`verify --json --db ${cut}`)
    expect(code).toBe(5)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({ error: 'bad_data', file: cut })
    expect((await ask(`events AAPL rsi_zone --db ${cut}`)).code).toBe(6)
  })

  test('5: verify finds a database that is not as it was written', async () => {
    const damaged = folder.file('damaged.db')
    await ask(`import ${BARS}/AAPL.csv --db ${damaged}`)
    const file = new Database(damaged)
    file.exec("UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'prices'")
    file.close()
    const ran = await ask(`verify --json --db ${damaged}`)
    expect(ran.code).toBe(5)
    const what = 'its bars are not what was written'
    expect(JSON.parse(ran.out).damages).toEqual([
      { file: damaged, ticker: 'AAPL', what, try: 'bands import FILE --replace' },
    ])
    const asked = await ask(`export bars --db ${damaged}`)
    expect([asked.code, asked.out]).toEqual([6, ''])
    const words = asked.err.replace(/\s+/g, ' ')
    expect(words).toContain(`is damaged: AAPL: ${what}; mend that, or put a backup in its place`)
    expect(asked.err).toContain('bands import FILE --replace')
  })

  test('6: a file that is no database, and an output that cannot be written', async () => {
    const text = folder.file('text.db')
    writeFileSync(text, 'this is no database, however long one reads it')
    expect((await ask(`events AAPL rsi_zone --db ${text}`)).code).toBe(6)
    expect((await ask(`export bars --write ${folder.file('no/such/folder.csv')}`)).code).toBe(6)
  })

  test('8: another process is writing', async () => {
    const busy = folder.file('busy.db')
    await ask(`import ${BARS}/AAPL.csv --db ${busy}`)
    const store = openSqlite(busy, { readonly: false })
    await store.lock({ pid: process.pid, host: hostname(), started: '2026-01-01T00:00:00.000Z' })
    const ran = await ask(`import ${BARS}/AAPL.csv --db ${busy}`)
    await store.close()
    expect(ran.code).toBe(8)
    expect(ran.err).toContain(`process ${process.pid}`)
  })

  test('130 and 143: the user says so, and no half of a file is left', async () => {
    const line = `export series --csv --write ${folder.file('stopped.csv')}`
    expect((await ask(line, { signal: 'SIGINT' })).code).toBe(130)
    expect((await ask(line, { signal: 'SIGTERM' })).code).toBe(143)
    expect(readdirSync(folder.path).filter(name => name.startsWith('stopped'))).toEqual([])
  })

  test('every kind of error has its code', () => {
    expect(EXIT_CODES).toEqual({
      invalid_parameter: 2,
      not_found: 3,
      unauthorized: 4,
      tier_restricted: 4,
      bad_data: 5,
      storage: 6,
      config: 6,
      busy: 8,
      method_not_allowed: 7,
      rate_limit_exceeded: 8,
      data_unavailable: 8,
      upstream: 7,
    })
  })
})

describe('an error for people', () => {
  test('names the value, what is allowed, and a line to paste', async () => {
    expect((await ask('events AAPL rsi_zone --band oversol')).err).toBe(
      [
        'error: rsi_zone has no band "oversol". Did you mean "oversold"?',
        '  bands: deep_oversold oversold neutral_low neutral neutral_high overbought',
        '         deep_overbought',
        '  try:   bands events AAPL rsi_zone --band oversold',
        '',
      ].join('\n'),
    )
  })

  test('lists the loaded tickers', async () => {
    expect((await ask('events APPL rsi_zone')).err).toBe(
      [
        'error: no bars for "APPL". Did you mean "AAPL"?',
        '  here:      AAPL GSPC',
        '  load more: bands import FILE.csv',
        '  try:       bands events AAPL rsi_zone',
        '',
      ].join('\n'),
    )
  })

  test.each([
    [
      'sweep AAPL --validate "split 2015-01-01, cv k=5"',
      '--validate split and --validate cv are two ways to the same end',
    ],
    ['sweep AAPL --validate "split 2015-01-01, walk-forward train=9,test=9"', '--validate walk-forward are two ways'],
    ['sweep AAPL --validate "cv k=1"', 'cv k "1" is not an integer'],
    ['sweep AAPL --context GSPC:foo', '--context "GSPC:foo": there is no field "foo".'],
    [
      'study AAPL rsi_zone --context GSPC:rsi_zone=oversol',
      'bands study AAPL rsi_zone --context GSPC:rsi_zone=oversold',
    ],
    ['study GSPC rsi_zone trend_direction', 'rsi_zone and trend_direction are two fields, and a study is of one'],
  ])('bands %s is refused in the words of the command line', async (line, said) => {
    expect((await ask(line)).err.replace(/\s+/g, ' ')).toContain(said)
  })

  test('spells options as they are typed', async () => {
    expect((await ask('events AAPL rsi_zone --limit 0 --tier pro')).err).toContain(
      '--limit "0" is not an integer from 1 to 100',
    )
    expect((await ask('events AAPL rsi_zone', { env: { BANDS_TIER: 'gold' } })).err).toContain('BANDS_TIER "gold"')
  })

  test.each(['', ' --json'])('cannot steer the terminal, nor turn its text round%s', async format => {
    const ran = await ask(`events AAPL rsi_zone --band \u001b[31mred\u009b\u202egreen\u2028${format}`)
    expect(ran.err.replaceAll('\n', '')).not.toMatch(UNPRINTABLE)
    expect(ran.err).toContain('\\u202e')
  })

  test('shows its stack with --debug only', async () => {
    expect((await ask('events ZZZZ rsi_zone --debug')).err).toContain('\n    at ')
    expect((await ask('events ZZZZ rsi_zone', { env: { BANDS_DEBUG: '1' } })).err).toContain('\n    at ')
    expect((await ask('events ZZZZ rsi_zone', { env: { BANDS_DEBUG: '0' } })).err).not.toContain('\n    at ')
  })

  test('is red on a terminal, and fits it', async () => {
    const ran = await ask('events AAPL rsi_zone --band oversol', { terminal: 50 })
    expect(ran.err.startsWith('\u001b[31merror:\u001b[39m ')).toBe(true)
    // The line to paste stays whole.
    const lines = unpainted(ran.err).trimEnd().split('\n')
    for (const line of lines.slice(0, -1)) expect(line.length).toBeLessThanOrEqual(50)
    expect(lines.at(-1)).toContain('bands events AAPL rsi_zone --band oversold')
  })
})

describe('an error with --json', () => {
  test('is one line on stderr with the payload, and stdout is empty', async () => {
    for (const asked of ['--json', '--output json', '--output=json', '--ndjson']) {
      const ran = await ask(`events AAPL rsi_zone --band oversol ${asked}`)
      expect(ran.out).toBe('')
      expect(ran.err.trimEnd().split('\n')).toHaveLength(1)
      expect(JSON.parse(ran.err)).toEqual({
        error: 'invalid_parameter',
        message:
          'band "oversol" is not one of deep_oversold, oversold, neutral_low, neutral, neutral_high, overbought, deep_overbought. Did you mean "oversold"?',
        param: 'band',
        value: 'oversol',
        allowed: expect.arrayContaining(['oversold']),
        suggestions: ['oversold'],
      })
    }
  })

  test('stays one line when the sample answers', async () => {
    const ran = await typed('events ZZZZ rsi_zone --json', { env: { HOME: folder.file('nobody') } })
    expect(JSON.parse(ran.err)).toMatchObject({ error: 'not_found' })
  })

  test('ends in a line to paste when the sample answers, which is said before', async () => {
    const { err } = await typed('events ZZZZ rsi_zone', { env: { HOME: folder.file('nobody') } })
    expect(err).toMatch(/^sample data, .*\nerror: no bars for "ZZZZ"\.\n(?:.*\n)* {2}try: +bands status\n$/)
    expect(err.match(/sample data/g)).toHaveLength(1)
  })

  test('says what the server would say', async () => {
    const { err } = await ask('events AAPL valuation_zone --tier free --json')
    expect(JSON.parse(err)).toMatchObject({ error: 'tier_restricted', tier: 'free', required_tier: 'plus' })
    expect(Object.keys(JSON.parse(err))).toContain('upgrade_url')
  })
})

const SLIPS: readonly [string, string][] = [
  ['evnts AAPL rsi_zone', 'events'],
  ['event AAPL rsi_zone', 'events'],
  ['field', 'fields'],
  ['EVENTS AAPL rsi_zone', 'events'],
  ['events AAPL rsi_zone --bnad oversold', '--band'],
  ['events AAPL rsi_zone --bands oversold', '--band'],
  ['events AAPL rsi_zone --time-frame weekly', '--timeframe'],
  ['events AAPL rsi_zone -json', '--json'],
  ['events AAPL rsi_zone --colour never', '--color'],
  ['events AAPL rsi_zone --asof 2018-01-01', '--as-of'],
  ['events AAPL rsi_zon', 'rsi_zone'],
  ['events AAPL rsi-zone', 'rsi_zone'],
  ['events AAPL RSI_ZONE', 'rsi_zone'],
  ['events AAPL rsi_zone --band oversld', 'oversold'],
  ['events AAPL rsi_zone --band OVERSOLD', 'oversold'],
  ['events AAPL rsi_zone --timeframe daly', 'daily'],
  ['events APPL rsi_zone', 'AAPL'],
  ['events AAPL rsi_zone --tier prro', 'pro'],
]

describe('a slip', () => {
  test.each(SLIPS)('bands %s: did you mean %s?', async (line, meant) => {
    const ran = await ask(line)
    expect([2, 3]).toContain(ran.code)
    expect(ran.err.replace(/\n(?! )/g, ' ')).toContain(`Did you mean "${meant}"`)
    // The line to paste holds the word that was meant.
    expect(ran.err).toMatch(new RegExp(`try: +bands .*${meant}`))
  })

  test.each([
    'xyzzy',
    'events AAPL rsi_zone --xyzzy',
    'events AAPL xyzzy',
    'events AAPL rsi_zone --band xyzzy',
    'events XYZZY rsi_zone',
  ])('bands %s: no guess for what is far from everything', async line =>
    expect((await ask(line)).err).not.toContain('Did you mean'),
  )

  test('a guess is never acted upon', async () => expect((await ask('evnts AAPL rsi_zone')).out).toBe(''))
})

test('no source of the terminal calls process.exit', () => {
  expect(readFileSync(new URL('../../bin/bands.js', import.meta.url), 'utf8')).not.toContain('process.exit(')
})
