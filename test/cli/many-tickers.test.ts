import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BARS, expectRefusal, type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }
const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env, ...lent.env } })
const json = async (line: string) => JSON.parse((await ask(`${line} --json`)).out)

/** The rows of a CSV as objects. */
async function rowsOf(line: string): Promise<Record<string, string>[]> {
  const { code, out, err } = await ask(`${line} --csv`)
  expect(code, err).toBe(0)
  const [head = '', ...lines] = out.trimEnd().split('\n')
  const names = head.split(',')
  return lines.map(text => Object.fromEntries(text.split(',').map((value, i) => [names[i]!, value])))
}

beforeAll(async () => {
  expect((await ask(`import ${BARS}`)).code).toBe(0)
  await ask('watch add mine AAPL GSPC')
})
afterAll(folder.remove)

describe('which tickers a line is about', () => {
  test.each([
    'now AAPL GSPC --field rsi_zone',
    'now --tickers AAPL,GSPC --field rsi_zone',
    'now --watch mine --field rsi_zone',
    'now AAPL --tickers GSPC --field rsi_zone',
  ])('bands %s', async line => {
    const { states } = await json(line)
    expect(states.map(({ ticker }: { ticker: string }) => ticker)).toEqual(['AAPL', 'GSPC'])
  })

  test.each(['', '--watch mine', '--tickers AAPL,GSPC', '--tickers AAPL --tickers GSPC', '--all'])(
    'bands export events %s',
    async tickers => {
      const rows = await rowsOf(`export events --field rsi_zone --timeframe weekly ${tickers}`)
      const wanted = tickers === '' || tickers === '--all' ? rows.map(({ ticker }) => ticker) : ['AAPL', 'GSPC']
      expect([...new Set(rows.map(({ ticker }) => ticker))]).toEqual([...new Set(wanted)])
      expect(rows.length).toBeGreaterThan(10)
    },
  )
})

describe('bands now', () => {
  type State = {
    ticker: string
    field: string
    band: string | null
    since: string | null
    bars: number | null
    initial: boolean | null
  }
  const all = async (more = ''): Promise<State[]> => (await json(`now --all --as-of 2018-02-09 ${more}`)).states

  test('shows only the queried bands', async () => {
    const found = await all('--band neutral_low,downtrend')
    expect(found.length).toBeGreaterThan(0)
    expect(found).toEqual((await all()).filter(({ band }) => band === 'neutral_low' || band === 'downtrend'))
  })

  test('shows the bands entered since a day, and on the newest bar', async () => {
    const states = await all()
    const recent = await all('--since 2018-02-08')
    expect(recent).toEqual(states.filter(({ since }) => since !== null && since >= '2018-02-08'))
    const changed = await all('--since 1')
    expect(changed).toEqual(states.filter(({ bars, initial }) => bars === 1 && initial === false))
    expect(changed.length).toBeGreaterThan(0)
    // Each of them is an event of that very bar.
    for (const { ticker, field, band, since } of changed) {
      const { events } = await json(`events ${ticker} ${field} --as-of 2018-02-09 --limit 1`)
      expect([events[0].date, events[0].band]).toEqual([since, band])
    }
  })

  test('says that nothing is in such a band, and which bands there are', async () => {
    const none = await ask('now AAPL --field rsi_zone --band deep_oversold --fail-empty --json')
    expect([none.code, JSON.parse(none.out).states]).toEqual([3, []])
    expect(none.err).toMatch(/^AAPL rsi_zone is \w+ since \d{4}-\d\d-\d\d\.\n$/)
    const wrong = await ask('now AAPL --field rsi_zone --band oversld')
    expectRefusal(wrong, 2, 'there is no --band "oversld". Did you mean "oversold"?')
    expectRefusal(await ask('now --since yesterday'), 2, '--since "yesterday" is not a calendar date')
  })
})

describe('bands export with filters', () => {
  const FILTERS =
    '--all --field rsi_zone,macd_state --band oversold,bullish_cross --after 2016-01-01 --before 2017-06-01'
  const isWanted = ({ date = '', band = '' }: Record<string, string>): boolean =>
    date > '2016-01-01' && date < '2017-06-01' && ['oversold', 'bullish_cross'].includes(band)

  test('writes those of the whole export that the filters let through, in every form', async () => {
    const whole = await rowsOf('export events --field rsi_zone,macd_state')
    const found = await rowsOf(`export events ${FILTERS.replace(',bullish_cross', '')}`)
    expect(found).toEqual(whole.filter(row => isWanted(row) && row.band === 'oversold'))
    expect(found.length).toBeGreaterThan(3)
    const lines = (await ask(`export events ${FILTERS.replace(',bullish_cross', '')} --ndjson`)).out
      .trimEnd()
      .split('\n')
    const { aftermath: _a, returns: _r, percentiles: _p, ...first } = JSON.parse(lines[0]!)
    expect(lines).toHaveLength(found.length)
    expect(found[0]).toMatchObject(
      Object.fromEntries(Object.entries(first).map(([name, value]) => [name, value === null ? '' : String(value)])),
    )
  })

  test('the text of many events is that of each alone', async () => {
    const one = (await ask('export events --field rsi_zone --timeframe daily --ndjson')).out.trimEnd().split('\n')
    const few = await ask('export events --field rsi_zone --timeframe daily --band oversold --ndjson')
    expect(few.out.trimEnd().split('\n')).toEqual(one.filter(line => JSON.parse(line).band === 'oversold'))
  })

  test('of series writes the bars of such a band, of bars those between the days', async () => {
    const whole = await rowsOf('export series --tickers AAPL --timeframe daily --field rsi_zone')
    const found = await rowsOf('export series --tickers AAPL --timeframe daily --field rsi_zone --band oversold')
    expect(found).toEqual(whole.filter(row => row.rsi_zone === 'oversold'))
    expect(found.length).toBeGreaterThan(3)
    const bars = await rowsOf('export bars --tickers AAPL --after 2018-01-02 --before 2018-01-05')
    expect(bars.map(({ date }) => date)).toEqual(['2018-01-03', '2018-01-04'])
  })

  test.each([
    ['export bars --when rsi_zone=oversold', 'export series keeps those on which a condition holds.'],
    ['export series --when rsi_zone=oversld', 'Did you mean "oversold"'],
    ['export events --when rsi_zone=oversold --band oversold', 'rsi_zone = oversold has no band "oversold".'],
    ['export events --when rsi_zone=oversold --context-lag 1', 'is for a condition that names another ticker'],
    ['export facts --write x --context-lag 1', 'leave --context-lag out.'],
    ['export bars --band oversold', 'bars have no bands; export series has them.'],
    ['export events --field rsi_zone --band uptrend', 'rsi_zone has no band "uptrend". It is one of trend_direction.'],
    ['export events --band oversld', 'Did you mean "oversold"'],
    ['export events --after 2016-13-01', 'is not a calendar date'],
    ['export facts --write x --band oversold', 'facts are written whole, for all fields and days; leave --band out.'],
  ])('bands %s is refused', async (line, said) => {
    const { code, out, err } = await ask(line)
    expect([code, out]).toEqual([2, ''])
    expect(err.replaceAll(/\s+/g, ' ')).toContain(said)
  })
})

describe('bands events of several tickers', () => {
  const LINE = 'rsi_zone --band oversold'
  type Event = { ticker: string; date: string; aftermath: unknown }

  /** Those of each ticker alone, merged by what the help promises: newest first, on one date by ticker. */
  async function alone(more = ''): Promise<Event[]> {
    const all: Event[] = []
    for (const ticker of ['AAPL', 'GSPC'])
      for (const event of (await json(`events ${ticker} ${LINE} --limit all ${more}`)).events)
        all.push({ ticker, ...event })
    return all.sort((a, b) => (a.date === b.date ? Number(a.ticker > b.ticker) : a.date < b.date ? 1 : -1))
  }

  test.each([
    'events AAPL GSPC',
    'events AAPL,GSPC',
    'events --tickers AAPL,GSPC',
    'events --watch mine',
    'events --all',
  ])('bands %s … are those of each, newest first, in a document that names its schema', async line => {
    const expected = await alone()
    const found = await json(`${line} ${LINE} --limit 7`)
    expect(found).toMatchObject({ schema: 'bands.pool-events/1', tickers: ['AAPL', 'GSPC'], field: 'rsi_zone' })
    expect(found.total_occurrences).toBe(expected.length)
    expect(found.events).toEqual(expected.slice(0, 7))
  })

  test('keep every filter, and what each asks of a second ticker', async () => {
    for (const more of [
      '--after 2016-01-01 --before 2017-01-01',
      '--timeframe weekly',
      '--context GSPC:trend_direction=uptrend',
    ])
      expect((await json(`events --watch mine ${LINE} ${more} --limit all`)).events).toEqual(await alone(more))
  })

  test('are all rows of CSV and NDJSON, and as many as fit of a table that says what it leaves out', async () => {
    const expected = await alone()
    const rows = await rowsOf(`events --all ${LINE}`)
    expect(rows.map(({ ticker, date }) => [ticker, date])).toEqual(expected.map(({ ticker, date }) => [ticker, date]))
    const lines = (await ask(`events --all ${LINE} --ndjson`)).out.trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line).ticker)).toEqual(expected.map(({ ticker }) => ticker))
    const { out, err } = await ask(`events --all ${LINE}`, { terminal: 100 })
    expect(unpainted(out)).toContain('AAPL, GSPC  rsi_zone = oversold')
    expect(unpainted(out)).toMatch(/TICKER +DATE/)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(
      `${expected.length - 10} older events left out: --limit ${expected.length}`,
    )
  })

  test('say how many events of the last date the limit leaves out', async () => {
    const line = 'macd_state --limit'
    const dates = (await rowsOf(`events --all macd_state --csv`)).map(({ date }) => date as string)
    const cut = dates.findIndex((date, i) => date === dates[i + 1]) + 1
    expect(cut).toBeGreaterThan(0)
    const found = await json(`events --all ${line} ${cut}`)
    const same = dates.slice(cut).filter(date => date === dates[cut - 1]).length
    expect(found.omitted_on_last_date).toBe(same)
    const { err } = await ask(`events --all ${line} ${cut}`, { terminal: 100 })
    const [last] = found.events.slice(-1)
    const { length } = dates.slice(cut + same)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(
      `${same} event${same === 1 ? '' : 's'} of ${last.date} after ${last.ticker}, and ${length.toLocaleString('en')} older events left out`,
    )
  })

  test('a list of one ticker is a list; a ticker alone has the page of the specification', async () => {
    expect((await json(`events --tickers AAPL ${LINE}`)).schema).toBe('bands.pool-events/1')
    expect(Object.keys(await json(`events AAPL ${LINE}`))[0]).toBe('ticker')
  })

  test('of none say so, and end as asked', async () => {
    const ran = await ask('events --all rsi_zone --band deep_oversold --after 2018-05-10 --fail-empty --json')
    expect([ran.code, JSON.parse(ran.out).events]).toEqual([3, []])
    expect(ran.err).toContain('none of 2 tickers became deep_oversold')
  })

  test.each([
    ['events', 2, 'FIELD is missing.'],
    ['events AAPL', 2, 'FIELD is missing.'],
    ['events rsi_zone', 2, 'TICKER is missing.'],
    ['events rsi_zone --tickers AAPL,XYZ', 3, 'XYZ'],
    ['events AAPL GSPC rsi_zone --limit 101 --tier pro', 2, '--limit "101" is not an integer from 1 to 100'],
    ['events AAPL GSPC rsi_zone --context GSPC:trend_direction', 2, 'names no band'],
    ['events AAPL GSPC pe_vs_sector --tier free', 4, 'pe_vs_sector needs the Pro tier'],
    ['events AAPL rsi_zone macd_state', 2, 'are two fields'],
    ['events --all AAPL rsi_zone', 2, 'AAPL is named, and every loaded ticker as well'],
    ['now --all --tickers AAPL', 2, 'AAPL is named, and every loaded ticker as well'],
  ])('bands %s is refused', async (line, code, said) => {
    const ran = await ask(line)
    expect([ran.code, ran.out]).toEqual([code, ''])
    expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(said)
  })
})

describe('bands show of several tickers', () => {
  test.each(['AAPL GSPC rsi_zone', 'rsi_zone --watch mine', 'rsi_zone --all'])(
    'bands show %s has for machines what each alone has',
    async line => {
      const found = await json(`show ${line} --after 2018-01-01`)
      const each = [
        await json('show AAPL rsi_zone --after 2018-01-01'),
        await json('show GSPC rsi_zone --after 2018-01-01'),
      ]
      expect(found).toMatchObject({ schema: 'bands.pool-show/1', tickers: ['AAPL', 'GSPC'], timelines: each })
      const rows = await rowsOf(`show ${line} --after 2018-01-01`)
      expect(rows).toHaveLength(each[0].bars.length + each[1].bars.length)
    },
  )

  test.each([40, 60, 80, 120, 200])(
    'draws a small picture of each that fits a terminal of %i columns',
    async terminal => {
      const { code, out } = await ask('show rsi_zone --all', { terminal })
      const lines = unpainted(out).split('\n')
      expect(code).toBe(0)
      expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(terminal)
      // Beside each other where there is room, and each letter told once.
      const names = lines.filter(line => /^(AAPL|GSPC) {2}\w/.test(line) && !line.includes('daily'))
      expect(names).toHaveLength(terminal < 75 ? 2 : 1)
      expect(lines.filter(line => /\bD neutral \d+/.test(line))).toHaveLength(1)
    },
  )
})
