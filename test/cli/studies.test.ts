import { describe, expect, test } from 'vitest'
import { notInQuick } from '../support/full.js'
import { bundledBars, unpainted } from './support/run.js'

const { folder, ask, table } = bundledBars()
const rows = async (line: string): Promise<Record<string, string>[]> => {
  const [header = '', ...lines] = (await ask(`${line} --csv`)).out.trimEnd().split('\n')
  const names = header.split(',')
  return lines.map(text => Object.fromEntries(text.split(',').map((value, i) => [names[i], value])))
}

const percent = (share: number): string => `${Math.round(share * 100)}%`

describe('bands study', () => {
  test('says where an interval leaves out 0 though p is not below .05', async () => {
    const { windows, warnings } = JSON.parse((await ask('study GSPC rsi_zone --band oversold --json')).out)
    const disputed = windows.filter(({ intervals: [{ low, high }], tests: [{ p }] }: Disputed) => {
      return low !== null && (low > 0 || high < 0) && p >= 0.05
    })
    const names = disputed.map(({ window }: Disputed) => window).join(', ')
    expect(names).not.toBe('')
    expect(warnings.join()).toContain(`Interval without 0, p of 0.05 or more (${names})`)
  })

  test('draws the path as far as its longest window', async () => {
    expect(await table('study GSPC rsi_zone --band oversold --horizon 5,20')).toMatch(/% at bar 20$/m)
  })
})

interface Disputed {
  window: string
  intervals: [{ low: number; high: number }]
  tests: [{ p: number }]
}

describe('bands tally', () => {
  test('shows in the table what JSON holds', async () => {
    const text = await table('tally AAPL rsi_zone --band oversold')
    const { groups } = JSON.parse((await ask('tally AAPL rsi_zone --band oversold --json')).out)
    for (const { window, n, returns, top_share } of groups[0].windows)
      expect(text).toMatch(
        new RegExp(
          `^${Number.parseInt(window, 10)} +${n} .* ${percent(returns.hit_rate)} +\\d+% +${percent(top_share)} `,
          'm',
        ),
      )
    expect(text).toMatch(/\+\+\+ +ROSE +ANY +TOP 40% +95% +ANY$/m)
  })

  test.each(['band', 'prev_band', 'stability', 'year', 'ticker'])('splits by %s', async by => {
    const found = JSON.parse((await ask(`tally AAPL,GSPC rsi_zone --by ${by} --json`)).out)
    expect(found.by).toBe(by)
    const sum = found.groups.reduce((total: number, group: { events: number }) => total + group.events, 0)
    expect(sum).toBe(found.events)
    expect(await table(`tally AAPL,GSPC rsi_zone --by ${by}`)).toContain(by.toUpperCase())
  })

  test('splits by the state of a second ticker', async () => {
    const context = '--context GSPC:trend_direction'
    const found = JSON.parse((await ask(`tally AAPL rsi_zone --band oversold ${context} --by context --json`)).out)
    expect(found.groups.length).toBeGreaterThan(1)
    expect((await ask('tally AAPL rsi_zone --by context')).err).toContain('to group by context, give --context T:F')
  })

  test('shows the windows of --horizon alone, with the figures that they have among all', async () => {
    type Windows = { window: string }[]
    const windows = async (more: string): Promise<Windows> =>
      JSON.parse((await ask(`tally AAPL rsi_zone --band oversold --json ${more}`)).out).groups[0].windows
    const some = await windows('--horizon 20,5')
    expect(some.map(({ window }) => window)).toEqual(['5d', '20d'])
    expect(some).toEqual((await windows('')).filter(({ window }) => ['5d', '20d'].includes(window)))
    expect((await ask('tally AAPL rsi_zone --horizon 7')).err).toMatch(/--horizon 5$/m)
  })

  test('asks for what it needs', async () => {
    expect((await ask('tally')).err).toContain('FIELD is missing')
    expect((await ask('tally AAPL')).err).toContain('usage: bands tally TICKER... FIELD')
    expect((await ask('tally AAPL rsi_zone --by colour')).code).toBe(2)
    expect((await ask('tally AAPL rsi_zone --tier free')).code).toBe(4)
    expect((await ask('tally AAPL rsi_zone --band deep_oversold --fail-empty')).code).toBe(3)
  })
})

test('studies without an event say why on stderr, and say it once', async () => {
  const facts = 'valuation_zone uses dated facts, and none'
  const alone = `${facts} are loaded for AAPL; bands import FILE loads them`
  const both = `${facts} that count are loaded for any of the 2 tickers`
  for (const question of ['tally AAPL', 'transitions AAPL', 'show AAPL'])
    expect((await ask(`${question} valuation_zone`)).err).toBe(`No event: ${alone}.\n`)
  expect((await ask('events AAPL rsi_zone --timeframe weekly --as-of 2013-06-01')).err).toContain(
    '3 bars are too few. bands explain AAPL rsi_zone --timeframe weekly shows why.',
  )
  expect((await ask('tally AAPL,GSPC valuation_zone')).err).toBe(`No event: ${both}.\n`)
  expect((await ask('now --field valuation_zone')).err).toBe(`${both}.\n`)
  expect((await ask('now --field valuation_zone -q')).err).toBe('')
  const { out } = await ask('tally AAPL valuation_zone', { terminal: 80 })
  expect(unpainted(out)).toBe('AAPL  valuation_zone  daily   0 events   all dates   as of 2018-05-11\n')
  expect((await ask('tally AAPL,GSPC rsi_zone --band deep_oversold --after 2018-04-30')).err).toBe(
    'No event: none of 2 tickers became deep_oversold after 2018-04-30, as of 2018-05-11.\n',
  )
})

test('headings name the days of the question', async () => {
  const days = '--after 2016-01-01 --before 2017-01-01'
  for (const line of ['tally AAPL', 'transitions AAPL', 'events AAPL', 'events AAPL,GSPC']) {
    const { out } = await ask(`${line} rsi_zone ${days}`, { terminal: 120 })
    expect(unpainted(out)).toContain(' after 2016-01-01 and before 2017-01-01')
    expect(out).not.toContain('all dates')
  }
})

describe('a database without tickers', () => {
  test('differs from a question without one', async () => {
    const db = folder.file('empty.db')
    await ask(`simulate 1 --bars 60 --load --db ${db}`)
    await ask(`remove SIM0001 --db ${db}`)
    for (const question of ['now', 'tally rsi_zone --all']) {
      const { code, err } = await ask(`${question} --db ${db}`)
      expect(code).toBe(3)
      expect(err.replace(/\s+/g, ' ')).toContain('no ticker is loaded in')
      const elsewhere = await ask(question, { env: { BANDS_DB: db } })
      expect(elsewhere.err).toContain(`  try:   bands ${question} --db sample\n`)
    }
    expect((await ask(`events AAPL rsi_zone --db ${db}`)).err).toContain('load:  bands import FILE.csv')
  })
})

describe('bands now', () => {
  test('reports the present band of every field of every ticker, and shows people those with a band', async () => {
    const states = await rows('now')
    expect(states).toHaveLength(42)
    expect(await rows('now --tier free')).toHaveLength(18)
    expect(await table('now')).not.toContain('valuation_zone')
    expect(states[0]).toMatchObject({
      ticker: 'AAPL',
      field: 'rsi_zone',
      band: 'overbought',
      since: '2018-05-09',
      bars: '3',
    })
  })

  test('takes tickers, fields, a timeframe and a day', async () => {
    expect(await rows('now aapl --field rsi_zone,macd_state --timeframe weekly')).toHaveLength(2)
    expect((await rows('now AAPL --as-of 2016-01-06 --field rsi_zone'))[0]).toMatchObject({
      band: 'oversold',
      since: '2016-01-05',
    })
    expect((await ask('now AAPL ZZZZ')).code).toBe(3)
    const early = await ask('now AAPL GSPC --as-of 2010-01-04')
    expect([early.code, early.err]).toEqual([0, 'no bars by 2010-01-04, which begin later: AAPL 2013-05-13\n'])
    const later = await ask('now AAPL --field rsi_zone --as-of 2018-06-01 --json')
    expect(later.err).toBe('--as-of 2018-06-01 is after the data, which end on 2018-05-11\n')
    expect((await ask('now --field rsi_zon')).err).toContain('Did you mean "rsi_zone"?')
  })
})

describe('bands transitions', () => {
  test('draws a matrix whose columns are lettered', async () => {
    const text = await table('transitions AAPL rsi_zone')
    expect(text).toMatch(/^ {2}FROM +N +A +B +C +D +E +F +G$/m)
    expect(text).toMatch(/^B oversold +10 /m)
  })

  notInQuick('tells how sure the median is, where stays go, and what follows bar by bar', async () => {
    for (const row of await rows('transitions AAPL rsi_zone')) {
      const same = (await rows('transitions AAPL rsi_zone')).filter(({ from }) => from === row.from)
      if (row.from_per_bar === '') continue
      expect(same.reduce((sum, { per_bar }) => sum + Number(per_bar), Number(row.from_per_bar))).toBeCloseTo(1, 9)
      expect(Number(row.from_median_low)).toBeLessThanOrEqual(Number(row.from_median))
      expect(Number(row.incidence_5d)).toBeLessThanOrEqual(Number(row.incidence_20d))
    }
    const text = await table('transitions AAPL rsi_zone --wide')
    expect(text).toMatch(/^D neutral +93 +93 +0 +4 +3-6 +16 /m)
    expect(text).toContain('Where stays have gone by bar 20')
    expect(text).toMatch(/^D neutral +620 +[.] +0% +5% +85% /m)
    expect(await table('transitions AAPL rsi_zone --wide --before 2018-01-05')).toContain('LATER')
  })

  test('compares by the band of a second ticker', async () => {
    const context = '--context GSPC:trend_direction'
    const found = JSON.parse((await ask(`transitions AAPL rsi_zone ${context} --json`)).out)
    expect(found.context).toEqual({ ticker: 'GSPC', field: 'trend_direction' })
    const pairs = await rows(`transitions AAPL rsi_zone ${context}`)
    expect(pairs).toHaveLength(42 * found.by_context.groups.length)
    expect(pairs.reduce((sum, row) => sum + Number(row.count), 0)).toBe(284)
    expect(new Set(pairs.map(row => row.context_band)).size).toBe(found.by_context.groups.length)
    const text = await table(`transitions AAPL rsi_zone ${context}`)
    expect(text).toContain('AAPL  rsi_zone  daily   beside GSPC trend_direction')
    const { chi2, df } = found.by_context.tests.equal_rows
    expect(text).toContain(`all bands together: chi2 ${chi2.toFixed(1)}, df ${df}, p`)
  })

  test('counts many tickers together, as a tally does', async () => {
    const named = await ask('transitions AAPL,GSPC rsi_zone --json')
    expect((await ask('transitions rsi_zone --all --json')).out).toBe(named.out)
    expect((await ask('transitions rsi_zone --tickers GSPC,AAPL --json')).out).toBe(named.out)
    expect((await ask('transitions AAPL')).err).toContain('usage: bands transitions TICKER... FIELD')
  })
})

describe('bands explain', () => {
  test('says how an event came about', async () => {
    const text = await table('explain AAPL rsi_zone 2018-02-08')
    expect(text).toContain('band: oversold, entered on this bar from neutral_low')
    expect(text).toMatch(/^rsi +29\.3/m)
    expect(text).toContain('6 flips in 30 bars, 4 or more: volatile')
    expect(text).toMatch(/^100d +open +pending/m)
  })

  test('spells the signs of a rule in ASCII where the locale has no more', async () => {
    const { out } = await ask('explain AAPL rsi_zone', { env: { LANG: 'C' } })
    expect(out).toContain('RSI = 100*u/(u+d)')
    expect(out).toMatch(/^[\x20-\x7e\n]+$/)
  })
})

describe('bands show', () => {
  test('has every bar in CSV and in NDJSON, and says on standard error what another pipe leaves out', async () => {
    const bars = (await ask('export bars --tickers AAPL --csv')).out.trimEnd().split('\n').length - 1
    const csv = await ask('show AAPL rsi_zone --csv')
    expect([csv.out.trimEnd().split('\n').length - 1, csv.err]).toEqual([bars, ''])
    expect((await ask('show AAPL rsi_zone --ndjson')).out.trimEnd().split('\n')).toHaveLength(bars)
    const json = await ask('show AAPL rsi_zone --json')
    expect(JSON.parse(json.out).bars).toHaveLength(250)
    const left = (bars - 250).toLocaleString('en')
    expect(json.err).toBe(`${left} earlier bars left out: --after DATE shows more, --csv all.\n`)
  })

  test('draws the price, the bands and the events', async () => {
    const text = await table('show AAPL rsi_zone --band oversold --height 6', 80)
    expect(text).toMatch(/[\u2800-\u28ff]/)
    expect(text).toContain('2 events')
    expect((await table('show AAPL rsi_zone --ascii', 80)).replaceAll('\n', '')).toMatch(/^[\x20-\x7e]+$/)
    expect((await ask('show AAPL rsi_zone', { terminal: 80, env: { LANG: 'C' } })).out).not.toMatch(/[\u2800-\u28ff]/)
  })
})

describe('bands status and doctor', () => {
  test('show the loaded data and how fresh they are', async () => {
    const found = JSON.parse((await ask('status --json')).out)
    expect(found.tickers.map((ticker: { ticker: string }) => ticker.ticker)).toEqual(['AAPL', 'GSPC'])
    expect(await table('status')).toMatch(/^AAPL +1,260 .* 2018-05-11 +0d /m)
  })
})

test.each(['0', '-1', '1.5', '257', 'all'])('refuses --threads %s, and says what may be', async threads => {
  const { code, err } = await ask(`events AAPL rsi_zone --threads=${threads}`)
  expect(code).toBe(2)
  expect(err).toContain('an integer from 1 to 256')
})
