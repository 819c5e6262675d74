import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { openBands, openRemote } from '../src/app/client.js'
import { emptyNote } from '../src/core/empty.js'
import { BUILT_IN_FIELDS, FIELDS } from '../src/core/fields/index.js'
import { parseDay } from '../src/core/model/day.js'
import type { EventsParams } from '../src/core/params/questions.js'
import { noEventsReason } from '../src/core/source.js'
import { barsToCsv, simulatedTicker } from '../src/data/simulate/simulate.js'
import { scratch, typed } from './cli/support/run.js'
import { type Served, serve } from './support/serve.js'

/**
 * SIM0001 and SIM0002 have facts; SIM0008 has ten bars; those of SIM0009, without facts, ended four years before. MUTE has
 * no volumes, and of facts only ratings.
 */
const folder = scratch()
const db = folder.file('bands.db')
const ask = (line: string) => typed(line, { env: { BANDS_DB: db } })

let server: Served
const keys: Record<string, string> = {}
beforeAll(async () => {
  await ask('simulate 2 --bars 600 --seed 3 --end 2024-06-28 --load')
  for (const [index, bars, end] of [
    [8, 10, '2024-06-28'],
    [9, 300, '2020-06-26'],
  ] as const) {
    const ticker = simulatedTicker(index, { count: 9, bars, seed: 5, end: parseDay(end)! })
    writeFileSync(folder.file(`${index}.csv`), [...barsToCsv([ticker])].join(''))
  }
  expect((await ask(`import ${folder.file('8.csv')} ${folder.file('9.csv')}`)).code).toBe(0)
  const mute = simulatedTicker(7, { count: 9, bars: 400, seed: 5, end: parseDay('2024-06-28')! })
  const lines = [...barsToCsv([mute])].join('').trimEnd().split('\n')
  const volume = lines[0]!.split(',').indexOf('volume')
  const silent = lines.map(line =>
    line
      .split(',')
      .filter((_, column) => column !== volume)
      .join(','),
  )
  writeFileSync(folder.file('MUTE.csv'), silent.join('\n').replaceAll(mute.ticker, 'MUTE'))
  const counts = { strong_buy: 5, buy: 5, hold: 1, sell: 0, strong_sell: 0 }
  const ratings = { ticker: 'MUTE', kind: 'ratings', known: '2024-01-05', ...counts }
  writeFileSync(folder.file('ratings.csv'), [Object.keys(ratings), Object.values(ratings)].join('\n'))
  expect((await ask(`import ${folder.file('MUTE.csv')}`)).code).toBe(0)
  expect((await ask(`import ${folder.file('ratings.csv')}`)).err).toBe('')
  server = await serve({ db, remove: () => {} })
  for (const tier of ['free', 'pro'] as const) keys[tier] = await server.key(tier)
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const RSI = { ticker: 'SIM0001', field: 'rsi_zone' }

/** A question, and the sentence that says why it is empty. */
const CASES: [why: string, params: EventsParams, sentence: RegExp][] = [
  [
    'there are no facts',
    { ticker: 'SIM0009', field: 'growth_zone' },
    /^growth_zone uses dated facts, and none are loaded for SIM0009; .*import/,
  ],
  [
    'the bars are too few',
    { ticker: 'SIM0008', field: 'rsi_zone' },
    /^SIM0008 has no daily rsi_zone yet by 2024-06-28: 10 bars are too few\./,
  ],
  [
    'the bars have no volumes',
    { ticker: 'MUTE', field: 'volume_ratio_band' },
    /^MUTE has no daily volume_ratio_band yet by 2024-06-28: none of its bars has a volume\./,
  ],
  [
    'facts of another kind are there alone',
    { ticker: 'MUTE', field: 'valuation_zone' },
    /^MUTE has no daily valuation_zone on any bar by 2024-06-28\./,
  ],
  [
    'no day lies between',
    { ...RSI, after: '2024-02-01', before: '2024-01-01' },
    /^no day .*lies after 2024-02-01 and before 2024-01-01\.$/,
  ],
  [
    'the bars end before',
    { ticker: 'SIM0009', field: 'rsi_zone', after: '2021-01-01' },
    /^the bars of SIM0009 end on 2020-06-26, and none lies after 2021-01-01\.$/,
  ],
  [
    'the dates lie beyond all bars',
    { ...RSI, after: '2025-01-01' },
    /^the bars of SIM0001 end on 2024-06-28, and none lies after 2025-01-01\.$/,
  ],
  [
    'the bars begin after',
    { ...RSI, before: '2021-01-01' },
    /^the bars of SIM0001 begin on 2022-03-\d\d, and none lies before 2021-01-01\.$/,
  ],
  [
    'no such band ever came',
    { ...RSI, band: 'NEVER' },
    /^SIM0001's daily rsi_zone (never became deep_\w+|did not become deep_\w+ in 5y \(.*\)); it became .*neutral.*\.$/,
  ],
  [
    'all lie outside of the dates',
    { ...RSI, band: 'neutral', after: '2024-06-27' },
    /^SIM0001's daily rsi_zone became neutral \d+ times, but not after 2024-06-27; the nearest on 20\d\d-\d\d-\d\d\.$/,
  ],
  [
    'the context was in other bands',
    { ...RSI, band: 'neutral', context_ticker: 'SIM0002', context_field: 'rsi_zone', context_band: 'NEVER' },
    /^on none of the \d+ dates on which SIM0001's daily rsi_zone became neutral was SIM0002's rsi_zone deep_\w+; it was .*neutral/,
  ],
  [
    'the context had no band yet',
    { ...RSI, context_ticker: 'SIM0008', context_field: 'trend_direction', context_band: 'uptrend' },
    /^SIM0008's trend_direction had not changed yet by the \d+ dates on which SIM0001's daily rsi_zone changed/,
  ],
  [
    'the context has no facts',
    { ...RSI, context_ticker: 'SIM0009', context_field: 'growth_zone', context_band: 'stable' },
    /^growth_zone uses dated facts, and none are loaded for SIM0009/,
  ],
]

/** A band of rsi_zone that a ticker never entered. */
async function unseen(ticker: string): Promise<string> {
  const bands = await openBands({ db })
  const { events } = await bands.history({ ticker, field: 'rsi_zone' })
  await bands.close()
  const seen = new Set(events.map(event => event.band))
  return BUILT_IN_FIELDS.named('rsi_zone')!.bands.find(band => band.startsWith('deep') && !seen.has(band))!
}

async function filled(params: EventsParams): Promise<EventsParams> {
  const never = (ticker: string, band: unknown) => (band === 'NEVER' ? unseen(ticker) : band)
  const { band, context_band, ...others } = params
  const named = {
    band: await never(params.ticker, band),
    context_band: await never(params.context_ticker ?? '', context_band),
  }
  return {
    ...others,
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
  } as EventsParams
}

describe.each(CASES)('where %s', (_, given, sentence) => {
  it('the command line says so on standard error, and the page stays as it is specified', async () => {
    const { ticker, field, context_ticker, context_field, context_band, ...others } = await filled(given)
    const context =
      context_ticker === undefined ? {} : { context: `${context_ticker}:${context_field}=${context_band}` }
    const options = Object.entries({ ...others, ...context }).map(
      ([name, value]) => `--${name.replaceAll('_', '-')} ${value}`,
    )
    const { code, out, err } = await ask(`events ${ticker} ${field} ${options.join(' ')} --json`)
    expect(code).toBe(0)
    expect(
      err
        .replace(/^No event: /, '')
        .replace('bands import FILE', 'import')
        .replace(/ bands explain .*\n/, '')
        .trimEnd(),
    ).toMatch(sentence)
    const { context: _context, ...page } = JSON.parse(out)
    expect(page).toEqual({ ticker, field, timeframe: 'daily', events: [], total_occurrences: 0, query_range: 'all' })
  })

  it('a program finds it in the notes, and a caller in a header', async () => {
    const params = await filled(given)
    const bands = await openBands({ db })
    const found = await bands.events(params)
    const history = given.band === undefined ? null : await bands.history(params)
    expect(found.notes[0]).toMatch(sentence)
    if (history !== null) expect(history.notes).toEqual(found.notes)
    await bands.close()
    const search = new URLSearchParams(
      Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const { status, headers, json } = await server.get(`/v1/events?${search}`, keys.pro)
    expect(status).toBe(200)
    expect(headers['x-bands-note']).toMatch(sentence)
    expect(Object.keys(json())).not.toContain('notes')
    const remote = await openRemote({ url: server.url, key: keys.pro!, allowPlainHttp: true })
    expect((await remote.events(params)).notes).toEqual([headers['x-bands-note']])
    await remote.close()
  })
})

test('of what a tier does not reach nothing is told, not even whether it is there', async () => {
  const { headers } = await server.get('/v1/events?ticker=SIM0009&field=rsi_zone', keys.free)
  expect(headers['x-bands-note']).toBe('no bar of SIM0009 lies in 90d (2024-03-31 to 2024-06-28).')
  const whole = await openBands({ db })
  const free = await openBands({ db, tier: 'free' })
  const never: string[] = []
  const before: string[] = []
  for (const { name: field, bands } of FIELDS.filter(({ tier }) => tier === 'free')) {
    const { events: within } = await free.history({ ticker: 'SIM0001', field })
    const seen = bands.filter(band => within.some(event => event.band === band))
    const instead = seen.length === 0 ? '' : `; it became ${seen.join(', ').replace(/, (?=\w+$)/, ' and ')}`
    for (const band of bands.filter(band => !seen.includes(band))) {
      const question = { ticker: 'SIM0001', field, band }
      const { events } = await whole.history(question)
      const told = events.length === 0 ? never : before
      told.push(`${field} ${band}`)
      expect((await free.events(question)).notes).toEqual([
        `SIM0001's daily ${field} did not become ${band} in 90d (2024-03-31 to 2024-06-28)${instead}.`,
      ])
    }
  }
  expect([never.length > 1, before.length > 3]).toEqual([true, true])
  await Promise.all([whole.close(), free.close()])
})

test('an answer that is not empty has no note', async () => {
  expect(
    (await server.get('/v1/events?ticker=SIM0001&field=rsi_zone', keys.pro)).headers['x-bands-note'],
  ).toBeUndefined()
  const bands = await openBands({ db })
  expect((await bands.events(RSI)).notes).toEqual([])
  expect((await bands.tally({ tickers: ['SIM0001'], field: 'rsi_zone' })).notes).toEqual([])
  await bands.close()
})

test('counts of several tickers, and scans, say so, too', async () => {
  const bands = await openBands({ db })
  const tally = await bands.tally({ tickers: ['SIM0001', 'SIM0002'], field: 'rsi_zone', after: '2024-06-27' })
  expect(tally.notes).toEqual(
    tally.events > 0 ? [] : ['none of 2 tickers changed its rsi_zone after 2024-06-27, as of 2024-06-28.'],
  )
  const none = await bands.tally({ tickers: ['SIM0001', 'SIM0009'], field: 'rsi_zone', before: '2019-01-01' })
  expect(none.notes).toEqual(['the bars of the 2 tickers begin on 2019-04-30, and none lies before 2019-01-01.'])
  const scan = '/v1/scan/oversold?asset_class=crypto'
  const { headers } = await server.get(scan, keys.pro)
  expect(headers['x-bands-note']).toMatch(/^no ticker here that the filters let through .* on 2024-06-28; /)
  const env = { BANDS_REMOTE: server.url, BANDS_API_KEY: keys.pro! }
  expect((await typed('scan oversold --filter "class crypto"', { env })).err).toBe(
    `No match: ${headers['x-bands-note']}\n`,
  )
  expect((await typed('events SIM0008 rsi_zone', { env })).err).toBe(
    'No event: SIM0008 has no daily rsi_zone yet by 2024-06-28: 10 bars are too few.\n',
  )
  expect((await bands.oversold({ asset_class: 'crypto' })).notes[0]).toMatch(/^no ticker here/)
  await bands.close()
})

test('of several tickers it is said in which range none has an event', async () => {
  const bands = await openBands({ db, tier: 'plus' })
  const asked = { tickers: ['SIM0008', 'SIM0009'], field: 'rsi_zone' }
  const sentence = 'none of 2 tickers changed its rsi_zone in 2y, as of 2024-06-28.'
  expect((await bands.tally(asked)).notes).toEqual([sentence])
  await bands.close()
  for (const command of ['tally', 'transitions']) {
    const { err } = await ask(`${command} SIM0008,SIM0009 rsi_zone --tier plus`)
    expect(err, command).toContain(`No event: ${sentence}\n`)
  }
})

test('a source that only knows events names the days of its range that a question covers', () => {
  const why = noEventsReason({ query_range: '90d', after: '2024-03-30', as_of: '2024-06-28' })
  const question = { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'daily' } as const
  const days = (bounds: { after?: number; before?: number }) =>
    /\((.*)\)/.exec(String(emptyNote(why, { ...question, ...bounds }).reason))?.[1]
  expect(days({})).toBe('2024-03-31 to 2024-06-28')
  expect(days({ after: parseDay('2024-03-30')! })).toBe('2024-03-31 to 2024-06-28')
  expect(days({ after: parseDay('2024-04-15')!, before: parseDay('2024-05-15')! })).toBe('2024-04-16 to 2024-05-14')
})
