import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { main } from '../../src/app/cli/main.js'
import { json, scripted, type Turn, text } from '../remote/upstream.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { expectEnd, type Lent, type Ran, scratch, typed } from './support/run.js'

const KEY = 'bands_canary_0123456789abcdefWXYZ'

let ground: Ground
let server: Served
let key: string
beforeAll(async () => {
  ground = await simulatedGround({ count: 1, bars: 400 })
  server = await serve(ground)
  key = await server.key('plus')
})
afterAll(async () => {
  await server.stop()
  ground.remove()
})

interface Home {
  folder: string
  config: string
  credentials: string
  ask(line: string, lent?: Lent): Promise<Ran>
  write(config: string): void
}

/** A user of an own configuration folder. */
function home(): Home {
  const place = scratch()
  onTestFinished(place.remove)
  const folder = join(place.path, 'xdg', 'bands')
  return {
    folder,
    config: join(folder, 'config.json'),
    credentials: join(folder, 'credentials.json'),
    ask: (line, lent = {}) =>
      typed(line, { ...lent, env: { XDG_CONFIG_HOME: join(place.path, 'xdg'), HOME: place.path, ...lent.env } }),
    write(config) {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'config.json'), config)
    },
  }
}

/** A server that accepts every key. */
const accepting: Turn = json({ error: 'invalid_parameter', message: 'ticker is missing.', param: 'ticker' }, 400)

describe('bands login', () => {
  test('stores a key that the server accepts, and shows its plan but never the key', async () => {
    const { ask, config, credentials, folder } = home()
    const ran = await ask(`login --remote ${server.url}`, { stdin: `${key}\n` })
    expect(ran.err).toBe('')
    expect(ran.code).toBe(0)
    expect(ran.out).toBe(
      `profile default: ${server.url}, tier plus, key ****${key.slice(-4)}, 50,000 of 50,000 credits left today\n`,
    )
    expect(JSON.parse(readFileSync(config, 'utf8'))).toEqual({
      profiles: { default: { url: server.url, tier: 'plus' } },
    })
    expect(JSON.parse(readFileSync(credentials, 'utf8'))).toEqual({ keys: { default: { origin: server.url, key } } })
    expect(statSync(credentials).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'credentials.json'])
    const asked = await ask('events SIM0001 rsi_zone --limit 1 --json --profile default')
    expect([asked.code, JSON.parse(asked.out).query_range]).toEqual([0, '2y'])
  })

  test('asks without parameters, once, which costs nothing', async () => {
    const upstream = await scripted(accepting)
    const { ask } = home()
    const ran = await ask(`login --remote ${upstream.url} --json`, { stdin: KEY })
    expect(JSON.parse(ran.out)).toEqual({
      schema: 'bands.login/1',
      profile: 'default',
      url: upstream.url,
      tier: null,
      key: '****WXYZ',
      credits: null,
    })
    expect(upstream.arrivals.map(({ method, url }) => [method, url])).toEqual([['GET', '/v1/events']])
  })

  test.each<[string, Turn, number]>([
    ['refused', json({ error: 'unauthorized', message: 'Missing or invalid Bearer token.' }, 401), 4],
    ['not judged, because the server is none', text('<h1>hello', 404, { 'content-type': 'text/html' }), 7],
    ['not judged, because everything is accepted', json({ matches: [] }), 7],
    [
      'not judged, because of a limit',
      json({ error: 'rate_limit_exceeded', message: 'Later.' }, 429, { 'retry-after': '9999' }),
      8,
    ],
  ])('keeps nothing of a key that is %s', async (_, turn, code) => {
    const upstream = await scripted(turn)
    const { ask, folder } = home()
    const ran = await ask(`login --remote ${upstream.url}`, { stdin: KEY })
    expect([ran.code, ran.out]).toEqual([code, ''])
    expect(() => readdirSync(folder)).toThrow('ENOENT')
  })

  test('takes the key from a file, too', async () => {
    const upstream = await scripted(accepting)
    const { ask, credentials } = home()
    const place = scratch()
    onTestFinished(place.remove)
    writeFileSync(place.file('key'), `${KEY}\n`)
    expect((await ask(`login --remote ${upstream.url} --key-file ${place.file('key')}`)).code).toBe(0)
    expect(readFileSync(credentials, 'utf8')).toContain(KEY)
    const none = await ask(`login --remote ${upstream.url} --key-file ${place.file('none')}`)
    expect(none.code).toBe(2)
    expect(none.err).toMatch(/^error: there is no file\s+\S+none;\s+--key-file names/)
  })

  test('prompts at a terminal without echo', async () => {
    const upstream = await scripted(accepting)
    const { ask: _ask, credentials, folder } = home()
    const shown: string[] = []
    const stdin = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (on: boolean) => {
        shown.push(on ? 'RAW ' : '')
        return stdin
      },
    })
    const stream = {
      terminal: true,
      columns: () => 80,
      write: async (chunk: string | Uint8Array) => void shown.push(String(chunk)),
    }
    const env = { BANDS_CONFIG_DIR: folder, NO_COLOR: '1' }
    const world = { out: stream, err: stream, env, stdin: () => stdin, now: () => new Date(), onStop: () => () => {} }
    const running = main(['login', '--remote', upstream.url], world)
    // A slip that is taken back, too.
    stdin.write(`${KEY}x\u007f\r`)
    expect(await running).toBe(0)
    // Nothing may be typed before the terminal has stopped to show it.
    expect(shown.join('')).toContain(
      `RAW API key for ${upstream.url}: \nprofile default: ${upstream.url}, key ****WXYZ\n`,
    )
    expect(shown.join('')).not.toContain('canary')
    expect(JSON.parse(readFileSync(credentials, 'utf8')).keys.default.key).toBe(KEY)
  })

  test.each([
    ['', 2, 'no API key on standard input'],
    [' \n\n', 2, 'no API key on standard input'],
    ['one\ntwo', 2, 'standard input has several lines; a key is one.'],
    ['x'.repeat(10_000), 2, 'standard input is longer than any API key.'],
    ['two words', 6, 'the API key is empty, too long, or has characters that no key has.'],
  ])('refuses %j on standard input', async (stdin, code, message) => {
    const upstream = await scripted(accepting)
    const ran = await home().ask(`login --remote ${upstream.url}`, { stdin })
    expectEnd(ran, code, message)
    // The line to paste names the typed server, and no other.
    if (code === 2) expect(ran.err).toContain(`try:   bands login --remote ${upstream.url}\n`)
    expect(upstream.arrivals).toEqual([])
  })

  test('needs a server, and gives another one a name of its own', async () => {
    const first = await scripted(accepting)
    const second = await scripted(accepting)
    const { ask, config } = home()
    expect((await ask('login', { stdin: KEY })).err).toContain('which server is the key for? bands login --remote URL.')
    await ask(`login --remote ${first.url}`, { stdin: KEY })
    expect((await ask('login', { stdin: KEY })).code).toBe(0)
    const other = await ask(`login --remote ${second.url}`, { stdin: KEY })
    expectEnd(other, 2, `profile "default" is of ${first.url}`)
    expect((await ask(`login --remote ${second.url} --profile work`, { stdin: KEY })).code).toBe(0)
    expect(Object.keys(JSON.parse(readFileSync(config, 'utf8')).profiles)).toEqual(['default', 'work'])
    expect((await ask(`login --remote ${second.url} --profile ../work`, { stdin: KEY })).code).toBe(2)
    expect(second.arrivals).toHaveLength(1)
  })
})

describe('a stored key', () => {
  test('goes to the origin of its login, and to no other', async () => {
    const own = await scripted(accepting)
    const other = await scripted(accepting)
    const { ask, config } = home()
    await ask(`login --remote ${own.url}`, { stdin: KEY })
    expect((await ask(`events AAPL rsi_zone --remote ${own.url}/v9`)).code).toBe(2)
    expect(own.arrivals.at(-1)!.headers.authorization).toBe(`Bearer ${KEY}`)
    const refused = await ask(`events AAPL rsi_zone --remote ${other.url}`)
    expect([refused.code, refused.err.replace('\n', ' ')]).toEqual([
      4,
      `error: no API key for ${other.url}: set BANDS_API_KEY, or log in (bands login).\n  try:   bands login --remote ${other.url}\n`,
    ])
    // The profile is pointed elsewhere by hand.
    writeFileSync(config, JSON.stringify({ profiles: { default: { url: other.url } } }))
    const moved = await ask('events AAPL rsi_zone --profile default')
    expectEnd(moved, 4, `was given for ${own.url}, not for ${other.url}`)
    expect(other.arrivals).toEqual([])
  })

  test('is named by its source when refused, since another may override it', async () => {
    let refusing = false
    const upstream = await scripted((...turn) =>
      (refusing ? json({ error: 'unauthorized', message: 'No.' }, 401) : accepting)(...turn),
    )
    const { ask, folder } = home()
    await ask(`login --remote ${upstream.url} --profile work`, { stdin: KEY })
    refusing = true
    const file = join(folder, 'key.txt')
    writeFileSync(file, KEY)
    const line = 'events AAPL rsi_zone --profile work'
    expect((await ask(line)).err).toBe(
      'error: No.\n  key:   bands login, profile work\n  try:   bands login --profile work\n',
    )
    expect((await ask(line, { env: { BANDS_API_KEY: KEY } })).err).toBe(
      'error: No.\n  key:   BANDS_API_KEY\n  try:   bands doctor --profile work\n',
    )
    expect((await ask(`${line} --key-file ${file}`, { env: { COLUMNS: '500' } })).err).toBe(
      `error: No.\n  key:   --key-file ${file}\n  try:   bands doctor --profile work --key-file ${file}\n`,
    )
  })

  test.skipIf(process.platform === 'win32')('is not used where others could read it', async () => {
    const upstream = await scripted(accepting)
    const { ask, credentials } = home()
    await ask(`login --remote ${upstream.url}`, { stdin: KEY })
    chmodSync(credentials, 0o644)
    const ran = await ask(`events AAPL rsi_zone --remote ${upstream.url}`)
    expectEnd(ran, 6, `credentials.json can be read by others (mode 0644); chmod 600 `)
    expect(upstream.arrivals).toHaveLength(1)
  })

  test.each([
    '{',
    '[]',
    '{"keys": 1}',
    '{"keys": []}',
    '{"keys": {"a": "bands_canary"}}',
    '{"keys": {"a": {"origin": 1, "key": "bands_canary"}}}',
  ])('in a file that nobody here wrote is not told: %s', async content => {
    const { ask, credentials, folder } = home()
    mkdirSync(folder, { recursive: true })
    writeFileSync(credentials, content, { mode: 0o600 })
    const ran = await ask('events AAPL rsi_zone --remote https://api.bands.invalid --debug')
    expectEnd(ran, 6, 'is not as bands login writes it')
    expect(ran.err).not.toContain('canary')
  })

  test('is ambiguous if two are stored for one server', async () => {
    const upstream = await scripted(accepting)
    const { ask } = home()
    await ask(`login --remote ${upstream.url}`, { stdin: KEY })
    await ask(`login --remote ${upstream.url} --profile second`, { stdin: `${KEY}2` })
    const ran = await ask(`events AAPL rsi_zone --remote ${upstream.url}`)
    expectEnd(ran, 2, 'choose one with --profile: default, second.')
    await ask(`events AAPL rsi_zone --remote ${upstream.url} --profile second`)
    expect(upstream.arrivals.at(-1)!.headers.authorization).toBe(`Bearer ${KEY}2`)
  })

  test('is forgotten by bands logout', async () => {
    const upstream = await scripted(accepting)
    const { ask, credentials, config } = home()
    await ask(`login --remote ${upstream.url}`, { stdin: KEY })
    await ask(`login --remote ${upstream.url} --profile second`, { stdin: KEY })
    expect((await ask('logout')).code).toBe(2)
    expect((await ask('logout --profile second')).out).toBe(
      `the key of profile second for ${upstream.url} is forgotten\n`,
    )
    expect((await ask('logout --profile secnod')).code).toBe(3)
    expect(JSON.parse((await ask('logout --json')).out)).toEqual({
      schema: 'bands.logout/1',
      profile: 'default',
      origin: upstream.url,
    })
    expect(JSON.parse(readFileSync(credentials, 'utf8'))).toEqual({ keys: {} })
    expect(Object.keys(JSON.parse(readFileSync(config, 'utf8')).profiles)).toEqual(['default', 'second'])
    expect((await ask('logout')).code).toBe(3)
  })
})

describe('config.json', () => {
  test.each([
    [
      '{"profle": "x"}',
      ':1:2: there is no setting "profle"; allowed are profile, profiles, db, tickers, costs, color, progress, threads, upgrade_url. Did you mean "profile" or "profiles"?',
    ],
    [
      '{\n  "profiles": {\n    "a": {"ulr": "x"}\n  }\n}',
      ':3:11: there is no setting of a profile "ulr"; allowed are url, tier. Did you mean "url"?',
    ],
    ['{"profiles": {"a": {}}}', ':1:20: profile "a" has no url.'],
    ['{"profiles": {"a": {"url": 7}}}', ':1:28: url should be a text in quotes.'],
    [
      '{"profiles": {"a": {"url": "example.com"}}}',
      ':1:28: "example.com" is no address of a server, such as https://api.example.com.',
    ],
    [
      '{"profiles": {"a": {"url": "https://a.example", "tier": "prro"}}}',
      ':1:57: tier "prro" is not one of free, plus, pro. Did you mean "pro"?',
    ],
    [
      '{"profiles": {"a b": {"url": "https://a.example"}}}',
      ':1:22: "a b" cannot be the name of a profile: letters, digits, _ . and -, at most 64.',
    ],
    [
      '{"profile": "wrok", "profiles": {"work": {"url": "https://a.example"}}}',
      ':1:13: there is no profile "wrok"; there are work. Did you mean "work"?',
    ],
    ['{"profile": "a", "profile": "b"}', ':1:18: setting "profile" is there twice.'],
    ['{"profiles": [}', ':1:15: JSON does not allow "}" here.'],
    ['{"profiles": {', ':1:15: the JSON ends here, unfinished.'],
    ['[1]', ':1:1: here should be an object: { … }.'],
    ['{"tickers": ["AAPL", "a b"]}', ':1:13: tickers "a b" is not 1 to 16 characters of A-Z 0-9 . - ^ =.'],
    ['{"costs": "much"}', ':1:11: costs "much" is not parts such as 5bp,slip 2bp,share 0.005,fixed 1,borrow 3%.'],
    ['{"threads": 0}', ':1:13: threads "0" is not an integer from 1 to 256.'],
    ['{"db": "bands.db"}', ':1:8: db should be a whole path, from the root on: a run may begin in any folder.'],
    ['profile: work', ':1:1: JSON does not allow "profile: work" here.'],
  ])('%s is refused with the place', async (content, message) => {
    const { ask, write, config } = home()
    write(content)
    const ran = await ask('events AAPL rsi_zone --json')
    expect(ran.code).toBe(6)
    expect(JSON.parse(ran.err)).toEqual({ error: 'config', message: config + message })
  })

  test('may begin with a mark of its byte order', async () => {
    const { ask, write } = home()
    write('\ufeff{"profiles": {"work": {"url": "https://work.example"}}}')
    expect((await ask('config --csv')).out).toContain('profiles.work,https://work.example')
  })

  test('names the default server, and is optional', async () => {
    const upstream = await scripted(accepting)
    const { ask, write } = home()
    expect((await ask('config --json')).code).toBe(0)
    write(`{"profile": "work", "profiles": {"work": {"url": "${upstream.url}"}}}`)
    const env = { BANDS_API_KEY: KEY }
    await ask('events AAPL rsi_zone', { env })
    expect(upstream.arrivals).toHaveLength(1)
    // The database here: by --remote, by its name, and where only it can answer.
    for (const line of [
      'events SIM0001 rsi_zone --remote local',
      `events SIM0001 rsi_zone --db ${ground.db}`,
      'status',
    ])
      expect((await ask(line, { env: { ...env, BANDS_DB: ground.db } })).code, line).toBe(0)
    expect(
      (await ask('events SIM0001 rsi_zone', { env: { ...env, BANDS_REMOTE: 'local', BANDS_DB: ground.db } })).code,
    ).toBe(0)
    expect(upstream.arrivals).toHaveLength(1)
  })
})

describe('bands config', () => {
  test('shows each setting with its source, and no key', async () => {
    const { ask, write, config } = home()
    write('{\n  "profiles": {\n    "work": { "url": "https://work.example", "tier": "plus" }\n  }\n}\n')
    const env = { BANDS_PROFILE: 'work', BANDS_API_KEY: KEY }
    const ran = await ask('config --json --timeout 5 --color never', { env })
    const told = Object.fromEntries(
      JSON.parse(ran.out).settings.map(({ setting, value, origin }: Record<string, unknown>) => [
        setting,
        [value, origin],
      ]),
    )
    expect(told).toMatchObject({
      remote: ['https://work.example', 'BANDS_PROFILE'],
      profile: ['work', 'BANDS_PROFILE'],
      api_key: ['****', 'BANDS_API_KEY'],
      tier: ['plus', `${config}:3`],
      timeout: [5, '--timeout'],
      retries: [3, 'default'],
      color: ['never', '--color'],
      as_of: [null, 'default'],
      config_file: [config, 'XDG_CONFIG_HOME'],
      'profiles.work': ['https://work.example', `${config}:3`],
    })
    const table = await ask('config --debug', { env, terminal: 80 })
    expect(ran.out + ran.err + table.out + table.err).not.toContain('canary')
  })

  test('repeats no password of an address, nor does a refusal', async () => {
    const { ask } = home()
    const address = 'https://me:hunter2@api.example.com'
    for (const line of [
      'config',
      'config --json',
      'events AAPL rsi_zone --tier free',
      'events AAPL rsi_zone',
      'doctor',
    ])
      for (const ran of [await ask(`${line} --remote ${address}`), await ask(line, { env: { BANDS_REMOTE: address } })])
        expect(ran.out + ran.err, line).not.toContain('hunter2')
    expect((await ask('config', { env: { BANDS_REMOTE: address } })).code).toBe(2)
  })

  test('lies where the first of its variables says that is a whole path', async () => {
    const { ask, folder } = home()
    const told = async (env: Record<string, string>) =>
      (await ask('config --csv', { env })).out.split('\n').find(row => row.startsWith('config_file'))
    expect(await told({})).toBe(`config_file,${join(folder, 'config.json')},XDG_CONFIG_HOME`)
    expect(await told({ XDG_CONFIG_HOME: 'relative', HOME: '/home/u' })).toBe(
      'config_file,/home/u/.config/bands/config.json,default',
    )
    expect(await told({ BANDS_CONFIG_DIR: '/etc/b' })).toBe('config_file,/etc/b/config.json,BANDS_CONFIG_DIR')
    // Never in the folder that one happens to be in.
    expect(await told({ XDG_CONFIG_HOME: '', HOME: '' })).toMatch(/^config_file,\W.*bands.config\.json,default$/)
  })

  test('shows the remedy for a missing key', async () => {
    const { ask } = home()
    const { out } = await ask('config --csv --remote https://api.example.com')
    expect(out).toContain("remote,https://api.example.com,'--remote\n")
    expect(out).toContain('no API key for https://api.example.com: set BANDS_API_KEY')
    expect((await ask('config --csv --tier free', { env: { BANDS_TIER: 'plus' } })).out).toContain(
      "tier,free,'--tier\n",
    )
    expect((await ask('config --csv', { env: { BANDS_TIER: 'plus' } })).out).toContain('tier,plus,BANDS_TIER\n')
  })
})
