import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TierRestricted } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import { type BandPeriods, bandPeriodsOf, type History, NO_NUMBER } from '../../src/core/model/history.js'
import { barsKnownBy } from '../../src/core/model/series.js'
import { TIER_NAMES, TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import type { BandPeriodsQuery } from '../../src/core/source.js'
import { grantedFields } from '../../src/core/tiers.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import type { Store } from '../../src/data/store/store.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { drained } from '../support/drain.js'
import { draws, FULL, notInQuick } from '../support/full.js'
import { barsIn, statesIn } from '../support/source.js'
import { loadedStore, openedForAll } from '../support/store.js'

const END = parseDay('2024-06-28')!
/** Companies with facts, one that has stopped, one of a few bars, and some with bars on which fields have no band. */
const MARKET = [
  ...simulatedTickers({ count: 4, bars: 1_500, seed: 3, end: END }),
  { ...simulatedTicker(1, { count: 1, bars: 600, seed: 4, end: END - 300 }), ticker: 'OLD', facts: [] },
  { ...simulatedTicker(1, { count: 1, bars: 12, seed: 5, end: END }), ticker: 'YOUNG', facts: [] },
  ...(['wild', 'unknownVolume', 'sevenDays'] as const).map((shape, i) => ({
    ticker: shape.toUpperCase(),
    bars: seriesOf(randomBars(i, { ...SHAPES[shape], start: '2021-10-04' })),
    facts: [],
  })),
]
const NAMES = MARKET.map(({ ticker }) => ticker)

let store: Store
openedForAll(async folder => {
  store = await loadedStore(MARKET, folder)
  return store
})

const days = fc.integer({ min: END - 2_300, max: END + 20 })
const questions = fc.record({
  tickers: fc.shuffledSubarray(NAMES, { minLength: 1 }),
  fields: fc.shuffledSubarray([...BUILT_IN_FIELDS.names], { minLength: 1, maxLength: 6 }),
  timeframe: fc.constantFrom(...TIMEFRAME_NAMES),
  after: fc.option(days, { nil: undefined }),
  before: fc.option(days, { nil: undefined }),
  context: fc.option(
    fc.record({ ticker: fc.constantFrom(...NAMES), field: fc.constantFrom('rsi_zone', 'macd_state') }),
    { nil: undefined },
  ),
  tier: fc.option(fc.constantFrom(...TIER_NAMES)),
  asOf: fc.option(days),
})

describe('the stays of many tickers and fields', () => {
  it('are those of their histories, whatever the bounds, the day and the tier', async () => {
    let rows = 0
    await fc.assert(
      fc.asyncProperty(questions, async ({ tier, asOf, after, before, context, ...asked }) => {
        const local = new Local(store, tier, asOf)
        const query: BandPeriodsQuery = {
          ...asked,
          ...(after === undefined ? {} : { after }),
          ...(before === undefined ? {} : { before }),
          ...(context === undefined ? {} : { context }),
        }
        const theirs = await found(drained(local.histories(query)))
        const own = await found(drained(local.bandPeriods(query)))
        if (!Array.isArray(theirs)) {
          expect(own).toEqual(theirs)
          return
        }
        const granted = grantedFields(tier, BUILT_IN_FIELDS).map(({ name }) => name)
        expect(asked.fields.every(field => granted.includes(field))).toBe(true)
        const n = asked.fields.length
        const byTicker = (all: History[]) => asked.tickers.map((_, i) => all.slice(i * n, (i + 1) * n))
        const unbounded = byTicker(await drained(local.histories(asked)))
        expect((own as BandPeriods[]).map(told)).toEqual(byTicker(theirs).map((one, i) => expected(one, unbounded[i]!)))
        rows += theirs.reduce((sum, { days }) => sum + days.length, 0)
      }),
      { numRuns: draws(1_200) },
    )
    // A smoke of twenty draws may find few.
    if (FULL) expect(rows).toBeGreaterThan(draws(1_000))
  })

  it('are the same from histories alone, except for data that no history has', async () => {
    const query = {
      tickers: NAMES,
      fields: ['rsi_zone', 'volume_ratio_band', 'growth_zone'],
      timeframe: 'weekly',
    } as const
    const local = new Local(store, null, null)
    const adapted = await drained(bandPeriodsOf(local.histories(query), 3))
    const own = (await drained(local.bandPeriods(query))).map(told)
    expect(adapted.map(told)).toEqual(own)
    for (const stays of adapted) {
      expect([stays.last, stays.present.onLast, stays.transitions().known]).toEqual([null, null, null])
    }
  })

  notInQuick('tell the last bar, the band on it, and when the bars of transitions were final', async () => {
    let gaps = 0
    for (const asOf of [END, END - 40, END - 41, END - 42, END - 400]) {
      for (const timeframe of TIMEFRAME_NAMES) {
        const fields = ['rsi_zone', 'volume_ratio_band', 'accumulation_state', 'growth_zone']
        const local = new Local(store, null, asOf)
        const whole = new Local(store, null, null)
        for (const ticker of NAMES) {
          const [stays] = (await drained(local.bandPeriods({ tickers: [ticker], fields, timeframe }))) as [BandPeriods]
          const { series } = await barsIn(whole, ticker, timeframe)
          const last = barsKnownBy(series, asOf) - 1
          expect(stays.last).toEqual(last < 0 ? null : { day: series.days[last], known: series.known[last] })
          const { first, days, known } = stays.transitions()
          for (const [f, field] of fields.entries()) {
            const { codes, bars } = await statesIn(whole, ticker, field, timeframe)
            if (last >= 0) expect(stays.present.onLast![f]).toBe(codes[last])
            if (stays.present.onLast![f] !== stays.present.band[f]) gaps++
            const own = bars.filter(bar => bar <= last)
            expect(days.subarray(first[f], first[f + 1])).toEqual(own.map(bar => series.days[bar]!))
            expect(known!.subarray(first[f], first[f + 1])).toEqual(own.map(bar => series.known[bar]!))
          }
        }
      }
    }
    expect(gaps).toBeGreaterThan(0)
  })
})

/** What was found, or why it was refused. */
async function found<T>(asked: Promise<T>): Promise<T | { code: string; message: string }> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    return { code: error.code, message: error.message }
  }
}

/** Everything that a history tells too, with what is made when it is asked for. */
function told({ present, completed, transitions, last: _last, ...stays }: BandPeriods) {
  const { onLast: _onLast, ...standing } = present
  const { known: _known, ...rows } = transitions()
  return { ...stays, present: standing, completed: stays.fields.map((_, f) => completed(f).slice()), transitions: rows }
}

/** @param unbounded the same without bounds, which what is in force knows nothing of */
function expected(histories: readonly History[], unbounded: readonly History[]): ReturnType<typeof told> {
  const [{ ticker, timeframe, query_range, after, as_of }] = histories as [History]
  const first = Int32Array.from([0, ...histories.keys()], (_, f) =>
    histories.slice(0, f).reduce((sum, { days }) => sum + days.length, 0),
  )
  const numbers = (of: (history: History) => Iterable<number>) =>
    Int32Array.from(histories.flatMap(one => [...of(one)]))
  const bytes = (of: (history: History) => Iterable<number>) => Uint8Array.from(histories.flatMap(one => [...of(one)]))
  const contexts = histories.flatMap(({ contexts }) => contexts ?? [])
  const present = <Value>(of: (history: History, present: NonNullable<History['present']>) => Value, none: Value) =>
    histories.map(history => (history.present === null ? none : of(history, history.present)))
  const since = present<Day>((_, { since }) => (since === null ? NO_NUMBER : parseDay(since)!), NO_NUMBER)
  const left = unbounded.map(({ days, left, present }, f) =>
    present?.initial ? 255 : (left[days.indexOf(since[f]!)] ?? 255),
  )
  return {
    ticker,
    timeframe,
    query_range,
    after,
    as_of,
    fields: histories.map(({ field }) => field),
    bands: histories.map(({ bands }) => bands),
    present: {
      band: Uint8Array.from(present(({ bands }, { band }) => bands.indexOf(band), 255)),
      initial: Uint8Array.from(present((_, { initial }) => Number(initial), 0)),
      left: Uint8Array.from(left),
      since: Int32Array.from(since),
      bars: Int32Array.from(present((_, { bars }) => bars ?? NO_NUMBER, NO_NUMBER)),
    },
    completed: histories.map(({ bands, entered, lasted, present }) =>
      lasted.filter((bars, row) => bars !== -1 && bands[entered[row]!] === present?.band),
    ),
    transitions: {
      first,
      days: numbers(({ days }) => days),
      lasted: numbers(({ lasted }) => lasted),
      entered: bytes(({ entered }) => entered),
      left: bytes(({ left }) => left),
      stability: bytes(({ stability }) => stability),
      flips: bytes(({ flips }) => flips),
      contexts: histories.some(({ contexts }) => contexts !== null) ? contexts : null,
    },
  }
}
