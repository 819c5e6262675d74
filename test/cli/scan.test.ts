import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Args } from '../../src/app/cli/command.js'
import { withoutDefaultLimit } from '../../src/app/cli/options.js'
import { openLocal } from '../../src/app/open/database.js'
import type { Tier } from '../../src/core/model/terms.js'
import type { OversoldParams } from '../../src/core/params/questions.js'
import { parseOversold } from '../../src/core/params/questions.js'
import { OVERSOLD_KEYS } from '../../src/core/tiers.js'
import { notInQuick } from '../support/full.js'
import { type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const db = folder.file('bands.db')
const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(`scan oversold ${line}`, { ...lent, env: { BANDS_DB: db, ...lent.env } })

/** A day on which nine tickers are oversold, one of them deeply. */
const DAY = '2017-03-14'

beforeAll(async () => {
  const made = await typed('simulate 60 --bars 420 --seed 3 --end 2018-05-11 --load', { env: { BANDS_DB: db } })
  expect(made.code).toBe(0)
})
afterAll(folder.remove)

async function asked(params: OversoldParams, tier: Tier = 'pro') {
  const { local } = await openLocal({ db, tier })
  try {
    return await local.oversold(parseOversold(params))
  } finally {
    await local.close()
  }
}

test('rows for machines are all matches without a limit', () => {
  const limitOf = (isRowFormat: boolean, options: Record<string, string>) =>
    withoutDefaultLimit({ isRowFormat }, new Args([], options), { limit: 20 }).limit
  expect([limitOf(true, {}), limitOf(true, { limit: '20' }), limitOf(false, {})]).toEqual([
    Number.POSITIVE_INFINITY,
    20,
    20,
  ])
})

describe('bands scan oversold', () => {
  test.each([
    ['', {}, 'pro'],
    [`--date ${DAY}`, { date: DAY }, 'pro'],
    [`--date ${DAY} --tier plus --limit 3`, { date: DAY, limit: 3 }, 'plus'],
    ['--tier free --timeframe weekly', { timeframe: 'weekly' }, 'free'],
    [
      `--date ${DAY} --filter="class stock, sector Energy"`,
      { date: DAY, asset_class: 'stock', sector: 'energy' },
      'pro',
    ],
    [`--filter "min size mid" --sort days_oversold --date ${DAY}`, optionsOfSize(), 'pro'],
    [`--filter "size large, severity deep_oversold" --date ${DAY}`, optionsOfSeverity(), 'pro'],
    [`--sort condition_percentile --date ${DAY}`, { date: DAY, sort_by: 'condition_percentile' }, 'pro'],
  ] as [string, OversoldParams, Tier][])('%s prints with --json exactly the page', async (line, params, tier) => {
    const ran = await ask(`${line} --json`)
    expect(ran).toMatchObject({ code: 0, out: `${JSON.stringify(await asked(params, tier))}\n` })
  })

  test('writes a row for a match in CSV and NDJSON, CSV with every column in every tier', async () => {
    const { matches } = await asked({ date: DAY })
    expect(matches).toHaveLength(9)
    const lines = (await ask(`--date ${DAY} --ndjson`)).out.trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line))).toEqual(matches)
    const [header, ...rows] = (await ask(`--date ${DAY} --csv`)).out.trimEnd().split('\n')
    expect(header).toBe(OVERSOLD_KEYS.pro.join(','))
    expect(rows.map(row => row.split(',')[0])).toEqual(matches.map(({ ticker }) => ticker))
    expect((await ask('--tier free --csv')).out.split('\n')[0]).toBe(header)
  })

  test('shows a table that fits, with its counts and its day, and what to ask next', async () => {
    const { out, err, code } = await ask(`--date ${DAY}`, { terminal: 80 })
    const lines = unpainted(out).split('\n')
    expect(code).toBe(0)
    expect(lines[0]).toBe(`oversold  daily   9 of 60 are oversold   as of ${DAY}`)
    expect(lines[2]).toMatch(/^TICKER +ZONE +DAYS +STOCH .*SECTOR$/)
    expect(lines[3]).toMatch(/^SIM\d+ +deep_oversold +\d+ /)
    expect(lines[12]).toMatch(/^.*VOLUME.* hidden \(terminal too narrow\);/)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
    expect(unpainted(err)).toMatch(
      new RegExp(`next: bands tally SIM\\d+ rsi_zone --band deep_oversold .*--as-of ${DAY}`),
    )
  })

  test('shows in the table what JSON holds, a dash where nothing is known', async () => {
    const { matches } = await asked({ date: DAY })
    const [header, ...rows] = (await ask(`--date ${DAY}`)).out.trimEnd().split('\n')
    expect(header!.split(/ {2,}/)).toEqual([
      ...['TICKER', 'ZONE', 'DAYS', 'RARITY', 'STOCH', 'TREND', 'VOLUME', 'SUPPORT', 'SIZE', 'VALUATION', 'SECTOR'],
    ])
    for (const [i, match] of matches.entries()) {
      const cells = rows[i]!.split(/ {2,}/)
      const shown = [match.ticker, match.rsi_zone, match.days_in_oversold, match.condition_rarity]
      expect(cells.slice(0, 4)).toEqual(shown.map(value => String(value ?? '-')))
      expect(cells.at(-1)).toBe(match.sector)
    }
  })

  test('says in words what it does not show', async () => {
    expect((await ask(`--date ${DAY} --limit 4`)).err).toBe('5 more match: --limit 9\n')
    expect((await ask(`--date ${DAY} --limit 4 --csv`)).err).toBe('5 more match: --limit 9\n')
    expect((await ask(`--date ${DAY} --limit 4 -q`)).err).toBe('')
    // The page itself counts them.
    expect((await ask(`--date ${DAY} --limit 4 --json`)).err).toBe('')
    expect((await ask(`--date ${DAY} --limit 9`)).err).toBe('')
  })

  notInQuick('shows a tier no more matches than a key gets, in every form', async () => {
    const falling = Array.from({ length: 110 }, (_, i) =>
      Array.from({ length: 31 }, (_, day) => {
        const close = 200 - day
        return `F${i},2018-03-${String(day + 1).padStart(2, '0')},${close},${close},${close},${close},1000`
      }).join('\n'),
    )
    writeFileSync(folder.file('falling.csv'), ['ticker,date,open,high,low,close,volume', ...falling, ''].join('\n'))
    const env = { BANDS_DB: folder.file('falling.db') }
    expect((await typed(`import ${folder.file('falling.csv')}`, { env })).code).toBe(0)
    const scan = async (line: string) => {
      const { out, err } = await ask(line, { env })
      return [out.trimEnd().split('\n').length, err]
    }
    expect(await scan('--ndjson')).toEqual([110, ''])
    const most = '10 more match, and 100 is the most that is shown: narrow it with'
    for (const [form, lines] of [
      ['--ndjson', 100],
      ['--csv', 101],
    ] as const)
      expect(await scan(`${form} --tier pro`)).toEqual([lines, expect.stringContaining(most)])
  })

  test('leaves out what Free does not see, and names the tier that has it', async () => {
    const { out, err } = await ask('--tier free', { terminal: 80 })
    expect(unpainted(out).split('\n')[2]).toMatch(/^TICKER +ZONE +RARITY +SIZE +VALUATION +SECTOR$/)
    expect(unpainted(err)).toContain('Plus tier')
  })

  test('explains on stderr why nothing matches, and still answers', async () => {
    const none = await ask(`--date ${DAY} --filter "severity deep_oversold, sector financials"`)
    expect(none.code).toBe(0)
    expect(none.out).toMatch(/^TICKER +ZONE .*SECTOR\n$/)
    expect(none.err).toMatch(/^No match: none of \d+ scanned is deep_oversold on 2017-03-14\.\n$/)
    const week = 'has an RSI and a daily bar not older than a week'
    expect((await ask('--filter "class crypto" --json')).err).toBe(
      `No match: no ticker here that the filters let through ${week} on 2018-05-11; a ticker of unknown size passes no filter of sizes.\n`,
    )
    expect((await ask('--as-of 2014-01-01 -q')).err).toBe('')
  })

  test('takes the as-of day for today', async () => {
    expect((await ask(`--as-of ${DAY} --json`)).out).toBe((await ask(`--date ${DAY} --json`)).out)
    expect((await ask(`--as-of ${DAY}`, { terminal: 100 })).out).toContain(`as of ${DAY}`)
    expect((await ask(`--as-of ${DAY} --date 2017-03-15`)).code).toBe(2)
  })

  test.each([
    ['--filter "sector Enrgy"', 2, /sector "Enrgy" is not one of Communication Services, .*Did you mean "Energy"\?/],
    ['--filter "class shares"', 2, /--filter class "shares" is not one of stock, crypto, etf, all/],
    ['--filter "size big"', 2, /--filter size "big" is not one of nano, micro, small, mid, large, mega, ultra_mega/],
    ['--filter "min size smal"', 2, /Did you mean "small"\?/],
    ['--filter "severity oversol"', 2, /Did you mean "oversold"\?/],
    ['--sort rsi', 2, /--sort "rsi" is not one of severity, days_oversold, condition_percentile/],
    ['--limit 0', 2, /limit "0" is not an integer from 1, or all/],
    ['--limit 101 --tier pro', 2, /limit "101" is not an integer from 1 to 100/],
    ['--limit 5 --limit 6', 2, /limit is given twice/],
    ['--timeframe hourly', 2, /timeframe "hourly" is not one of daily, weekly/],
    ['--date 2018-02-30', 2, /date "2018-02-30" is not a calendar date/],
    ['--date 2018-05-12', 2, /date "2018-05-12" is not a date up to 2018-05-11/],
    ['--date 2018-05-12 --tier pro', 2, /date "2018-05-12" is not a date from 2013-05-12 to 2018-05-11/],
    ['--filtr Energy', 2, /Did you mean "--filter"\?/],
    ['AAPL', 2, /takes no arguments/],
    ['--filter "sector "', 2, /sector needs|is not made of parts/],
  ])('%s ends with %d and says why', async (line, code, words) => {
    const ran = await ask(line)
    expect(ran).toMatchObject({ code, out: '' })
    expect(ran.err.replace(/\s+/g, ' ')).toMatch(words)
  })
})

function optionsOfSize(): OversoldParams {
  return { min_market_cap_tier: 'mid', sort_by: 'days_oversold', date: DAY }
}

function optionsOfSeverity(): OversoldParams {
  return { market_cap_tier: 'large', min_severity: 'deep_oversold', date: DAY }
}
