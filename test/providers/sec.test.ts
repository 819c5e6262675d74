import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { fetchBars, updateBars } from '../../src/app/open/fetching.js'
import { openImporter } from '../../src/app/open/writing.js'
import { parseProviders } from '../../src/app/providers/file.js'
import { scratch } from '../cli/support/run.js'
import { COMPANIES, fakeVendor, KEYS, walk } from '../support/vendors.js'

/** Facts of the SEC: companies have numbers, and who asks says who it is. */

const NUMBERS = { path: '/files/company_tickers.json', keys: 'ticker: ticker, number: cik_str, digits: 10' }

/** The SEC at a local address, and an empty database. */
async function sec({ key = KEYS.sec! } = {}) {
  const folder = scratch()
  onTestFinished(folder.remove)
  let until = '2025-12-31'
  const vendor = await fakeVendor('sec', { history: () => walk('', { first: until, last: until, everyDay: true }) })
  onTestFinished(() => vendor.close())
  const providers = folder.file('providers.yaml')
  const { path, keys } = NUMBERS
  writeFileSync(
    providers,
    `sec:\n  like: sec\n  base: ${vendor.base}\n  pace: [1000, 1]\n  numbers: { url: ${vendor.base}${path}, ${keys} }\n`,
  )
  const env = { HOME: folder.path, BANDS_SEC_KEY: key }
  const filedUntil = (day: string): void => {
    until = day
  }
  return { vendor, filedUntil, options: { from: 'sec', db: folder.file('bands.db'), env, providers } }
}

describe('facts of the SEC', () => {
  it('are found by the number of the company, and asked with who asks', async () => {
    const { vendor, options } = await sec()
    const found = await fetchBars(['AAPL', 'BRK.B'], options)
    expect(found).toMatchObject([
      { ticker: 'AAPL', outcome: 'loaded', bars: null, note: expect.stringContaining('3 reports') },
      { ticker: 'BRK.B', outcome: 'loaded' },
    ])
    expect(vendor.calls.map(({ path }) => path)).toEqual([
      NUMBERS.path,
      '/api/xbrl/companyfacts/CIK0000320193.json',
      '/api/xbrl/companyfacts/CIK0001067983.json',
    ])
    expect(new Set(vendor.calls.map(({ headers }) => headers['user-agent']))).toEqual(new Set([KEYS.sec]))
    expect(vendor.offences).toEqual([])
    const bands = await openBands({ db: options.db })
    onTestFinished(() => bands.close())
    for (const ticker of ['AAPL', 'BRK.B']) {
      const { records, security } = await bands.facts({ ticker })
      const revenues = records.flatMap(({ kind, revenue }) => (kind === 'reports' ? [revenue] : []))
      const cik = COMPANIES[ticker.replace('.', '-')]!
      expect(revenues, ticker).toEqual([cik, cik + 1_000, cik + 2_000])
      expect(security).toMatchObject({ name: `COMPANY ${cik}, INC.` })
    }
  })

  it('of a ticker that has no number, and of a company without reports, are unknown', async () => {
    const { vendor, options } = await sec()
    const found = await fetchBars(['NONE', 'NEWCO', 'AAPL'], options)
    expect(found.map(({ ticker, outcome }) => [ticker, outcome])).toEqual([
      ['NONE', 'unknown'],
      ['NEWCO', 'unknown'],
      ['AAPL', 'loaded'],
    ])
    expect(vendor.calls).toHaveLength(3)
  })

  it('that are fetched once more are the same', async () => {
    const { options } = await sec()
    await fetchBars(['AAPL'], options)
    expect(await fetchBars(['AAPL'], options)).toMatchObject([{ outcome: 'loaded', added: 0 }])
  })

  it('are asked again by an update, also of a ticker whose bars are from a file', async () => {
    const { vendor, options, filedUntil } = await sec()
    const { from: _, ...updating } = options
    filedUntil('2025-09-30')
    await fetchBars(['AAPL', 'BRK.B'], options)
    const importer = await openImporter({ db: options.db })
    const file = { name: 'AAPL.csv', path: 'data/bars/AAPL.csv', bytes: null }
    for await (const { holds } of importer.import([file])) expect(holds).toBe('bars')
    await importer.close()
    const current = { provider: 'sec', outcome: 'current', added: 0 }
    expect((await updateBars(null, updating)).toSorted((a, b) => a.ticker.localeCompare(b.ticker))).toMatchObject([
      { ticker: 'AAPL', ...current },
      { ticker: 'BRK.B', ...current },
    ])
    filedUntil('2025-12-31')
    vendor.calls.length = 0
    const [updated] = await updateBars(['AAPL'], updating)
    expect(updated).toMatchObject({ outcome: 'loaded', note: expect.stringContaining('3 reports') })
    expect(updated!.added).toBeGreaterThan(0)
    expect(vendor.calls.map(({ path }) => path)).toEqual([NUMBERS.path, '/api/xbrl/companyfacts/CIK0000320193.json'])
  })

  it('are not asked without an e-mail address, and a refusal says what is wanted', async () => {
    const { vendor, options } = await sec({ key: 'Ada Lovelace' })
    await expect(fetchBars(['AAPL'], options)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('a name and an e-mail address'),
    })
    expect(vendor.calls).toEqual([])
    const env = { ...options.env, BANDS_SEC_KEY: 'Somebody else@example.com' }
    await expect(fetchBars(['AAPL'], { ...options, env })).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('it wants the name and e-mail address of who asks'),
    })
  })
})

describe('a row with numbers', () => {
  const row = (url: string): string =>
    `t:\n  base: https://api.example.com\n  path: /f/{symbol}?k={key}\n  prices: raw\n  numbers: { url: "${url}", ticker: t, number: n }\n`

  it('has its list at its own address, because the key is sent there', () => {
    expect(parseProviders(row('https://api.example.com/list'), 'p.yaml')).toMatchObject([{ numbers: { digits: 1 } }])
    for (const url of ['https://other.example.com/list', 'https://api.example.com.evil.org/', 'list'])
      expect(() => parseProviders(row(url), 'p.yaml')).toThrow(
        'p.yaml:5:19: numbers.url: it begins with https://api.example.com/',
      )
  })

  it('keeps the list of the vendor it is like, unless it has another address', () => {
    const [same, other] = parseProviders(
      'a: { like: sec, about: mine }\nb: { like: sec, base: "https://x.example" }\n',
      'p',
    )
    expect(same!.numbers?.url).toContain('www.sec.gov')
    expect(other!.numbers).toBeUndefined()
  })
})
