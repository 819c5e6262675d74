import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { notInQuick } from '../support/full.js'
import { bundledBars, typed, unpainted } from './support/run.js'

const { folder, ask } = bundledBars()

describe('bands events', () => {
  test('draws one line an event on a terminal, with signs', async () => {
    const { out, err } = await ask('events AAPL rsi_zone --band oversold --limit 3', { terminal: 80 })
    expect(unpainted(out)).toBe(
      [
        'AAPL  rsi_zone = oversold  daily   10 events in all, newest 3   as of 2018-05-11',
        '',
        'DATE        FROM         STABILITY  FLIPS  HELD  5d   10d  20d  50d  100d',
        '2018-02-08  neutral_low  volatile   6/30d    1d  +++  +++  +++  =    ..',
        '2018-02-02  neutral_low  volatile   6/30d    2d  --   ++   ++   +    ..',
        '2016-11-14  neutral_low  volatile   6/30d    1d  ++   ++   ++   ++   ++',
        '',
      ].join('\n'),
    )
    expect(unpainted(err)).toBe(
      [
        '',
        "--- worst 5% to +++ best 5% of AAPL's own past; .. open, ? too little past",
        '7 older: --limit 10',
        'next: bands tally AAPL rsi_zone --band oversold',
        '',
      ].join('\n'),
    )
  })

  test('names a next line that asks the same source, day and range', async () => {
    const typedOptions = '--as-of 2017-01-01 --after=2014-01-01 --timeframe daily --db sample'
    const { err } = await ask(`events AAPL rsi_zone --band oversold ${typedOptions} --limit 1`, { terminal: 80 })
    const [, next] = /^next: bands (.*)$/m.exec(unpainted(err))!
    expect(next).toBe(`tally AAPL rsi_zone --band oversold ${typedOptions}`)
    const { err: after, code } = await ask(next!, { terminal: 80 })
    expect(code).toBe(0)
    expect(unpainted(after)).toContain(`next: bands study AAPL rsi_zone --band oversold ${typedOptions}`)
  })

  test('distinguishes an open window from one without history', async () => {
    const oldest = await ask('events AAPL rsi_zone --band oversold --before 2014-01-01 --wide', { terminal: 140 })
    expect(oldest.out).toContain('no_history')
    const newest = await ask('events AAPL rsi_zone --limit 1 --wide', { terminal: 140 })
    expect(newest.out).toContain('pending')
  })

  test('prints with --json the keys of the specification in their order', async () => {
    const context = '--context GSPC:trend_direction=uptrend'
    const { out } = await ask(`events AAPL rsi_zone --limit 1 ${context} --json`)
    const page = JSON.parse(out)
    const keys = ['ticker', 'field', 'timeframe', 'events', 'total_occurrences', 'query_range', 'context']
    expect(Object.keys(page)).toEqual(keys)
    expect(Object.keys(page.events[0])).toEqual([
      ...['date', 'band', 'prev_band', 'stability_at_entry', 'flips_recent_at_entry', 'flips_lookback'],
      ...['duration_days', 'aftermath'],
    ])
    expect(page.context).toEqual({ ticker: 'GSPC', field: 'trend_direction', band: 'uptrend' })
    expect(out.split('\n')).toHaveLength(2)
  })

  test('has every event in CSV and in NDJSON without a limit', async () => {
    const { total_occurrences: total } = JSON.parse((await ask('events AAPL rsi_zone --json')).out)
    expect(total).toBeGreaterThan(100)
    const lines = async (line: string) => (await ask(`events AAPL rsi_zone ${line}`)).out.trimEnd().split('\n').length
    expect([await lines('--csv'), await lines('--ndjson')]).toEqual([total + 1, total])
    expect([await lines('--csv --limit 3'), await lines('--ndjson --limit 3')]).toEqual([4, 3])
  })

  test('says on standard error what a pipe leaves out', async () => {
    const left = /^\d+ older events are left out: --limit \d+ shows them\.\n$/
    for (const line of ['', '--csv --limit 10', '--ndjson --limit 10'])
      expect((await ask(`events AAPL rsi_zone ${line}`)).err, line).toMatch(left)
    expect((await ask('events AAPL rsi_zone --band oversold --limit 9')).err).toBe(
      '1 older event is left out: --limit 10 shows them.\n',
    )
    expect((await ask('events AAPL rsi_zone --tier pro')).err).toMatch(
      /^\d+ older events are left out: --limit 100 shows more, --csv all\.\n$/,
    )
    const { out, err } = await ask('events AAPL rsi_zone --tier pro --limit 100')
    const oldest = out.trimEnd().split('\n').at(-1)!.slice(0, 10)
    expect(err).toMatch(
      new RegExp(`^\\d+ older events are left out: --before ${oldest} shows more, --csv without --limit all\\.\\n$`),
    )
    const drawn = await ask('events AAPL rsi_zone --tier pro --limit 100', { terminal: 100 })
    expect(unpainted(drawn.err)).toContain(` older: --before ${oldest}\n`)
    for (const line of ['--csv', '--limit 10 --quiet', '--band oversold --limit 10', '--json'])
      expect((await ask(`events AAPL rsi_zone ${line}`)).err, line).toBe('')
  })

  test('leaves out what Free does not show', async () => {
    const page = JSON.parse((await ask('events AAPL rsi_zone --tier free --json')).out)
    expect(page.query_range).toBe('90d')
    expect(Object.keys(page.events[0])).toEqual(['date', 'band', 'prev_band', 'duration_days', 'aftermath'])
    expect(page.events[0].aftermath).toBeNull()
    const { out, err } = await ask('events AAPL rsi_zone --tier free', { terminal: 80 })
    expect(out).not.toMatch(/STABILITY|100d/)
    expect(err).toContain('Stability, flips and returns come with the Plus tier')
  })

  test('adds exact returns when asked, in every form', async () => {
    const line = 'events AAPL rsi_zone --band oversold --limit 1 --returns'
    expect(JSON.parse((await ask(`${line} --json`)).out).events[0].returns['5d']).toBeCloseTo(0.12, 2)
    expect(JSON.parse((await ask(`${line} --ndjson`)).out).returns['100d']).toBeNull()
    expect((await ask(`${line} --csv`)).out).toMatch(/,returns_5d,returns_10d,returns_20d,returns_50d,returns_100d\n/)
    expect((await ask(line, { terminal: 120 })).out).toContain('+++ +12.0%')
  })

  test('agrees with itself in all forms', async () => {
    const line = 'events AAPL accumulation_state --timeframe weekly --limit 100'
    const page = JSON.parse((await ask(`${line} --json`)).out)
    const lines = (await ask(`${line} --ndjson`)).out
      .trimEnd()
      .split('\n')
      .map(text => JSON.parse(text))
    const { ticker, field, timeframe } = page
    expect(lines).toEqual(page.events.map((event: object) => ({ ticker, field, timeframe, ...event })))
    const [header = '', ...rows] = (await ask(`${line} --csv`)).out.trimEnd().split('\n')
    expect(header.split(',')).toContain('duration_weeks')
    expect(rows.map(row => row.split(',')[3])).toEqual(page.events.map((event: { date: string }) => event.date))
    const [, ...plain] = (await ask(line)).out.trimEnd().split('\n')
    expect(plain.map(row => row.slice(0, 10))).toEqual(page.events.map((event: { date: string }) => event.date))
  })

  test('finds the events of several bands, as every question that takes one does', async () => {
    type Found = { date: string; band: string }
    const dated = async (band: string): Promise<Found[]> =>
      JSON.parse((await ask(`events AAPL rsi_zone --band ${band} --limit all --json`)).out).events
    const both = await dated('overbought,deep_overbought')
    const each = [...(await dated('overbought')), ...(await dated('deep_overbought'))]
    expect(both).toEqual(each.sort((a, b) => (a.date < b.date ? 1 : -1)))
    expect(await dated('deep_overbought --band overbought')).toEqual(both)
    const { out } = await ask('events AAPL rsi_zone --band overbought,deep_overbought', { terminal: 120 })
    expect(unpainted(out)).toMatch(/^AAPL {2}rsi_zone = overbought or deep_overbought {2}daily .*\n\nDATE +BAND +FROM /)
    const tally = JSON.parse((await ask('tally AAPL rsi_zone --band deep_overbought,overbought --json')).out)
    expect([tally.events, tally.band, tally.by]).toEqual([both.length, 'overbought,deep_overbought', null])
    const bars = (await ask('show AAPL rsi_zone --band overbought,deep_overbought --ndjson')).out.trim().split('\n')
    expect(bars.filter(bar => JSON.parse(bar).event)).toHaveLength(both.length)
    const study = JSON.parse((await ask('study AAPL rsi_zone --band overbought,deep_overbought --json')).out)
    expect(study.bands).toEqual(['overbought', 'deep_overbought'])
  })

  test('names the band of several that is wrong, and the line that was meant', async () => {
    for (const line of ['events AAPL rsi_zone --band', 'tally AAPL rsi_zone --band', 'show AAPL rsi_zone --band']) {
      const { code, err } = await ask(`${line} oversold,overboght`)
      expect(code).toBe(2)
      expect(err).toContain('rsi_zone has no band "overboght". Did you mean "overbought"?')
      expect(err).toContain(`try:   bands ${line} oversold,overbought\n`)
    }
  })

  test('takes tickers in any case and options before the command', async () => {
    const plain = await ask('events AAPL rsi_zone --csv')
    expect((await ask('--csv events aapl rsi_zone')).out).toBe(plain.out)
    expect((await ask('--output=csv events rsi_zone', {})).code).toBe(2)
    expect((await ask('events --csv AAPL rsi_zone')).out).toBe(plain.out)
  })

  test('asks as of a day', async () => {
    const then = await ask('events AAPL rsi_zone --as-of 2016-01-06 --limit 1', { terminal: 120 })
    expect(then.out).toContain('as of 2016-01-06')
    expect(then.out).toContain('2016-01-05')
    const byVariable = await ask('events AAPL rsi_zone --limit 1', {
      terminal: 120,
      env: { BANDS_AS_OF: '2016-01-06' },
    })
    expect(byVariable.out).toBe(then.out)
  })

  test('gives no hints when no person reads them', async () => {
    expect((await ask('events AAPL rsi_zone --band oversold')).err).toBe('')
    expect((await ask('events AAPL rsi_zone -q', { terminal: 80 })).err).toBe('')
    expect((await ask('events AAPL rsi_zone --csv', { terminal: 80 })).err).toBe('')
  })
})

describe('the sample', () => {
  test('answers while there is no database, and says so on stderr', async () => {
    const ran = await typed('events AAPL rsi_zone --band oversold --json', { env: { HOME: folder.file('nobody') } })
    expect(ran.code).toBe(0)
    expect(JSON.parse(ran.out).total_occurrences).toBe(10)
    expect(ran.err).toBe('sample data, 10 tickers to 2018-05-11; load your own: bands import FILE.csv\n')
  })

  test('answers by its name when there is a database, and nothing changes it', async () => {
    const home = { env: { HOME: folder.file('somebody') } }
    await typed('simulate 1 --bars 60 --load', home)
    const missing = await typed('events AAPL rsi_zone --band oversold', home)
    expect(missing.err).toMatch(/try: +bands events AAPL rsi_zone --band oversold --db sample\n$/)
    const ran = await typed('events AAPL rsi_zone --band oversold --json --db sample', home)
    expect(JSON.parse(ran.out).total_occurrences).toBe(10)
    const refused = await typed('remove AAPL --db sample', home)
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('this command does not use the bundled sample'),
    ])
  })

  notInQuick('answers the demo even when there is a database, and for a machine leaves no file', async () => {
    const db = folder.file('other.db')
    await ask(`simulate 1 --bars 60 --load --db ${db}`)
    const shown = JSON.parse((await ask(`demo --json --db ${db}`)).out)
    expect(shown.events.ticker).toBe('AAPL')
    expect(shown.study.tickers).toEqual(['GSPC'])
    expect(existsSync('bands-demo.html')).toBe(false)
  })

  notInQuick('leaves the report of the demo for a person, and ends with three things to try', async () => {
    const file = folder.file('demo.html')
    const { out, err } = await typed(`demo --report ${file}`, { terminal: 80 })
    for (const line of ['$ bands events AAPL', '$ bands tally AAPL', '$ bands study GSPC']) expect(out).toContain(line)
    expect(readFileSync(file, 'utf8')).toContain('<svg')
    expect(err.replace(/\s+/g, ' ')).toContain(`wrote the report to ${file}`)
    expect(unpainted(err)).toMatch(
      /three things to try:\n +bands now SIM0001\n +bands sweep .*\n +bands import FILE.csv\n/,
    )
  })
})
