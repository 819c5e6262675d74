import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openLocal, openRemote } from '../../src/app/open/database.js'
import { eventsOnBars } from '../../src/app/remote/events-on-bars.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { EventHistory } from '../../src/core/model/event.js'
import { historyOf } from '../../src/core/model/history.js'
import { STABILITIES, UNDEFINED } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES, type Tier } from '../../src/core/model/terms.js'
import { ANY_EVENT, type EventFilter } from '../../src/core/params/studies.js'
import type { PricedSource, Source } from '../../src/core/source.js'
import { grantedFields, PLANS } from '../../src/core/tiers.js'
import { Local } from '../../src/data/local/local.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { firstInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'
import { barsIn, signalsFor, sourceOf, statesIn } from '../support/source.js'
import { temporaryFolder } from '../support/store.js'

const TODAY = parseDay('2024-06-28')!

const PLENTY = { day: 1_000_000, hour: 1_000_000 }
const CREDITS = { free: PLENTY, plus: PLENTY, pro: PLENTY }
const { ground, server } = await serveFile({ count: 2, bars: 1_500, credits: CREDITS })

async function remoteAs(tier: Tier): Promise<Source> {
  const remote = await openRemote({ url: server.url, key: await server.key(tier), fields: FIELDS })
  onTestFinished(() => remote.close())
  return remote
}

async function localAs(tier: Tier): Promise<Local> {
  const { local } = await openLocal({ db: ground.db, tier })
  onTestFinished(() => local.close())
  return local
}

/** All of it. */
async function pricesHere(): Promise<PricedSource> {
  return await localAs('pro')
}

function filterOf(
  field: string,
  timeframe: EventFilter['timeframe'] = 'daily',
  more: Partial<EventFilter> = {},
): EventFilter {
  return { field, timeframe, ...ANY_EVENT, ...more }
}

describe('bands and events of a real server, on the same bars here', () => {
  it.each(firstInQuick(['plus', 'pro'] as const))(
    'with a %s key give the signals that the local engine gives as that tier',
    async tier => {
      const told = eventsOnBars(await remoteAs(tier), await pricesHere())
      const here = await localAs(tier)
      let events = 0
      for (const ticker of ['SIM0001', 'SIM0002'])
        for (const timeframe of TIMEFRAME_NAMES)
          for (const { name } of grantedFields(tier, BUILT_IN_FIELDS)) {
            // Whose first transition was before the range: of one within, nobody tells that none was before it.
            const context = { ticker: 'SIM0002', field: 'rsi_zone', bands: null, lag: 1 } as const
            for (const filter of [filterOf(name, timeframe), filterOf(name, timeframe, { max_flips: 3, context })]) {
              const theirs = await signalsFor(told, ticker, filter)
              const ours = await signalsFor(here, ticker, filter)
              expect(theirs.signals, `${tier} ${ticker} ${timeframe} ${name}`).toEqual(ours.signals)
              expect([theirs.states.from, theirs.states.to]).toEqual([ours.states.from, ours.states.to])
              events += theirs.signals.bars.length
            }
          }
      expect(events).toBeGreaterThan(1_000)
      expect(await told.asOfDay()).toBe(TODAY)
      expect(told.remarks()[0]).toBe(
        `Bands and events are as received, of dates after ${formatDay(PLANS[tier].rangeStart(TODAY))} up to 2024-06-28; bars are those of the database here.`,
      )
      expect(told.remarks().join(' ')).not.toContain('left out')
    },
  )

  it('have the band of each bar of the range, except bars without a band, which are unknown', async () => {
    const told = eventsOnBars(await remoteAs('pro'), await pricesHere())
    const here = await localAs('pro')
    for (const field of ['rsi_zone', 'support_status']) {
      const theirs = await statesIn(told, 'SIM0001', field, 'daily')
      const ours = await statesIn(here, 'SIM0001', field, 'daily')
      for (let t = 0; t < ours.codes.length; t++) {
        if (t < ours.from) expect(theirs.codes[t]).toBe(UNDEFINED)
        else if (ours.codes[t] !== UNDEFINED) expect(theirs.codes[t]).toBe(ours.codes[t])
      }
    }
  })

  it('of a Free key have no stability and no flips, and that is said', async () => {
    const told = eventsOnBars(await remoteAs('free'), await pricesHere())
    const { signals } = await signalsFor(told, 'SIM0001', filterOf('volume_ratio_band'))
    expect(signals.bars.length).toBeGreaterThan(0)
    for (const column of [signals.stability, signals.flips]) expect(new Set(column)).toEqual(new Set([UNDEFINED]))
    expect(told.remarks()).toContain('This key does not give stability and flips of events.')
    const asked = signalsFor(told, 'SIM0001', filterOf('volume_ratio_band', 'daily', { stability: ['fresh'] }))
    await expect(asked).rejects.toMatchObject({ code: 'tier_restricted' })
    await expect(statesIn(told, 'SIM0001', 'valuation_zone', 'daily')).rejects.toMatchObject({
      code: 'tier_restricted',
    })
  })

  it('are refused of a ticker that the server has not, and of one without bars here', async () => {
    const bare = openSqlite(join(temporaryFolder(), 'bands.db'), { readonly: false })
    onTestFinished(() => bare.close())
    const told = eventsOnBars(await remoteAs('pro'), new Local(bare, 'pro', null))
    await expect(statesIn(told, 'NONE', 'rsi_zone', 'daily')).rejects.toThrow('NONE')
    await expect(statesIn(told, 'SIM0001', 'rsi_zone', 'daily')).rejects.toThrow('no bars for "SIM0001"')
    expect(await told.withBars()).toEqual([])
  })
})

describe('events on other bars than those they were made of', () => {
  it('lose what has no bar on its date, which is counted and said', async () => {
    const prices = await pricesHere()
    const { series } = await barsIn(prices, 'SIM0001', 'daily')
    const days = [3, 4, 8].map(back => formatDay(series.days.at(-back)!))
    const saturday = formatDay(parseDay('2024-06-22')!)
    const told = eventsOnBars(
      tells({
        events: [
          ['2010-01-04', 'neutral'],
          [days[2]!, 'oversold'],
          [saturday, 'neutral'],
          ['2024-07-05', 'oversold'],
        ],
      }),
      prices,
    )
    const { signals, states } = await signalsFor(told, 'SIM0001', filterOf('rsi_zone'))
    expect([...signals.bars]).toEqual([series.days.length - 8])
    expect(told.remarks()).toContain(
      '3 of 4 events are left out, because there is no bar here on their date (1 before the first bar, 1 after the last, 1 between two): SIM0001.',
    )
    // A change on a day without a bar shows on the next one.
    const code = (back: number): string => states.bands[states.codes.at(-back)!]!
    expect([code(9), code(8), code(6), code(5), code(1)]).toEqual([
      'neutral',
      'oversold',
      'oversold',
      'neutral',
      'neutral',
    ])
  })

  it('have no band outside a known range, and none before the first event of an unknown one', async () => {
    const prices = await pricesHere()
    const { days } = (await barsIn(prices, 'SIM0001', 'daily')).series
    const early = formatDay(days.at(-100)!)
    const late = formatDay(days.at(-20)!)
    const events: Tellable['events'] = [[formatDay(days.at(-50)!), 'oversold']]
    const bounded = await statesIn(
      eventsOnBars(tells({ events, after: early, as_of: late }), prices),
      'SIM0001',
      'rsi_zone',
      'daily',
    )
    expect([bounded.from, bounded.to]).toEqual([days.length - 99, days.length - 19])
    const shown = Array.from(bounded.codes, code => (code === UNDEFINED ? null : bounded.bands[code]!))
    expect(shown.slice(-101, -98)).toEqual([null, null, 'prior'])
    expect(shown.slice(-51, -49)).toEqual(['prior', 'oversold'])
    expect(shown.slice(-21)).toEqual(['oversold', 'oversold', ...new Array(19).fill(null)])
    expect(bounded.earlier).toEqual({
      band: bounded.bands.indexOf('prior'),
      since: parseDay(early)! + 1,
      known: parseDay(early)! + 1,
    })
    const open = await statesIn(eventsOnBars(tells({ events }), prices), 'SIM0001', 'rsi_zone', 'daily')
    expect([open.from, open.to]).toEqual([days.length - 50, days.length - 49])
    expect(open.earlier).toBeUndefined()
  })

  it('without any event are in the reported band in force, or in none', async () => {
    const prices = await pricesHere()
    const { days } = (await barsIn(prices, 'SIM0001', 'daily')).series
    const range = { events: [], after: formatDay(days.at(-100)!), as_of: formatDay(days.at(-1)!) }
    const bands = async (present: EventHistory['present']) => {
      const { codes, bands } = await statesIn(
        eventsOnBars(tells({ ...range, present }), prices),
        'SIM0001',
        'rsi_zone',
        'daily',
      )
      return new Set(Array.from(codes.subarray(-99), code => bands[code] ?? null))
    }
    const present = { band: 'neutral', since: null, bars: null, initial: false }
    expect(await bands(present)).toEqual(new Set(['neutral']))
    expect(await bands({ ...present, since: formatDay(days.at(-10)!), initial: true })).toEqual(
      new Set([null, 'neutral']),
    )
    expect(await bands(null)).toEqual(new Set([null]))
  })

  it('match no context on unknown dates', async () => {
    const prices = await pricesHere()
    const { days } = (await barsIn(prices, 'SIM0001', 'daily')).series
    const on = (back: number): string => formatDay(days.at(-back)!)
    const main = tells({
      events: [
        [on(90), 'neutral'],
        [on(60), 'oversold'],
        [on(30), 'neutral'],
        [on(5), 'oversold'],
      ],
    })
    const other = tells({ events: [[on(40), 'high']], after: on(70), as_of: on(10) })
    const both: Source = {
      ...main,
      histories: query => (query.tickers.includes('SIM0001') ? main : other).histories(query),
    }
    const context = { ticker: 'SIM0002', field: 'volume_ratio_band', bands: null, lag: 0 } as const
    const { signals } = await signalsFor(
      eventsOnBars(both, prices),
      'SIM0001',
      filterOf('rsi_zone', 'daily', { context }),
    )
    expect(signals.contextBands).toEqual([null, 'prior', 'high', null])
    expect([...signals.stability].map(code => STABILITIES[code])).toEqual(new Array(4).fill('holding'))
  })
})

interface Tellable extends Partial<Pick<EventHistory, 'after' | 'as_of' | 'present'>> {
  /** Date, and band entered; the first leaves a band "prior". */
  events: readonly (readonly [string, string])[]
}

/** Someone who tells a history, and answers nothing else. */
function tells({ events, after = null, as_of = null, present = null }: Tellable): Source {
  const told = events.map(([date, band], i) => ({
    date,
    band,
    prev_band: events[i - 1]?.[1] ?? 'prior',
    aftermath: null,
    ...({ stability_at_entry: 'holding', flips_recent_at_entry: 1 } as const),
  }))
  return sourceOf({
    async *histories({ tickers, fields, timeframe }) {
      for (const ticker of tickers)
        for (const field of fields) {
          const head = { ticker, field, timeframe, query_range: '2y', after, as_of, present }
          yield historyOf({ ...head, events: told }, FIELDS.find(({ name }) => name === field)!.bands)
        }
    },
    tickers: async () => null,
  })
}
