import { describe, expect, it } from 'vitest'
import { transitions } from '../../src/core/engine/record.js'
import { type Condition, parseCondition, type Subject, testsOf } from '../../src/core/language/condition.js'
import { type Column, type ConditionData, testReadings, truthOf } from '../../src/core/language/truth.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { barsCountingOn, UNDEFINED } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { draws } from '../support/full.js'
import {
  columnOf,
  MADE,
  MADE_FIELDS,
  randomClaim,
  randomShelves,
  TICKERS,
  TIMEFRAMES,
  written,
} from '../support/random-conditions.js'
import { pick } from '../support/random-facts.js'

/** `h m c`: hot, mild, cold; `.`: undefined. */
const BANDS: Readonly<Record<string, string>> = { h: 'hot', m: 'mild', c: 'cold' }
/** Bars of the dates, each with a band of `heat`. */
function heat(dates: readonly string[], letters: string, known: (day: number) => number = day => day): Column {
  const bands = MADE_FIELDS.heat!
  const codes = Uint8Array.from(letters, letter => (letter === '.' ? UNDEFINED : bands.indexOf(BANDS[letter]!)))
  const days = Int32Array.from(dates, date => parseDay(date)!)
  return { days, known: days.map(known), bands, codes, transitions: transitions(codes) }
}

/** Days from Monday, 5 March 2018 on. */
const march = (...dates: number[]): string[] => dates.map(date => `2018-03-${String(date).padStart(2, '0')}`)

describe('the bars that count', () => {
  it('are those that barsCountingOn counts', () => {
    for (let seed = 1; seed <= draws(200); seed++) {
      const random = new Random(new Random(seed).word())
      const shelves = randomShelves(random, 60)
      const column = (ticker: string, timeframe: 'daily' | 'weekly'): Column =>
        columnOf(shelves[ticker]![timeframe], 'mood', MADE_FIELDS.mood!)
      const own = column('AAA', pick(random, TIMEFRAMES))
      const other = column('CL=F', pick(random, TIMEFRAMES))
      const tests = testsOf(parseCondition('CL=F:mood = glad', MADE))
      for (let t = 0; t < own.days.length; t++) {
        const [reading] = testReadings(tests, { on: own, columnOf: () => other }, t)
        expect(reading!.bar ?? -1).toBe(barsCountingOn(other, own, t) - 1)
      }
    }
  })
})

/** A random question, and a ground to ask it on. */
function drawn(seed: number): { ground: ConditionData; random: Random; claim: () => string } {
  const random = new Random(new Random(seed).word())
  const shelves = randomShelves(random, pick(random, [20, 80]))
  const ticker = pick(random, TICKERS)
  const timeframe = pick(random, TIMEFRAMES)
  const of = (subject: Subject): Column =>
    columnOf(
      shelves[subject.ticker ?? ticker]![subject.timeframe ?? timeframe],
      subject.field,
      MADE_FIELDS[subject.field]!,
    )
  const on = of({ ticker: null, field: 'heat', timeframe: null })
  const lag = pick(random, [0, 0, 2])
  return {
    ground: { on, columnOf: of, lag },
    random,
    claim: () => written(randomClaim(random, MADE_FIELDS, 2), random),
  }
}

describe('Q3: laws of truth', () => {
  const LAWS: readonly (readonly [string, (a: string, b: string) => readonly [string, string]])[] = [
    ['not not C = C', a => [`not not (${a})`, a]],
    ['De Morgan, and', (a, b) => [`not ((${a}) and (${b}))`, `not (${a}) or not (${b})`]],
    ['De Morgan, or', (a, b) => [`not ((${a}) or (${b}))`, `not (${a}) and not (${b})`]],
    ['C and C = C', a => [`(${a}) and (${a})`, a]],
    ['C or C = C', a => [`(${a}) or (${a})`, a]],
    ['in (A, B) = A or B', () => ['CL=F:heat in (hot, cold)', 'CL=F:heat = hot or CL=F:heat = cold']],
    ['not in = not (in)', () => ['heat@weekly not in (hot, cold)', 'not (heat@weekly in (hot, cold))']],
    ['!= = not =', () => ['AAA:heat != hot', 'not AAA:heat = hot']],
    [
      'enters is leaves any to',
      () => ['AAA:heat enters (hot, mild) from cold within 3', 'AAA:heat leaves cold to (mild, hot) within 3'],
    ],
    [
      'within N = or of its parts',
      () => ['heat enters any within 4', 'heat enters hot within 4 or heat enters (mild, cold) within 4'],
    ],
  ]

  it.each(LAWS)('%s', (_, law) => {
    for (let seed = 1; seed <= draws(200); seed++) {
      const { ground, claim } = drawn(seed)
      const [one, other] = law(claim(), claim()).map(text => truthOf(parseCondition(text, MADE), ground))
      expect(one, `seed ${seed}`).toEqual(other)
    }
  })
})

describe('a truth', () => {
  it('is told test by test on a bar, with the bar and the band that were looked at', () => {
    const own = heat(march(8, 9, 12), 'mmh')
    const AAA = heat(march(9, 10), 'ch')
    const condition: Condition = parseCondition('not heat = hot or AAA:heat enters hot and AAA:mood = glad', MADE)
    const mood: Column = { ...AAA, bands: MADE_FIELDS.mood!, codes: Uint8Array.of(0, UNDEFINED) }
    const columnOf = ({ ticker, field }: Subject): Column => (field === 'mood' ? mood : ticker === null ? own : AAA)
    const told = (t: number): unknown[] =>
      testReadings(testsOf(condition), { on: own, columnOf }, t).map(({ day, band, holds }) => [
        day === null ? null : formatDay(day),
        band,
        holds,
      ])
    expect(told(0)).toEqual([
      ['2018-03-08', 'mild', false],
      [null, null, null],
      [null, null, null],
    ])
    expect(told(2)).toEqual([
      ['2018-03-12', 'hot', true],
      ['2018-03-10', 'hot', true],
      ['2018-03-10', null, null],
    ])
  })
})
