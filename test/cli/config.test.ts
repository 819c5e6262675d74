import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFIG_KEYS } from '../../src/app/cli/config-file.js'
import { BARS, importBundledBars, type Lent, type Ran, scratch, typed } from './support/run.js'

const folder = scratch()
const db = folder.file('bands.db')

beforeAll(() => importBundledBars(db))
const made: string[] = []
afterAll(() => {
  folder.remove()
  for (const one of made) rmSync(one, { recursive: true, force: true })
})

/** A user of an own configuration, who has nothing else. */
function user(config?: string) {
  const at = mkdtempSync(join(tmpdir(), 'bands-config-'))
  made.push(at)
  const file = join(at, 'config.json')
  if (config !== undefined) writeFileSync(file, config)
  const own = { BANDS_CONFIG_DIR: at, XDG_DATA_HOME: join(at, 'data') }
  const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...own, ...lent.env } })
  const setting = async (name: string, lent: Lent = {}) => {
    const { value, origin } = JSON.parse((await ask(`config get ${name} --json`, lent)).out)
    return [value, origin]
  }
  return { at, file, ask, setting, text: () => readFileSync(file, 'utf8') }
}

describe('bands config set', () => {
  test('sets later values, and shows the source of each', async () => {
    const { ask, setting, file } = user()
    expect(await setting('db')).toEqual([expect.stringMatching(/data\/bands\/bands\.db$/), 'default'])
    expect((await ask(`config set db ${db}`)).out).toBe(`db is ${db} in ${file}\n`)
    expect(await setting('db')).toEqual([db, `${file}:2`])
    expect((await ask('status --csv')).out).toContain('\nAAPL,')
    // A variable wins over it, and an option over both.
    expect(await setting('db', { env: { BANDS_DB: '/a.db' } })).toEqual(['/a.db', 'BANDS_DB'])
    expect((await ask('status --db /b.db', { env: { BANDS_DB: '/a.db' } })).err).toContain('no database at /b.db')
    expect((await ask('config unset db')).out).toBe(`db is unset in ${file}\n`)
    expect(await setting('db')).toEqual([expect.stringMatching(/data\/bands\/bands\.db$/), 'default'])
  })

  test('of tickers answers questions that name none, and says so', async () => {
    const { ask, file } = user()
    expect((await ask('tally rsi_zone --json')).err).toContain('"TICKER is missing."')
    expect((await ask('config set tickers aapl GSPC')).out).toBe(`tickers is AAPL,GSPC in ${file}\n`)
    const { out, err } = await ask('tally rsi_zone --band oversold --json')
    expect(JSON.parse(out).tickers).toEqual(['AAPL', 'GSPC'])
    expect(err).toContain(`tickers of ${file}:2: AAPL, GSPC\n`)
    // Those on the line win.
    expect(JSON.parse((await ask('tally SIM0001 rsi_zone --json')).out).tickers).toEqual(['SIM0001'])
    const now = JSON.parse((await ask('now --field rsi_zone --json')).out)
    expect(now.states.map(({ ticker }: { ticker: string }) => ticker)).toEqual(['AAPL', 'GSPC'])
    const swept = await ask('sweep --field rsi_zone --horizon 5 --tests "bootstrap 99" --json')
    expect(JSON.parse(swept.out).tickers).toEqual(['AAPL', 'GSPC'])
  })

  test('of costs counts where neither the line nor a strategy file says', async () => {
    const { at, ask } = user()
    expect((await ask('config set costs 12bp')).code).toBe(0)
    const line = 'backtest AAPL rsi_zone --band oversold --hold 20'
    const costs = async (more: string) => JSON.parse((await ask(`${line} ${more} --print-config --json`)).out).costs
    expect(await costs('')).toBe('12bp')
    expect(await costs('--costs "slip 1bp"')).toBe('12bp,slip 1bp')
    expect(await costs('--costs 3bp')).toBe('3bp')
    writeFileSync(join(at, 'dip.yaml'), 'entry: { field: rsi_zone, bands: [oversold] }\nexit: { hold: 20 }\n')
    const ran = await ask(`backtest ${join(at, 'dip.yaml')} --tickers AAPL --print-config --json`)
    expect(JSON.parse(ran.out).costs).toBe('5bp')
  })

  test('of colour yields to the line, and to what the environment wishes', async () => {
    const { ask } = user()
    await ask('config set color always')
    expect((await ask('config')).out).toContain('\u001b[')
    expect((await ask('config --color never')).out).not.toContain('\u001b[')
    expect((await ask('config', { env: { NO_COLOR: '1' } })).out).not.toContain('\u001b[')
  })

  test('takes every key of the table, which help and refusals list', async () => {
    const values: Record<keyof typeof CONFIG_KEYS, string> = {
      db: '/x/bands.db',
      tickers: 'AAPL,GSPC',
      costs: '7.5bp,share 0.01',
      color: 'never',
      progress: 'plain',
      threads: '2',
      upgrade_url: 'https://a.example/plans',
    }
    const { ask, setting, text } = user()
    const help = (await ask('config --help')).out
    const refused = (await ask('config set xyz 1 --json')).err
    expect(JSON.parse(refused).allowed).toEqual(Object.keys(CONFIG_KEYS))
    for (const [name, value] of Object.entries(values)) {
      expect(help).toContain(name)
      expect((await ask(`config set ${name} "${value}"`)).code).toBe(0)
      expect(String((await setting(name))[0])).toBe(value)
    }
    const whole = JSON.parse(text())
    expect(whole).toMatchObject({ tickers: ['AAPL', 'GSPC'], costs: '7.5bp,share 0.01', threads: 2 })
    for (const name of Object.keys(values)) await ask(`config unset ${name}`)
    expect(JSON.parse(text())).toEqual({})
  })

  test.each([
    ['config set colour never', 'key "colour" is not one of', 'bands config set color never'],
    ['config set color green', '--color "green" is not one of auto, always, never.', ''],
    ['config set threads 2d', 'write only 2', 'bands config set threads 2'],
    ['config set upgrade_url plans', 'is not an address that begins with https://', ''],
    ['config set db postgres://me:x@h/x', 'is a file on this machine', ''],
    ['config set db mysql://me@h/x', 'is a file on this machine', ''],
    [`config set db ""`, 'is not the path of a file', ''],
    ['config set db .', 'is a folder, and a database is a file', ''],
    ['config set db', 'set needs a key and a value.', 'bands config set KEY VALUE'],
    ['config get', 'get needs a key.', 'bands config get KEY'],
    ['config get db more', 'get takes one key.', 'bands config set db more'],
    ['config list db', 'get db prints one', 'bands config get db'],
    ['config sett db x', 'way "sett" is not one of list, get, set, unset.', 'bands config set db x'],
  ])('bands %s is refused, and nothing written', async (line, said, then) => {
    const { at, ask } = user()
    const { code, err } = await ask(line)
    expect([code, err.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(said)])
    expect(err).toContain(then)
    expect(readdirSync(at)).toEqual([])
  })

  test('keeps comments and servers, and what a link points to', async () => {
    const before = '{\n  // mine\n  "profiles": { "work": { "url": "https://a.example" } } // the one\n}\n'
    const { at, ask, file, text } = user()
    writeFileSync(join(at, 'real.json'), before)
    symlinkSync(join(at, 'real.json'), file)
    await ask('config set costs 3bp')
    expect(text()).toContain('// mine')
    expect(text()).toContain('// the one')
    expect(readFileSync(join(at, 'real.json'), 'utf8')).toBe(text())
    await ask('config unset costs')
    expect((await ask('config --csv')).out).toContain('profiles.work,https://a.example')
    expect(readdirSync(at).sort()).toEqual(['config.json', 'real.json'])
  })
})

describe('a broken config.json', () => {
  const COMMANDS = ['fields', 'events AAPL rsi_zone', 'config', 'export bars', `import ${BARS}`, 'status']

  test.each([
    ['no JSON', '{"color": '],
    ['an unknown key', '{"colour": "never"}'],
    ['a wrong value', '{"color": "green"}'],
    ['a wrong kind', '{"tickers": {"a": 1}}'],
  ])('with %s is refused by every command, with its place', async (_, content) => {
    const { ask, file } = user(content)
    for (const line of COMMANDS) {
      const { code, out, err } = await ask(line)
      expect([line, code, out]).toEqual([line, 6, ''])
      // Wherever its lines are broken: a path may be long.
      expect(err.replace(/\s+/g, ' ')).toMatch(new RegExp(`^error: ${file}:1:\\d+: `))
    }
    // It is left as it is, for who wrote it to mend.
    expect((await ask('config set costs 1bp')).code).toBe(6)
    expect(readFileSync(file, 'utf8')).toBe(content)
  })

  test('that cannot be read is reported, too', async () => {
    const { ask, file, at } = user()
    mkdirSync(file)
    expect((await ask('status')).err.replace(/\s+/g, ' ')).toContain(`cannot read ${file}`)
    rmSync(file, { recursive: true })
    symlinkSync(file, file)
    const { code, err } = await ask('status')
    expect([code, err.replace(/\s+/g, ' ')]).toEqual([6, expect.stringContaining(`cannot read ${file}`)])
    expect(readdirSync(at)).toEqual(['config.json'])
  })

  test('is what the doctor finds, and help needs none', async () => {
    const { ask, file } = user('{"color": "green"}')
    const { code, out } = await ask('doctor --json')
    expect(code).toBe(5)
    const settings = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'settings')
    expect(settings).toMatchObject({ outcome: 'fail', detail: expect.stringContaining(`${file}:1:11: color "green"`) })
    for (const line of ['--help', '--version', 'events --help']) expect((await ask(line)).code).toBe(0)
  })
})

describe('the address that sells higher tiers', () => {
  const ABOVE = 'events AAPL pe_vs_sector --tier free'

  test('is not shown unless it was set', async () => {
    const { ask } = user()
    const lines = [ABOVE, `${ABOVE} --json`, 'events AAPL rsi_zone --tier free', 'scan oversold --tier free']
    for (const line of lines)
      for (const lent of [{}, { terminal: 100 }]) {
        const { out, err } = await ask(line, { ...lent, env: { BANDS_DB: db } })
        expect(out + err).not.toMatch(/\.invalid|upgrade:/)
      }
    expect(JSON.parse((await ask(`${ABOVE} --json`)).err).upgrade_url).toBeNull()
  })

  test('is shown when it is set', async () => {
    const { ask } = user()
    await ask('config set upgrade_url https://a.example/plans')
    expect((await ask(ABOVE)).err).toContain('\n  upgrade: https://a.example/plans\n')
    expect(JSON.parse((await ask(`${ABOVE} --json`)).err).upgrade_url).toBe('https://a.example/plans')
  })
})
