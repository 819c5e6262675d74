import { describe, expect, it } from 'vitest'
import {
  type FactKind,
  type FactRecords,
  type Facts,
  firstUsableDay,
  NO_FACTS,
  type Report,
} from '../../src/core/model/facts.js'
import { firstBars, type Series, tradedClose } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { draws, FULL } from '../support/full.js'
import { pick, randomFacts, shuffled } from '../support/random-facts.js'
import {
  type Bands,
  beforeSplit,
  fundamentalBands,
  type Listed,
  type Market,
  type MarketForm,
  randomMarket,
} from '../support/random-market.js'

const DAILY: MarketForm = { timeframe: 'daily', basis: 'bars', peers: 6, length: 520 }
const WEEKLY: MarketForm = { ...DAILY, timeframe: 'weekly', length: 600 }
const FORMS: [string, MarketForm][] = [
  ['daily', DAILY],
  ['daily, figures as filed', { ...DAILY, basis: 'filed' }],
  ['weekly', WEEKLY],
  ['weekly, figures as filed', { ...WEEKLY, basis: 'filed' }],
]

/** A market, what the engine makes of its first ticker, and random numbers for the check's own choices. */
interface Case {
  market: Market
  whole: Bands
  random: Random
  what: string
}

/** Registers a check on markets of every form, always the same ones. */
function everywhere(check: (one: Case) => void, forms = FORMS): void {
  it.each(forms)('%s', (name, form) => {
    for (const one of casesOf(name, form)) check(one)
  })
}

/** Markets are made once for all laws. */
function casesOf(name: string, form: MarketForm): Case[] {
  let made = MADE.get(form)
  if (made === undefined) {
    const markets = Array.from({ length: draws(8) }, (_, i) => randomMarket(500 + i, form))
    made = markets.map(market => ({ market, whole: fundamentalBands(market) }))
    MADE.set(form, made)
  }
  return made.map((one, i) => ({ ...one, random: new Random(900 + i), what: `${name}, market ${i}` }))
}

const MADE = new Map<MarketForm, Pick<Case, 'market' | 'whole'>[]>()

describe('P17: a record more changes no bar on which it is not usable yet, and of every kind some change later ones', () => {
  it.each(FORMS)('%s', (name, form) => {
    const changed = new Set<DatedKind>()
    for (const { market, whole, random, what } of casesOf(name, form)) {
      for (const kind of DATED) {
        for (const one of [market.own, pick(random, market.peers)]) {
          const strange: readonly DatedRecord[] = strangeFacts(market, random)[kind]
          const record = pick(random, strange)
          if (record === undefined || one.facts === null) continue
          const more = { [kind]: placed<DatedRecord>(random, one.facts[kind], record) }
          const bands = fundamentalBands(withFacts(market, one, more))
          const at = `${what}, ${kind} of ${one.ticker} usable from ${usableOf(record)}`
          expectSame(bands, whole, market, usableOf(record) - 1, at)
          if (differs(bands, whole)) changed.add(kind)
        }
      }
    }
    if (FULL) expect([...changed].sort()).toEqual([...DATED].sort())
  })
})

describe('P17: records known after a day change nothing up to it', () => {
  everywhere(({ market, whole, random, what }) => {
    for (let i = 0; i < 4; i++) {
      const day = pick(random, [...market.own.series.days]) + random.below(3)
      const cut = fundamentalBands(everyFacts(market, facts => knownBy(facts, day)))
      expectSame(cut, whole, market, day, `${what}, known by ${day}`)
    }
  })
})

describe('P17: other figures in a restatement change nothing before it is usable', () => {
  everywhere(({ market, whole, random, what }) => {
    const { reports } = market.own.facts!
    const restated = reports.filter(({ period_end }, i) => reports.findIndex(one => one.period_end === period_end) < i)
    for (const report of shuffled(random, restated).slice(0, 4)) {
      const other = { ...report, eps: 77, revenue: null, book_value_ps: -1 }
      const changed = withFacts(market, market.own, { reports: reports.map(one => (one === report ? other : one)) })
      expectSame(
        fundamentalBands(changed),
        whole,
        market,
        firstUsableDay(report) - 1,
        `${what}, ${JSON.stringify(report)}`,
      )
    }
  })
})

describe('P17: a restatement of a quarter with eight newer ones changes nothing at all', () => {
  everywhere(({ market, whole, random, what }) => {
    const { reports } = market.own.facts!
    for (const report of shuffled(random, reports).slice(0, 10)) {
      const known = firstUsableDay(report) + random.below(900)
      const newer = reports.filter(one => one.period_end > report.period_end && firstUsableDay(one) <= known)
      if (new Set(newer.map(one => one.period_end)).size < 8) continue
      const again: Report = { ...report, known, session: null, eps: 1e6, revenue: 1e9, book_value_ps: 1e6 }
      const more = withFacts(market, market.own, { reports: placed(random, reports, again) })
      expectSame(fundamentalBands(more), whole, market, LAST_DAY, `${what}, ${JSON.stringify(again)}`)
    }
  })
})

describe('P17: the order of records is irrelevant, full ties aside; so is that of tickers', () => {
  everywhere(({ market, whole, random, what }) => {
    const reordered = everyFacts(market, facts => mapFacts(facts, (kind, records) => reorder(random, kind, records)))
    const bands = fundamentalBands({ own: reordered.own, peers: shuffled(random, reordered.peers) })
    expectSame(bands, whole, market, LAST_DAY, what)
  })
})

describe('P16: other tickers of the sector change pe_vs_sector and valuation_zone, and no other field', () => {
  it.each(FORMS)('%s', (name, form) => {
    const changed = new Set<string>()
    for (const { market, whole, random } of casesOf(name, form)) {
      const strangers = market.peers.map(peer => ({ ...peer, facts: strangeFacts(market, random) }))
      for (const peers of [[], strangers]) {
        const bands = fundamentalBands({ own: market.own, peers })
        for (const field of Object.keys(bands)) if (String(bands[field]) !== String(whole[field])) changed.add(field)
      }
    }
    const may = ['pe_vs_sector', 'valuation_zone']
    if (FULL) expect([...changed].sort()).toEqual(may)
    else expect(may).toEqual(expect.arrayContaining([...changed]))
  })
})

describe('the bands of the first bars are the first bands', () => {
  const forms = FORMS.filter(([, form]) => form.basis === 'bars')
  everywhere(({ market, whole, random, what }) => {
    const { series } = market.own
    for (let i = 0; i < 5; i++) {
      const length = random.below(series.days.length + 1)
      const part = fundamentalBands({ ...market, own: { ...market.own, series: firstBars(series, length) } })
      const first = Object.entries(whole).map(([field, bands]) => [field, bands.slice(0, length)])
      expect(part, `${what}, first ${length} bars`).toEqual(Object.fromEntries(first))
    }
  }, forms)
})

describe('P13: prices before a split as they were paid, beside figures as filed, give the same bands', () => {
  const forms = FORMS.filter(([, form]) => form.basis === 'filed')
  everywhere(({ market, random, what }) => {
    const { series, facts } = market.own
    const split = { ex_date: calmDay(series, random), ratio: pick(random, [2, 3, 7, 0.5, 0.1, 1.5]) }
    // Growth of less than a cent a share is undefined, and a split makes cents of dimes.
    const reports = facts!.reports.map(one => (Math.abs(one.eps ?? 0) < 0.1 ? { ...one, eps: null } : one))
    const adjusted = withFacts(market, market.own, { reports, splits: [split] })
    const paid = { ...adjusted, own: { ...adjusted.own, series: beforeSplit(series, split) } }
    const at = `${what}, ${JSON.stringify(split)}`
    expectSame(fundamentalBands(paid), fundamentalBands(adjusted), market, LAST_DAY, at)
  }, forms)
})

describe('P05: all dates moved by whole weeks move the bands', () => {
  everywhere(({ market, whole, what }) => {
    for (const weeks of [-1_500, 523]) {
      const moved = fundamentalBands({
        own: later(market.own, 7 * weeks),
        peers: market.peers.map(peer => later(peer, 7 * weeks)),
      })
      expectSame(moved, whole, market, LAST_DAY, `${what}, moved by ${weeks} weeks`)
    }
  })
})

describe('all twelve fields are undefined on every bar', () => {
  it.each([
    ['of a ticker that can have no facts', null],
    ['of a ticker about which nothing is known', NO_FACTS],
  ])('%s', (what, facts) => {
    for (const [, form] of FORMS) {
      const { own, peers } = randomMarket(1, form)
      const bands = fundamentalBands({ own: { ...own, facts }, peers })
      expect(Object.keys(bands).length).toBe(12)
      expect(new Set(Object.values(bands).flat()), what).toEqual(new Set([null]))
    }
  })
})

/** The kinds whose records become known on a day. */
const DATED = ['reports', 'earnings', 'schedule', 'ratings', 'grades', 'insiders'] as const
type DatedKind = (typeof DATED)[number]
type DatedRecord = FactRecords[DatedKind]

const LAST_DAY = Number.POSITIVE_INFINITY

function knownDay(record: DatedRecord): number {
  return 'report_date' in record ? record.report_date : record.known
}

function usableOf(record: DatedRecord): number {
  return firstUsableDay({ known: knownDay(record), session: 'session' in record ? record.session : null })
}

/** Records of the same time that are none of the market's. */
function strangeFacts({ own }: Market, random: Random): Facts {
  const { days, close } = own.series
  return randomFacts(random, days[0]!, days.at(-1)!, { price: close[0]!, basis: 'bars', round: false, losses: 0.1 })
}

function withFacts(market: Market, one: Listed, facts: Partial<Facts>): Market {
  const changed = (other: Listed): Listed => (other === one ? { ...one, facts: { ...one.facts!, ...facts } } : other)
  return { own: changed(market.own), peers: market.peers.map(changed) }
}

function everyFacts({ own, peers }: Market, change: (facts: Facts) => Facts): Market {
  const changed = (one: Listed): Listed => (one.facts === null ? one : { ...one, facts: change(one.facts) })
  return { own: changed(own), peers: peers.map(changed) }
}

function mapFacts(facts: Facts, change: (kind: FactKind, records: readonly object[]) => readonly object[]): Facts {
  const pairs = Object.entries(facts).map(([kind, records]) => [kind, change(kind as FactKind, records)])
  return Object.fromEntries(pairs) as unknown as Facts
}

function knownBy(facts: Facts, day: number): Facts {
  return mapFacts(facts, (kind, records) =>
    kind === 'splits' ? records : (records as DatedRecord[]).filter(record => knownDay(record) <= day),
  )
}

function placed<T>(random: Random, records: readonly T[], record: T): T[] {
  const at = random.below(records.length + 1)
  return [...records.slice(0, at), record, ...records.slice(at)]
}

/** In any order, but those of which the one given last counts keep theirs. */
function reorder(random: Random, kind: FactKind, records: readonly object[]): object[] {
  const tie = (record: object): string => {
    if (kind === 'splits') return String((record as FactRecords['splits']).ex_date)
    const dated = record as DatedRecord
    const of = 'period_end' in dated ? dated.period_end : 'firm' in dated ? dated.firm.toLowerCase() : ''
    return `${of} ${knownDay(dated)} ${usableOf(dated)}`
  }
  const waiting = new Map<string, object[]>()
  for (const record of records) waiting.set(tie(record), [...(waiting.get(tie(record)) ?? []), record])
  return shuffled(random, records).map(record => waiting.get(tie(record))!.shift()!)
}

/** A day on which a bar and the one before differ by little, so that no jump of the walk passes for a split. */
function calmDay(series: Series, random: Random): number {
  const close = tradedClose(series)
  const calm = [...series.days].filter((_, t) => t > 0 && Math.abs(Math.log(close[t]! / close[t - 1]!)) < 0.15)
  return pick(random, calm)
}

function later({ series, facts, ...rest }: Listed, by: number): Listed {
  const days = (record: object): object => {
    const pairs = Object.entries(record).map(([name, value]) => [name, DATES.has(name) ? value + by : value])
    return Object.fromEntries(pairs)
  }
  return {
    ...rest,
    series: { ...series, days: series.days.map(day => day + by), known: series.known.map(day => day + by) },
    facts: facts === null ? null : mapFacts(facts, (_, records) => records.map(days)),
  }
}

const DATES: ReadonlySet<string> = new Set(['period_end', 'known', 'report_date', 'expected_date', 'ex_date'])

function differs(a: Bands, b: Bands): boolean {
  return Object.entries(a).some(([field, bands]) => String(bands) !== String(b[field]))
}

/** Fails at the first bar dated up to `day` on which a field differs. */
function expectSame(own: Bands, other: Bands, market: Market, day: number, what: string): void {
  const { days } = market.own.series
  expect(Object.keys(own)).toEqual(Object.keys(other))
  for (const [field, bands] of Object.entries(own)) {
    const t = bands.findIndex((band, i) => days[i]! <= day && band !== other[field]![i])
    if (t >= 0) expect(bands[t], `${what}, ${field}, bar ${t} of day ${days[t]}`).toBe(other[field]![t])
  }
}
