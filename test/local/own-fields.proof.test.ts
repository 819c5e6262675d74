import { describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS, type FieldSet } from '../../src/core/fields/index.js'
import { formatDay } from '../../src/core/model/day.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../../src/core/model/terms.js'
import { ownFieldSet } from '../../src/core/params/fields-file.js'
import { firstItem } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { loadUniverse, randomBars, SHAPES, universeTickers } from '../support/bars.js'
import { barsOf, seriesOf } from '../support/convert.js'
import { asOf, exported, LISTED, TECHNICAL } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import { weeklyBars } from '../support/oracle/bars.js'
import { type Claim, type Shelves, truth } from '../support/oracle/conditions.js'
import { column, type Formula } from '../support/oracle/expressions.js'
import { randomClaim, TICKERS, written } from '../support/random-conditions.js'
import { chance, pick } from '../support/random-facts.js'
import { spelledOut } from '../support/random-formulas.js'
import { openedForAll, storeOf, type TickerFixture } from '../support/store.js'

/** Bands by bar of fields, null where there is none, as whoever studies events is told them. */
async function bandsOf(local: Local, ticker: string, timeframe: Timeframe, fields: readonly string[]) {
  const { states } = await firstItem(local.states({ tickers: [ticker], timeframe, fields: [...fields] }))
  return fields.map((name, f) => {
    const { bands } = local.fieldSet.named(name)!
    return Array.from(states[f]!.codes, code => (code === UNDEFINED ? null : bands[code]!))
  })
}

describe('Q5: an own field with the lengths and the cuts of a specified one', () => {
  const TWINS = ['rsi_zone', 'volatility_regime', 'volume_ratio_band', 'trend_direction'] as const
  const SIGNS = ['below', 'level', 'above']
  /** Where the close stands to its three averages, by what the signs add up to. */
  const standing = (wanted: (sum: number) => boolean): string =>
    SIGNS.flatMap((a, i) =>
      SIGNS.flatMap((b, j) =>
        SIGNS.flatMap((c, k) => (wanted(i + j + k - 3) ? [`own_20 = ${a} and own_50 = ${b} and own_200 = ${c}`] : [])),
      ),
    ).join(' or ')
  const listed = (name: string): string => `[${BUILT_IN_FIELDS.named(name)!.bands.join(', ')}]`

  /** What depends on the timeframe is the length of the history that a percentile looks at. */
  function twins(timeframe: Timeframe): FieldSet {
    const [history, least] = timeframe === 'daily' ? [1260, 252] : [260, 52]
    const average = (n: number): string => `- field: own_${n}
  of: close / sma(close, ${n})
  cuts: [0.999999999, 1.000000001]
  bands: [${SIGNS.join(', ')}]
`
    return ownFieldSet(
      `- field: own_rsi_zone
  of: rsi(close, 14)
  cuts: [20, 30, 40, 60, 70, 80]
  bands: ${listed('rsi_zone')}
- field: own_volatility_regime
  of: percentile(natr(14), ${history}, ${least})
  cuts: [20, 60, 80, 95]
  bands: ${listed('volatility_regime')}
- field: own_volume_ratio_band
  of: volume_ratio(50)
  cuts: [0.3, 0.7, 1.5, 2.5, 4.0]
  bands: ${listed('volume_ratio_band')}
${average(20)}${average(50)}${average(200)}- field: own_slope
  of: slope(ln(close), 20)
  cuts: [-1e-9, 1e-9]
  bands: [falling, flat, rising]
- field: own_trend_direction
  when:
    # The first part is never true, and unknown until the longest average is known.
    strong_uptrend: own_200 = above and own_200 != above or (${standing(sum => sum === 3)}) and own_slope = rising
    strong_downtrend: (${standing(sum => sum === -3)}) and own_slope = falling
    uptrend: ${standing(sum => sum === 3)} or (${standing(sum => sum >= 1)}) and own_slope = rising
    downtrend: ${standing(sum => sum === -3)} or (${standing(sum => sum <= -1)}) and own_slope = falling
    neutral: otherwise
`,
      'fields.yaml',
    )
  }

  async function expectTwins(store: Store, seen: Map<string, number>): Promise<void> {
    for (const timeframe of TIMEFRAME_NAMES) {
      const local = new Local(store, null, null).withFields(twins(timeframe))
      for (const ticker of await local.tickers()) {
        const own = TWINS.map(name => `own_${name}`)
        const bands = await bandsOf(local, ticker, timeframe, [...TWINS, ...own])
        for (const [f, name] of TWINS.entries()) {
          expect(bands[f + TWINS.length], `${name} of ${ticker}, ${timeframe}`).toEqual(bands[f])
          for (const band of bands[f]!) if (band !== null) seen.set(name, (seen.get(name) ?? 0) + 1)
        }
      }
    }
    for (const name of TWINS) expect(seen.get(name), name).toBeGreaterThan(100)
  }

  it.skipIf(universeTickers() === null)(
    'has its bands on every bar of the universe (needs the shared data beside the project)',
    async () => {
      const names = universeTickers()!
      const some = names.filter((_, i) => i % Math.ceil(names.length / draws(names.length)) === 0)
      const seen = new Map<string, number>()
      for (let from = 0; from < some.length; from += 50) {
        const fixtures = some
          .slice(from, from + 50)
          .map((ticker): TickerFixture => ({ ticker, series: seriesOf(loadUniverse(ticker)!) }))
        await expectTwins(await storeOf(fixtures), seen)
      }
    },
  )

  it('has them on random markets', async () => {
    // Prices that move by millionths have signs between the tolerance of the page and the cuts of the twin.
    const shapes = Object.keys(SHAPES).filter(shape => shape !== 'quiet')
    const fixtures = Array.from({ length: Math.max(shapes.length, draws(100)) }, (_, i): TickerFixture => {
      const length = i % 3 === 0 ? 1_500 : 400
      return { ticker: `SIM${i}`, series: seriesOf(randomBars(i, { ...SHAPES[shapes[i % shapes.length]!]!, length })) }
    })
    await expectTwins(await storeOf(fixtures), new Map())
  })
})

/** An own field as it is meant: bands at cuts, or rules. */
type Meant =
  | { name: string; bands: string[]; of: Formula; cuts: number[] }
  | { name: string; bands: string[]; rules: { band: string; claim: Claim | null }[] }

const CUTS: readonly number[] = [-1e6, -3, 0, 0.5, 1, 2, 40, 99.5, 100, 101, 500, 1e6]
/** Shapes whose values stay clear of rounding, so that a band is a matter of the page. */
const OFS: readonly Formula[] = [
  { call: 'rsi', of: ['close'], n: [5] },
  { call: 'stochastic', of: [], n: [9, 3] },
  { left: 100, sign: '*', right: { left: 'close', sign: '/', right: { call: 'ago', of: ['close'], n: [7] } } },
  { call: 'percentile', of: [{ call: 'atr', of: [], n: [4] }], n: [40, 11] },
  { call: 'volume_ratio', of: [], n: [20] },
]

/** Some fields at cuts, and on them and on the specified ones and on each other some of rules. */
function randomFields(random: Random): Meant[] {
  const vocabulary: Record<string, readonly string[]> = { ...TECHNICAL }
  const fields: Meant[] = []
  const add = (field: Meant): void => {
    fields.push(field)
    vocabulary[field.name] = field.bands
  }
  for (let i = 0; i < 2; i++) {
    const from = random.below(CUTS.length - 3)
    const cuts = CUTS.slice(from, from + 1 + random.below(6))
    const bands = Array.from({ length: cuts.length + 1 }, (_, band) => `zone_${band}`)
    add({ name: `zones_${i}`, bands, of: pick(random, OFS), cuts })
  }
  for (let i = 0; i < 3; i++) {
    const bands = ['none', 'yes', 'no', 'perhaps'].slice(0, 1 + random.below(4))
    const hasLast = chance(random, 0.5)
    // Own fields are asked about more often than there are of them.
    const own = Object.fromEntries(fields.map(({ name, bands }) => [name, bands]))
    const rules = bands.map((band, r) => {
      const among = chance(random, 0.6) ? own : vocabulary
      return { band, claim: hasLast && r === bands.length - 1 ? null : randomClaim(random, among, 1) }
    })
    add({ name: `ruled_${i}`, bands, rules })
  }
  return fields
}

function fileOf(fields: readonly Meant[], random: Random): string {
  // JSON is YAML; the order of the file is no matter.
  const entries = fields.map(field =>
    'of' in field
      ? { field: field.name, of: spelledOut(field.of, random), cuts: field.cuts, bands: field.bands }
      : {
          field: field.name,
          when: Object.fromEntries(
            field.rules.map(({ band, claim }) => [band, claim === null ? 'otherwise' : written(claim, random)]),
          ),
        },
  )
  return JSON.stringify(chance(random, 0.5) ? entries : entries.toReversed())
}

/** A band begins at its cut, within the tolerance of the page. */
function zoneOf(value: number | null, { bands, cuts }: Extract<Meant, { of: Formula }>): string | null {
  if (value === null) return null
  return bands[cuts.filter(cut => value >= cut - 1e-10 * Math.max(1, Math.abs(cut))).length]!
}

/** The first rule that is not false decides; unknown gives none. */
function ruledOf(truths: readonly (readonly [band: string, boolean | null])[]): string | null {
  const [band, holds] = truths.find(([, holds]) => holds !== false) ?? [null, null]
  return holds === true ? band : null
}

/** The shelves with the bands of own fields in them, each bar from scratch. */
function withFields(shelves: Shelves, fields: readonly Meant[]): Shelves {
  const series = Object.fromEntries(LISTED.map(one => [one.ticker, one.series]))
  const today = formatDay(Math.max(...LISTED.map(one => one.series.days.at(-1)!)))
  const all: Shelves = Object.fromEntries(
    Object.entries(shelves).map(([ticker, { daily, weekly }]) => [
      ticker,
      { daily: { ...daily, bands: { ...daily.bands } }, weekly: { ...weekly, bands: { ...weekly.bands } } },
    ]),
  )
  for (const field of fields) {
    for (const [ticker, shelf] of Object.entries(all)) {
      for (const timeframe of TIMEFRAME_NAMES) {
        const { dates, bands } = shelf[timeframe]
        if ('of' in field) {
          const bars = barsOf(series[ticker]!)
          const values = column(field.of, timeframe === 'daily' ? bars : weeklyBars(bars, { asOf: today }))
          bands[field.name] = values.map(value => zoneOf(value, field))
        } else {
          const asked = { ticker, timeframe, lag: 0 }
          bands[field.name] = dates.map((_, t) =>
            ruledOf(field.rules.map(({ band, claim }) => [band, claim === null || truth(claim, all, asked, t)])),
          )
        }
      }
    }
  }
  return all
}

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

describe('random own fields', () => {
  it('have on every bar the bands that the page gives them, bar by bar, of their own and of other tickers and timeframes', async () => {
    const local = new Local(store, null, null)
    const shelves = await exported(local)
    const seen = { rules: 0, zones: 0, none: 0 }
    for (let seed = 1; seed <= draws(100); seed++) {
      const random = new Random(new Random(seed).word())
      const fields = randomFields(random)
      const text = fileOf(fields, random)
      const own = local.withFields(ownFieldSet(text, 'fields.yaml'))
      const expected = withFields(shelves, fields)
      const names = fields.map(({ name }) => name)
      for (const ticker of TICKERS) {
        for (const timeframe of TIMEFRAME_NAMES) {
          const found = await bandsOf(own, ticker, timeframe, names)
          for (const [f, field] of fields.entries()) {
            const wanted = expected[ticker]![timeframe].bands[field.name]!
            expect(found[f], `seed ${seed}, ${field.name} of ${ticker}, ${timeframe}: ${text}`).toEqual(wanted)
            const known = wanted.filter(band => band !== null).length
            seen['of' in field ? 'zones' : 'rules'] += known
            seen.none += wanted.length - known
          }
        }
      }
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(1_000)
  })

  it('read other tickers as defined, regardless of the lag of another condition', async () => {
    const own = TICKERS[0]!
    const other = TICKERS[1]!
    const text = `- field: quiet\n  when:\n    calm: ${other}:rsi_zone = neutral\n    other: otherwise\n`
    const local = new Local(store, null, null).withFields(ownFieldSet(text, 'fields.yaml'))
    const when = `${other}:rsi_zone = neutral`
    const of = async (lag: number) => {
      const asked = { tickers: [own], timeframe: 'daily' as const, fields: ['quiet', when], lag }
      return (await firstItem(local.states(asked))).states.map(({ codes }) => [...codes])
    }
    const now = await of(0)
    const earlier = await of(5)
    expect(earlier[0]).toEqual(now[0])
    expect(earlier[1]).not.toEqual(now[1])
  })

  it('Q2, Q6: have as of a day the bands that they have on data cut at that day, and later bars change none of them', async () => {
    const whole = new Local(store, null, null)
    for (const date of ['2017-12-29', '2018-01-04', '2018-02-10']) {
      const [earlier, alone] = await asOf(store, date)
      for (let seed = 1; seed <= draws(60); seed++) {
        const random = new Random(new Random(seed).word())
        const fields = randomFields(random)
        const text = fileOf(fields, random)
        const set = ownFieldSet(text, 'fields.yaml')
        const names = fields.map(({ name }) => name)
        for (const ticker of TICKERS) {
          for (const timeframe of TIMEFRAME_NAMES) {
            const what = `${date}, seed ${seed}, ${ticker}, ${timeframe}: ${text}`
            const then = await bandsOf(earlier.withFields(set), ticker, timeframe, names)
            expect(then, what).toEqual(await bandsOf(alone.withFields(set), ticker, timeframe, names))
            const now = await bandsOf(whole.withFields(set), ticker, timeframe, names)
            for (const [f, bands] of then.entries()) expect(now[f]!.slice(0, bands.length), what).toEqual(bands)
          }
        }
      }
    }
  })
})
