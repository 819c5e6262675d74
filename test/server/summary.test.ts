import { describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { BandMeta, SnapshotPage, SnapshotsPage } from '../../src/core/model/pages.js'
import type { Tier } from '../../src/core/model/terms.js'
import { longNameOf, placeOf } from '../../src/core/params/places.js'
import { parsePool } from '../../src/core/params/questions.js'
import { grantedFields, PLANS } from '../../src/core/tiers.js'
import { now } from '../../src/research/tally/now.js'
import { tally } from '../../src/research/tally/tally.js'
import { firstInQuick } from '../support/full.js'
import { serve, serveFile } from '../support/serve.js'

const { ground, server } = await serveFile({ count: 3, bars: 1_500 })
const KEYS: Record<Tier, string> = {
  free: await server.key('free'),
  plus: await server.key('plus'),
  pro: await server.key('pro'),
}
const AT = '/v1/summary/SIM0001'

async function asked<Page = SnapshotPage>(search = '', tier: Tier = 'pro'): Promise<Page> {
  const { status, text } = await server.get(AT + search, KEYS[tier])
  expect(status, text).toBe(200)
  return JSON.parse(text)
}

function at(found: object, place: string): unknown {
  return place.split('.').reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], found)
}

describe('a snapshot', () => {
  it.each(['free', 'plus', 'pro'] as const)(
    'has the bands that now has, of the fields of the tier (%s)',
    async tier => {
      for (const timeframe of ['daily', 'weekly'] as const) {
        const page = await asked(`?timeframe=${timeframe}`, tier)
        const granted = grantedFields(tier, BUILT_IN_FIELDS).map(({ name }) => name)
        const { states } = await now(server.service.bands(tier), { tickers: ['SIM0001'], fields: granted, timeframe })
        for (const { field, band } of states) expect(at(page, placeOf(field)), field).toBe(band)
        for (const name of BUILT_IN_FIELDS.names.filter(field => !granted.includes(field)))
          expect(at(page, placeOf(name)), name).toBeUndefined()
        expect(JSON.stringify(page)).not.toContain('_meta')
      }
    },
  )

  it('says who the ticker is, and of which bar it is', async () => {
    const page = await asked()
    expect(page).toMatchObject({ ticker: 'SIM0001', timeframe: 'daily', data_status: 'eod', as_of_date: '2024-06-28' })
    const { json } = await server.get('/v1/ohlcv/SIM0001?limit=1', KEYS.free)
    const [{ date, ...bar }] = json().bars as [{ date: string }]
    expect([page.as_of_date, page.ohlcv]).toEqual([date, bar])
  })

  it('has the chosen places, as JSON or with commas', async () => {
    const chosen = '["trend","momentum.rsi_zone","ohlcv.close"]'
    const page = await asked(`?fields=${encodeURIComponent(chosen)}`)
    expect(page).toEqual(await asked('?fields=trend,momentum.rsi_zone,%20ohlcv.close'))
    expect(Object.keys(page.ohlcv!)).toEqual(['close'])
    expect(Object.keys(page.momentum as object)).toEqual(['rsi_zone'])
    expect(Object.keys(page.trend as object)).toEqual(['direction', 'ma_alignment'])
    expect(page.fundamentals).toBeUndefined()
  })

  it('has how settled bands are on request, and not on Free', async () => {
    const page = await asked('?meta=true')
    const { json } = await server.get('/v1/events?ticker=SIM0001&field=rsi_zone&limit=100', KEYS.pro)
    const events = json().events as { date: string }[]
    const meta = at(page, 'momentum.rsi_zone_meta') as BandMeta
    const { states } = await now(server.service.bands('pro'), {
      tickers: ['SIM0001'],
      fields: ['rsi_zone'],
      timeframe: 'daily',
    })
    expect(meta).toMatchObject({ timeframe: 'daily', flips_lookback: '30d' })
    expect(meta.periods_in_current_state).toBe(states[0]!.bars)
    const { snapshots } = await asked<SnapshotsPage>('?start=2024-04-01&fields=ohlcv.close')
    const since = snapshots.at(-30)!.as_of_date!
    expect(meta.flips_recent).toBe(events.filter(({ date }) => date >= since).length)
    expect(await asked('?fields=momentum.rsi_zone_meta')).toMatchObject({ momentum: { rsi_zone_meta: meta } })
    expect(JSON.stringify(await asked('?meta=true', 'free'))).not.toContain('_meta')
    expect(await asked('?meta=false')).toEqual(await asked())
  })

  it('knows on a past day nothing that came after it', async () => {
    const days = firstInQuick(['2023-08-31', '2022-02-20', '2020-01-02', '2024-06-28'], 2)
    for (const date of days) {
      const past = await serve(ground, { asOf: parseDay(date) })
      const key = await past.key('pro')
      for (const search of ['meta=true', 'meta=true&timeframe=weekly'])
        expect((await past.get(`${AT}?${search}`, key)).json()).toEqual(await asked(`?${search}&date=${date}`))
      await past.stop()
    }
  })
})

describe('several days', () => {
  it('have each bar as a snapshot of its own day has it', async () => {
    const page = await asked<SnapshotsPage>('?start=2024-05-01&end=2024-06-14&meta=true')
    expect(page.row_count).toBe(page.snapshots.length)
    expect([page.start, page.end, page.has_more]).toEqual(['2024-05-01', '2024-06-14', false])
    for (const snapshot of firstInQuick(page.snapshots, 4))
      expect(await asked(`?date=${snapshot.as_of_date}&meta=true`)).toMatchObject(snapshot)
  })

  it('come in parts, which together have each bar once', async () => {
    const dates: (string | null)[] = []
    for (let offset = 0, more = true; more; ) {
      const { snapshots, has_more, total_rows } = await asked<SnapshotsPage>(
        `?start=2023-01-01&fields=ohlcv.close&limit=73&offset=${offset}`,
      )
      dates.push(...snapshots.map(({ as_of_date }) => as_of_date))
      offset += snapshots.length
      more = has_more
      expect(offset === total_rows).toBe(!more)
    }
    const { json } = await server.get('/v1/ohlcv/SIM0001?start=2023-01-01&limit=1000&order=asc', KEYS.pro)
    expect(dates).toEqual((json().bars as { date: string }[]).map(({ date }) => date))
  })

  it('are spread evenly on request, the first and the last bar among them', async () => {
    const all = await asked<SnapshotsPage>('?start=2024-03-01&limit=100&fields=trend')
    const { snapshots, total_rows, has_more } = await asked<SnapshotsPage>(
      '?start=2024-03-01&sample=even&limit=5&fields=trend',
    )
    expect([total_rows, has_more, snapshots.length]).toEqual([all.total_rows, false, 5])
    expect([snapshots[0], snapshots[4]]).toEqual([all.snapshots[0], all.snapshots.at(-1)])
  })

  it('may be none', async () => {
    const { headers, json } = await server.get(`${AT}?start=2024-06-01&end=2024-05-01`, KEYS.pro)
    expect(json()).toMatchObject({ snapshots: [], row_count: 0, total_rows: 0, has_more: false })
    expect(headers['x-bands-note']).toBe('SIM0001 has no bar on those days.')
  })
})

describe('events', () => {
  it('are byte for byte those of /v1/events, by either name of the field', async () => {
    const search = 'band=oversold&limit=3&context_ticker=SIM0002&context_band=neutral'
    const events = await server.get(
      `/v1/events?ticker=SIM0001&field=rsi_zone&context_field=rsi_zone&${search}`,
      KEYS.pro,
    )
    for (const [field, context] of [
      ['rsi_zone', 'rsi_zone'],
      ['momentum_rsi_zone', 'momentum_rsi_zone'],
    ]) {
      const { text } = await server.get(`${AT}?field=${field}&context_field=${context}&${search}`, KEYS.pro)
      expect(text).toBe(events.text)
    }
    for (const field of BUILT_IN_FIELDS.names) {
      const { text } = await server.get(`${AT}?field=${longNameOf(field)}`, KEYS.pro)
      expect(text).toBe((await server.get(`/v1/events?ticker=SIM0001&field=${field}`, KEYS.pro)).text)
    }
  })

  it('have numbers on request, which are those of a tally', async () => {
    const page = await asked<Record<string, unknown>>('?field=momentum_rsi_zone&band=oversold&stats=true', 'plus')
    const pool = parsePool({ tickers: ['SIM0001'], field: 'rsi_zone', band: 'oversold' })
    const { by, groups, warnings, events, query_range } = await tally(server.service.bands('plus'), pool)
    expect(page).toEqual({
      ticker: 'SIM0001',
      field: 'rsi_zone',
      timeframe: 'daily',
      stats: JSON.parse(JSON.stringify({ by, groups, warnings })),
      total_occurrences: events,
      query_range,
    })
  })
})

describe('refusals', () => {
  it('name the parameter', async () => {
    const refusals: [string, string, string][] = [
      ['field=rsi_zone&date=2024-01-05', 'date', 'does not go with "field"'],
      ['band=oversold', 'band', 'without "field"'],
      ['end=2024-01-05', 'end', 'without "start"'],
      ['limit=5', 'limit', 'without "start"'],
      ['start=2024-01-05&date=2024-01-05', 'date', 'does not go with "start"'],
      ['start=2024-01-05&sample=even&offset=1', 'offset', 'does not go with "sample"'],
      ['fields=trend.direktion', 'fields', 'has no "trend.direktion"'],
      ['fields=%5B1%5D', 'fields', 'a JSON array of names'],
      ['meta=yes', 'meta', 'true or false'],
      ['field=rsi', 'field', 'rsi_zone'],
      ['date=2030-01-05', 'date', 'a date from'],
      ['start=1990-01-05', 'start', 'a date from'],
      ['ticker=SIM0002', 'ticker', 'there is no parameter'],
    ]
    for (const [search, param, words] of refusals) {
      const { status, json } = await server.get(`${AT}?${search}`, KEYS.pro)
      expect([status, json().param], search).toEqual([400, param])
      expect(JSON.stringify(json()), search).toContain(words.replaceAll('"', '\\"'))
    }
  })

  it('are by the tier: past days, fields, numbers', async () => {
    const old = formatDay(PLANS.plus.rangeStart(parseDay('2024-06-28')!) - 5)
    const refusals: [string, Tier, Tier][] = [
      ['date=2024-06-03', 'free', 'plus'],
      ['start=2024-06-03', 'free', 'plus'],
      [`date=${old}`, 'plus', 'pro'],
      [`start=${old}`, 'plus', 'pro'],
      ['fields=fundamentals', 'free', 'plus'],
      ['fields=fundamentals.insider_activity', 'plus', 'pro'],
      ['fields=trend,fundamentals.pe_vs_sector_zone', 'plus', 'pro'],
      ['field=fundamentals_valuation_zone', 'free', 'plus'],
      ['field=rsi_zone&stats=true', 'free', 'plus'],
    ]
    for (const [search, tier, required] of refusals) {
      const { status, json } = await server.get(`${AT}?${search}`, KEYS[tier])
      expect([status, json().required_tier], search).toEqual([403, required])
    }
    expect((await asked('?fields=fundamentals', 'plus')).fundamentals).not.toHaveProperty('pe_vs_sector_zone')
  })
})
