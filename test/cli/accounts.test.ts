import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CATALOGUE, GROUPS } from '../../src/app/cli/catalogue.js'
import { openAccounts } from '../../src/app/open/accounts.js'
import { authenticate, parseKey } from '../../src/server/accounts/key.js'
import { chargeOf } from '../contracts/accounts.js'
import { Database } from '../support/database.js'
import { type Lent, type Ran, run, scratch, typed, unpainted } from './support/run.js'

/** The clock that commands are lent stands at this moment. */
const NOW = Date.UTC(2026, 0, 1)

const folder = scratch()
let made = 0
let db = ''
beforeEach(() => {
  made += 1
  db = folder.file(`${made}.db`)
})
afterAll(folder.remove)

const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(line, { ...lent, env: { BANDS_DB: db, ...lent.env } })

/** The document of a command that must succeed. */
async function told(line: string): Promise<Record<string, unknown> & { key: string; identity: string }> {
  const ran = await ask(`${line} --json`)
  expect(ran.code, ran.err).toBe(0)
  return JSON.parse(ran.out)
}

async function refused(line: string, code: number, lent: Lent = {}): Promise<string> {
  const ran = await ask(line, lent)
  expect({ code: ran.code, out: ran.out }, ran.err).toEqual({ code, out: '' })
  return ran.err
}

/** Without the breaks that a narrow screen makes. */
const unbroken = (text: string): string => text.replaceAll(/\s+/g, ' ')

describe('bands accounts', () => {
  test('create makes an account, list shows it, set-tier changes it', async () => {
    expect(await told('accounts create alice --tier plus')).toEqual({
      schema: 'bands.account/1',
      name: 'alice',
      tier: 'plus',
      created: '2026-01-01T00:00:00.000Z',
      day_limit: 50_000,
      hour_limit: 5_000,
    })
    await told('--tier free accounts create Bob')
    expect(await told('accounts set-tier ALICE pro')).toMatchObject({ name: 'alice', tier: 'pro', day_limit: 100_000 })
    expect((await ask('accounts list --csv')).out).toBe(
      [
        'name,tier,created,day_limit,hour_limit,keys,day_used,hour_used',
        'alice,pro,2026-01-01T00:00:00.000Z,100000,10000,0,0,0',
        'Bob,free,2026-01-01T00:00:00.000Z,250,100,0,0,0\n',
      ].join('\n'),
    )
    expect((await ask('accounts list')).out).toBe(
      [
        'NAME   TIER  KEYS  TODAY       OF  THIS HOUR      OF  CREATED',
        'alice  pro      0      0  100,000          0  10,000  2026-01-01',
        'Bob    free     0      0      250          0     100  2026-01-01\n',
      ].join('\n'),
    )
  })

  test('create takes a name of several words, and says what comes next at a terminal', async () => {
    const words = ['accounts', 'create', 'Zoë & Söhne', '--tier', 'free', '--db', db]
    const ran = await run(words, { terminal: 80 })
    expect({ ...ran, err: unpainted(ran.err) }).toEqual({
      code: 0,
      out: 'Zoë & Söhne is made, tier free: 250 credits a day, 100 an hour\n',
      err: `\nnext: bands keys create 'Zoë & Söhne' --db ${db}\n`,
    })
    const file = folder.file('own.db')
    const { err } = await run(['accounts', 'create', 'zoe', '--tier', 'free', `--accounts=${file}`], { terminal: 80 })
    expect(unpainted(err)).toBe(`\nnext: bands keys create zoe --accounts=${file}\n`)
  })

  test('create refuses what cannot be an account', async () => {
    await told('accounts create alice --tier free')
    expect(await refused('accounts create ALICE --tier free', 2)).toMatch(/there is an account "alice" already/)
    expect(await refused('accounts create bob', 2)).toMatch(
      /^error: --tier is missing: free, plus, pro\.\n {2}try: +bands accounts create bob --tier free\n$/,
    )
    expect(await refused('accounts create', 2)).toMatch(/NAME is missing\.\n {2}usage: bands accounts create NAME/)
    expect(await refused('accounts create bob --tier fre', 2)).toMatch(
      /--tier "fre" is not one of free, plus, pro\. Did you mean "free"\?\n {2}try: +bands accounts create bob --tier free/,
    )
    const long = await run(['accounts', 'create', 'a\u0007b', '--tier', 'free', '--db', db])
    expect(long).toMatchObject({ code: 2, out: '' })
    expect(long.err).toContain('"a\\u0007b" is not a name of 1 to 64 printable characters')
    expect((await ask('accounts list --csv')).out.trimEnd().split('\n')).toHaveLength(2)
  })

  test('say where there are none, and make nothing by asking', async () => {
    for (const line of [
      'accounts list',
      'accounts usage',
      'accounts set-tier alice pro',
      'keys list',
      'keys roll 12345678',
    ])
      expect(unbroken(await refused(line, 3))).toContain(
        `there are no accounts at ${db.replace('.db', '.accounts.db')}. try: bands accounts create NAME --tier free`,
      )
    expect(existsSync(db.replace('.db', '.accounts.db'))).toBe(false)
  })

  test('keys create makes the account first, where none is near', async () => {
    const first = 'accounts create nobody --tier free'
    expect(await refused('keys create nobody', 3)).toMatch(/^error: there are no accounts at /)
    expect(await refused('keys create nobody', 3)).toContain(`  try:   bands ${first}\n`)
    expect(await refused(`keys create nobody --db ${db}`, 3)).toContain(`  try:   bands ${first} --db ${db}\n`)
    await told('accounts create alice --tier free')
    expect(await refused('keys create nobody', 3)).toContain(`  try:   bands ${first}\n`)
    const file = `--accounts ${db.replace('.db', '.accounts.db')}`
    expect(await refused(`keys create nobody ${file}`, 3)).toContain(`  try:   bands ${first} ${file}\n`)
    expect((await ask(`${first} ${file}`)).code).toBe(0)
    expect(await refused('keys revoke 12345678', 3)).toContain('  try:   bands keys list\n')
  })

  test('name the nearest account to one that is not there', async () => {
    await told('accounts create alice --tier free')
    for (const [line, right] of [
      ['accounts set-tier alcie pro', 'accounts set-tier alice pro'],
      ['accounts usage alcie', 'accounts usage alice'],
      ['keys create alcie', 'keys create alice'],
      ['keys list alcie', 'keys list alice'],
    ] as const) {
      const err = await refused(line, 3)
      expect(err).toMatch(/^error: there is no account "alcie"\. Did you mean "alice"\?/)
      expect(err).toContain(`try:   bands ${right}\n`)
    }
    expect(JSON.parse(await refused('accounts usage alcie --json', 3))).toEqual({
      error: 'not_found',
      message: 'there is no account "alcie". Did you mean "alice"?',
      suggestions: ['alice'],
    })
  })

  test.each([
    'accounts list',
    'accounts usage',
    'accounts layout',
    'accounts grant bands_server',
    'accounts set-tier alice pro',
    'accounts create bob --tier free',
    'keys list',
    'keys create alice',
    'keys revoke 12345678',
    'keys roll 12345678',
  ])('bands %s is about what lies here: it refuses a server, and a tier that it would not heed', async line => {
    await told('accounts create alice --tier free')
    for (const option of ['--remote https://api.example.com', '--profile work'])
      expect(unbroken(await refused(`${line} ${option}`, 2))).toMatch(
        /^error: --(remote|profile) asks a server, and this is about the database here; leave it out\./,
      )
    if (!line.startsWith('accounts create'))
      expect(unbroken(await refused(`${line} --tier pro`, 2))).toContain(
        '--tier does not apply here: a tier belongs to an account (bands accounts set-tier).',
      )
    expect(await told('accounts list')).toMatchObject({ accounts: [{ name: 'alice', tier: 'free', keys: 0 }] })
  })

  test('go with --db as with BANDS_DB, each database having its own', async () => {
    const other = folder.file('other.db')
    await told('accounts create alice --tier free')
    await told(`accounts create bob --tier free --db ${other}`)
    expect(existsSync(folder.file('other.accounts.db'))).toBe(true)
    expect(await told(`accounts list --db ${other}`)).toMatchObject({ accounts: [{ name: 'bob' }] })
    expect(await told('accounts list')).toMatchObject({ accounts: [{ name: 'alice' }] })
  })

  test('lie in the file of --accounts, otherwise in that of BANDS_ACCOUNTS, and so do their keys', async () => {
    const one = folder.file(`${made}.one`)
    const two = folder.file(`${made}.two`)
    const env = { BANDS_ACCOUNTS: two }
    await told(`accounts create alice --tier free --accounts ${one}`)
    await ask('accounts create bob --tier free', { env })
    expect([one, two, db.replace('.db', '.accounts.db')].map(existsSync)).toEqual([true, true, false])
    const { identity } = await told(`keys create alice --accounts ${one}`)
    expect(await told(`keys list --accounts ${one}`)).toMatchObject({ keys: [{ identity, account: 'alice' }] })
    expect((await ask('accounts list --csv', { env })).out).toMatch(/^[^\n]+\nbob,free,[^\n]+\n$/)
    expect((await ask(`accounts list --csv --accounts ${one}`, { env })).out).toMatch(/\nalice,free,[^\n]+,1,0,0\n$/)
    const missing = folder.file(`${made}.none`)
    expect(unbroken(await refused(`keys list --accounts ${missing}`, 3))).toContain(
      `there are no accounts at ${missing}. try: bands accounts create NAME --tier free --accounts ${missing}`,
    )
    expect(await refused('accounts list --accounts postgres://u:secret@h/db', 2)).not.toContain('secret')
  })

  test.skipIf(process.platform === 'win32').each([
    ['0640', 'read'],
    ['0604', 'read'],
    ['0620', 'read or changed'],
    ['0666', 'read or changed'],
  ])('are refused while others can get at them: %s', async (mode, done) => {
    const { identity } = await told('accounts create alice --tier free').then(() => told('keys create alice'))
    const file = db.replace('.db', '.accounts.db')
    const before = (await ask('keys list --csv')).out
    chmodSync(file, Number.parseInt(mode, 8))
    for (const line of [
      'accounts list',
      'accounts create bob --tier pro',
      'accounts set-tier alice pro',
      'accounts usage',
      'keys create alice',
      'keys list',
      `keys revoke ${identity}`,
      `keys roll ${identity}`,
    ])
      expect(unbroken(await refused(line, 6))).toContain(
        `${file} can be ${done} by others (mode ${mode}); chmod 600 ${file}`,
      )
    chmodSync(file, 0o600)
    expect((await ask('keys list --csv')).out).toBe(before)
  })

  test('are no formulas in CSV, regardless of their names, without --csv-raw', async () => {
    await told('accounts create =1+1 --tier free')
    await told('keys create =1+1 --name @A1')
    const first = async (line: string) => (await ask(`${line} --csv`)).out.split('\n')[1]
    expect(await first('accounts list')).toMatch(/^'=1\+1,free,/)
    expect(await first('keys list')).toMatch(/,'=1\+1,free,'@A1,active,/)
    expect(await first('keys list --csv-raw')).toMatch(/,=1\+1,free,@A1,active,/)
    expect((await ask('keys list --ndjson')).out).toContain('"account":"=1+1"')
  })

  test('end with 6 where the file cannot be used', async () => {
    mkdirSync(db.replace('.db', '.accounts.db'))
    expect(await refused('accounts list', 6)).toContain('is a folder')
    made += 1
    writeFileSync(folder.file('text.accounts.db'), 'no database at all', { mode: 0o600 })
    expect(await refused(`accounts create a --tier free --db ${folder.file('text.db')}`, 6)).toMatch(
      /text\.accounts\.db\s+is not a SQLite database/,
    )
  })
})

describe('bands accounts usage', () => {
  beforeEach(async () => {
    await told('accounts create alice --tier pro')
    await told('accounts create bob --tier free')
    const accounts = await openAccounts({ db, env: {} })
    const alice = await accounts.account('alice')
    const bob = await accounts.account('bob')
    const day = 86_400_000
    await accounts.charge([
      chargeOf(alice, { at: NOW - 40 * day }),
      chargeOf(alice, { at: NOW - 2 * day, credits: 2 }),
      chargeOf(alice, { at: NOW, credits: 2 }),
      chargeOf(alice, { at: NOW }),
      chargeOf(bob, { at: NOW }),
    ])
    await accounts.close()
  })

  test('shows credits and requests by day, of all accounts or of one, newest first', async () => {
    expect((await ask('accounts usage')).out).toBe(
      [
        'ACCOUNT  DATE        CREDITS  REQUESTS',
        'alice    2026-01-01        3         2',
        'alice    2025-12-30        2         1',
        'bob      2026-01-01        1         1',
        '',
        '6 credits in 4 requests, 2025-12-03 to 2026-01-01\n',
      ].join('\n'),
    )
    expect((await ask('accounts usage Alice --limit 1 --csv')).out).toBe(
      'account,date,credits,requests\nalice,2026-01-01,3,2\n',
    )
    expect(await told('accounts usage alice --limit 60')).toEqual({
      schema: 'bands.usage/1',
      from: '2025-11-03',
      to: '2026-01-01',
      credits: 6,
      requests: 4,
      accounts: [
        {
          account: 'alice',
          tier: 'pro',
          credits: 6,
          requests: 4,
          days: [
            { date: '2026-01-01', credits: 3, requests: 2 },
            { date: '2025-12-30', credits: 2, requests: 1 },
            { date: '2025-11-22', credits: 1, requests: 1 },
          ],
        },
      ],
    })
    expect(await told('accounts list')).toMatchObject({
      accounts: [
        { name: 'alice', day_used: 3, hour_used: 3 },
        { name: 'bob', day_used: 1, hour_used: 1 },
      ],
    })
  })

  test('--reconcile proves that the counters are the sums of the ledger, and ends with 5 where they are not', async () => {
    expect((await ask('accounts usage --reconcile')).out).toBe(
      '5 rows of the ledger, 5 requests, 7 credits: the counters say the same\n',
    )
    expect(await told('accounts usage bob --reconcile')).toEqual({
      schema: 'bands.reconciliation/1',
      account: 'bob',
      rows: 1,
      requests: 1,
      credits: 1,
      discrepancies: [],
    })
    const file = new Database(db.replace('.db', '.accounts.db'))
    file.exec("UPDATE counters SET credits = 9 WHERE period = 'day' AND account = 2")
    file.close()
    const ran = await ask('accounts usage --reconcile --json')
    expect(ran.code).toBe(5)
    expect(JSON.parse(ran.out).discrepancies).toEqual([
      { account: 'bob', period: 'day', start: '2026-01-01T00:00:00.000Z', of: 'credits', counter: 9, ledger: 1 },
    ])
    const shown = await ask('accounts usage --reconcile')
    expect(shown.code).toBe(5)
    expect(shown.out).toContain('bob      day     2026-01-01T00:00:00.000Z  credits        9       1')
    expect(shown.out).toContain('7 credits: 1 discrepancy\n')
    expect((await ask('accounts usage alice --reconcile')).code).toBe(0)
  })

  test('refuses days that are none, and days of a proof', async () => {
    for (const days of ['0', '-1', '1e1', '0x10', 'many', '4000'])
      expect(await refused(`accounts usage --limit=${days}`, 2)).toContain(
        `--limit "${days}" is not an integer from 1 to 400`,
      )
    expect(await refused('accounts usage --reconcile --limit 3', 2)).toContain('--limit does not go with --reconcile')
  })
})

describe('bands keys', () => {
  beforeEach(async () => {
    await told('accounts create alice --tier plus')
  })

  /** What the key is worth at a moment. */
  async function whose(key: string, at = NOW): Promise<string | null> {
    const accounts = await openAccounts({ db, env: {} })
    const found = await authenticate(accounts, key, at)
    await accounts.close()
    return found?.account.name ?? null
  }

  test('create shows a key that is then taken, once', async () => {
    const ran = await ask('keys create Alice --json')
    expect(ran.err).toBe('This key is shown once and kept nowhere: keep it yourself.\n')
    const { key, identity, ...rest } = JSON.parse(ran.out)
    expect(parseKey(key)).toEqual({ identity })
    expect(rest).toEqual({
      schema: 'bands.key/1',
      account: 'alice',
      tier: 'plus',
      name: 'key-1',
      state: 'active',
      created: '2026-01-01T00:00:00.000Z',
      expires: null,
      last_used: null,
      revoked: null,
      replaces: null,
    })
    expect(await whose(key)).toBe('alice')
    for (const line of ['keys list', 'keys list --json', 'keys list --csv', 'accounts list --json'])
      expect((await ask(line)).out).not.toContain(key.slice(14))
    expect((await ask('keys create alice --json -q')).err).toBe('')
  })

  test('create writes the key in every form, and whole on however narrow a terminal', async () => {
    const key = /bands_[0-9A-Za-z]{46}/
    const inCsv = (await ask('keys create alice --csv')).out
    expect(inCsv).toMatch(/^key,identity,account,tier,name,state,created,expires,last_used,revoked\nbands_/)
    expect(JSON.parse((await ask('keys create alice --ndjson')).out).key).toMatch(key)
    expect((await ask('keys create alice')).out).toMatch(/^KEY +IDENTITY\nbands_\w{46} {2}\w{8}\n$/)
    for (const terminal of [40, 80]) {
      const out = unpainted((await ask('keys create alice --expires 90', { terminal })).out)
      expect(out).toMatch(/alice +plus +key-\d\s+is valid until 2026-04-01 00:00/)
      expect(out).toMatch(/^bands_[0-9A-Za-z]{46}$/m)
    }
  })

  test('create names keys, and lets them expire after days or at the end of a date', async () => {
    const name = ['--name', 'my laptop']
    const ran = await run(['keys', 'create', 'alice', ...name, '--expires', '2', '--json', '--db', db])
    const { key, ...rest } = JSON.parse(ran.out)
    expect(rest).toMatchObject({ name: 'my laptop', expires: '2026-01-03T00:00:00.000Z' })
    expect(await whose(key, Date.parse(rest.expires) - 1)).toBe('alice')
    expect(await whose(key, Date.parse(rest.expires))).toBeNull()
    expect(await told('keys create alice --expires 2026-01-01')).toMatchObject({
      name: 'key-1',
      expires: '2026-01-02T00:00:00.000Z',
    })
    expect(await told('keys create alice')).toMatchObject({ name: 'key-2' })
    expect(await refused('keys create alice --name key-2', 2)).toMatch(
      /^error: "alice" has a key "key-2" already, \w{8}; choose another name\./,
    )
  })

  test('create refuses what cannot be', async () => {
    expect(await refused('keys create', 2)).toMatch(/^error: ACCOUNT is missing: name the account of the key/)
    for (const expires of ['0', '-1', 'never', '2025-12-31', '2027-02-29', '4000', '1.5', '90d'])
      expect(unbroken(await refused(`keys create alice --expires=${expires}`, 2))).toContain(
        `--expires "${expires}" is not a number of days from 1 to 3650, or a date to come as YYYY-MM-DD.`,
      )
    expect(await refused('keys create alice --name=', 2)).toContain('"" is not a name of 1 to 64')
  })

  test('list shows which keys are valid', async () => {
    await told('accounts create bob --tier free')
    const first = await told('keys create alice')
    const second = await told('keys create alice')
    const third = await told('keys create bob --expires 2026-02-01')
    await told(`keys revoke ${first.identity}`)
    expect((await ask('keys list')).out.replaceAll(/^[0-9A-Za-z]{8}(?= .*\d)/gm, 'Identity')).toBe(
      [
        'IDENTITY  ACCOUNT  NAME   STATE    CREATED           EXPIRES           LAST USED',
        'Identity  alice    key-1  revoked  2026-01-01 00:00  -                 -',
        'Identity  alice    key-2  active   2026-01-01 00:00  -                 -',
        'Identity  bob      key-1  active   2026-01-01 00:00  2026-02-02 00:00  -\n',
      ].join('\n'),
    )
    const { keys } = (await told('keys list BOB')) as unknown as { keys: unknown[] }
    expect(keys).toHaveLength(1)
    expect(keys[0]).toMatchObject({ identity: third.identity, account: 'bob', state: 'active' })
    expect(await told('accounts list')).toMatchObject({ accounts: [{ keys: 1 }, { keys: 1 }] })
    expect(await whose(second.key)).toBe('alice')
  })

  test('list says how the first one is made', async () => {
    expect(await ask('keys list --csv')).toEqual({
      code: 0,
      out: 'identity,account,tier,name,state,created,expires,last_used,revoked\n',
      err: 'no key yet; bands keys create ACCOUNT makes one.\n',
    })
    expect((await ask('keys list -q')).err).toBe('')
  })

  test('revoke ends a key for good, and says so again', async () => {
    const { key, identity } = await told('keys create alice')
    expect((await ask(`keys revoke bands_${identity}`)).out).toBe(`${identity} of alice is revoked\n`)
    expect(await whose(key)).toBeNull()
    expect((await ask(`keys revoke ${identity}`)).out).toBe(`${identity} of alice is revoked since 2026-01-01 00:00\n`)
    expect(await told(`keys revoke ${identity}`)).toMatchObject({
      schema: 'bands.revoked-key/1',
      identity,
      state: 'revoked',
      revoked: '2026-01-01T00:00:00.000Z',
    })
  })

  test.each([
    ['', 86_400_000, 'is valid until 2026-01-02 00:00 UTC, 1 day from now'],
    [' --grace 7d', 7 * 86_400_000, 'is valid until 2026-01-08 00:00 UTC, 7 days from now'],
    [' --grace 12h', 12 * 3_600_000, 'is valid until 2026-01-01 12:00 UTC, 12 hours from now'],
    [' --grace 0', 0, 'is no longer valid'],
  ])('roll%s puts a key in place of another, which counts for a while yet', async (option, grace, words) => {
    const old = await told('keys create alice --name laptop --expires 90')
    const ran = await ask(`keys roll ${old.identity}${option} --json`)
    expect(ran.code, ran.err).toBe(0)
    expect(ran.err).toContain(`The old one, ${old.identity}, ${words}.`)
    const next = JSON.parse(ran.out)
    expect(next).toMatchObject({
      schema: 'bands.key/1',
      account: 'alice',
      name: 'laptop',
      expires: old.expires,
      replaces: { identity: old.identity, expires: new Date(NOW + grace).toISOString() },
    })
    expect(await whose(next.key, NOW + 8 * 86_400_000)).toBe('alice')
    if (grace > 0) expect(await whose(old.key, NOW + grace - 1)).toBe('alice')
    expect(await whose(old.key, NOW + grace)).toBeNull()
  })

  test('roll sets the end of the new key', async () => {
    const { identity } = await told('keys create alice --expires 3')
    expect(await told(`keys roll ${identity} --expires 30`)).toMatchObject({ expires: '2026-01-31T00:00:00.000Z' })
  })

  test('roll refuses a grace that is too long or no time, and a key that is no longer valid', async () => {
    const { identity } = await told('keys create alice')
    for (const grace of ['8d', '169h', '-1', '1w', 'long', '', '01d'])
      expect(await refused(`keys roll ${identity} --grace=${grace}`, 2)).toContain(
        `--grace "${grace}" is not a time from 0 to 7d, such as 12h or 2d.`,
      )
    expect(await refused(`keys roll ${identity} --grace 3`, 2)).toContain(
      `try:   bands keys roll ${identity} --grace 3d`,
    )
    await told(`keys revoke ${identity}`)
    expect(await refused(`keys roll ${identity}`, 2)).toContain(`the key "${identity}" is no longer valid`)
  })

  test('revoke and roll name the nearest key to one that is not there', async () => {
    const { identity } = await told('keys create alice')
    const wrong = `${identity.slice(0, 7)}${identity.endsWith('0') ? '1' : '0'}`
    for (const word of ['revoke', 'roll']) {
      const err = await refused(`keys ${word} ${wrong}`, 3)
      expect(err).toContain(`there is no key "${wrong}". Did you mean "${identity}"?`)
      expect(err).toContain(`bands keys ${word} ${identity}\n`)
    }
  })

  test('a whole key typed where an identity belongs comes back nowhere', async () => {
    const { key } = await told('keys create alice')
    const secret = key.slice(14, 46)
    for (const line of [
      `keys revoke ${key}`,
      `keys revoke ${key.slice(6)}`,
      `keys roll ${key}`,
      `keys roll ${key} --json`,
      `keys revoke x ${key} --json`,
      `keys list ${key}`,
      `keys list --acount ${key}`,
      `keys ${key}`,
      `${key}`,
      `accounts create x --tier ${key} --debug`,
      `keys revoke ${key} --json --debug`,
    ])
      expect(await refused(line, line === `keys list ${key}` ? 3 : 2), line).not.toContain(secret)
    expect(await refused(`keys revoke ${key}`, 2)).toContain('the rest of a key belongs on no command line')
  })
})

describe('commands of two words', () => {
  const GROUP_NAMES = Object.keys(GROUPS)
  beforeAll(() => {
    for (const { name } of CATALOGUE) if (name.includes(' ')) expect(GROUPS).toHaveProperty(name.split(' ')[0]!)
  })

  test.each(GROUP_NAMES)('bands %s alone lists its commands', async group => {
    const { code, out, err } = await ask(group)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const own = CATALOGUE.filter(({ name }) => name.startsWith(`${group} `))
    expect(own.length).toBeGreaterThan(0)
    expect(out.startsWith(`bands ${group}: ${GROUPS[group]}\n\n`)).toBe(true)
    for (const { name, summary } of own) expect(out).toMatch(new RegExp(`^ {2}bands ${name} +${summary}$`, 'm'))
    for (const line of [`${group} --help`, `help ${group}`, `${group} -h`, `${group} --json`, `--db x ${group}`])
      expect(await ask(line), line).toEqual({ code: 0, out, err: '' })
  })

  test('are understood with options before, between and after the words', async () => {
    for (const line of [
      'accounts create a --tier free --json',
      'accounts create b --json --tier free',
      '--json accounts create c --tier=free',
      'accounts --json create d --tier free',
      'accounts --tier free --json create e',
    ])
      expect(JSON.parse((await ask(line)).out), line).toMatchObject({ tier: 'free' })
  })

  test('a slip inside a group names the nearest of the group, at the top the nearest group', async () => {
    expect(await refused('accounts crate bob --tier free', 2)).toBe(
      [
        'error: there is no command "crate" of accounts. Did you mean "create"?',
        '  commands: create list set-tier usage copy layout grant',
        '  try:      bands accounts create bob --tier free\n',
      ].join('\n'),
    )
    expect(await refused('acounts list', 2)).toMatch(/Did you mean "accounts"\?\n(.*\n)* +try: +bands accounts list\n/)
    expect(await refused('keys nonsense', 2)).toMatch(/commands: create list revoke roll\n +try: +bands keys list\n/)
    expect(await refused('keys revoke', 2)).toMatch(/IDENTITY is missing\.\n +usage: bands keys revoke IDENTITY\n/)
    expect(await refused('keys revoke 12345678 more', 2)).toMatch(/^error: keys revoke takes one argument/)
    expect(await refused('keys list --acount a', 2)).toMatch(
      /^error: there is no option "--acount" of keys list\. Did you mean "--accounts"\?/,
    )
  })
})
