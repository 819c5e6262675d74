import { describe, expect, it } from 'vitest'
import { recordFields, weekly } from '../../src/core/engine/record.js'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { parseCondition, printCondition, type Vocabulary } from '../../src/core/language/condition.js'
import { truthOf } from '../../src/core/language/truth.js'
import { formatDay } from '../../src/core/model/day.js'
import { bandsByBar, type Series, UNDEFINED } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { draws, NIGHT } from '../support/full.js'
import { type Asked, type Claim, type Shelf, type Shelves, truth } from '../support/oracle/conditions.js'
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

type Fields = Readonly<Record<string, readonly string[]>>

describe('Q1: every random condition equals a brute force written from the page, bar by bar', () => {
  it('of made bands on calendars with holes and weekends, daily and weekly, with and without lag', () => {
    const seen = new Map<string, number>()
    for (let seed = 1; seed <= draws(1_000); seed++) {
      const random = new Random(new Random(seed).word())
      const shelves = randomShelves(random, pick(random, [6, 40, 120]))
      for (let i = 0; i < 4; i++) {
        const claim = randomClaim(random, MADE_FIELDS, 3)
        count(seen, expectSame(claim, shelves, MADE_FIELDS, MADE, drawAsked(random), random, `seed ${seed}.${i}`))
      }
    }
    if (NIGHT) process.stdout.write(`made bands: ${[...seen].join(' ')}\n`)
    for (const truth of ['true', 'false', 'null']) expect(seen.get(truth)).toBeGreaterThan(100)
  })

  it('of the technical fields of random tickers', () => {
    const seen = new Map<string, number>()
    const fields: Fields = Object.fromEntries(TECHNICAL_FIELDS.map(({ name, bands }) => [name, bands]))
    const vocabulary: Vocabulary = {
      names: Object.keys(fields),
      named: name => TECHNICAL_FIELDS.find(field => field.name === name),
    }
    for (let seed = 1; seed <= Math.max(3, draws(60)); seed++) {
      const random = new Random(new Random(seed).word())
      const shelves = marketShelves(random)
      for (let i = 0; i < 3; i++) {
        const claim = randomClaim(random, fields, 2)
        count(seen, expectSame(claim, shelves, fields, vocabulary, drawAsked(random), random, `seed ${seed}.${i}`))
      }
    }
    if (NIGHT) process.stdout.write(`technical fields: ${[...seen].join(' ')}\n`)
    for (const truth of ['true', 'false', 'null']) expect(seen.get(truth)).toBeGreaterThan(100)
  })
})

function drawAsked(random: Random): Asked {
  return { ticker: pick(random, TICKERS), timeframe: pick(random, TIMEFRAMES), lag: pick(random, [0, 0, 1, 4]) }
}

function count(seen: Map<string, number>, truths: readonly (boolean | null)[]): void {
  for (const one of truths) seen.set(String(one), (seen.get(String(one)) ?? 0) + 1)
}

function expectSame(
  claim: Claim,
  shelves: Shelves,
  fields: Fields,
  vocabulary: Vocabulary,
  asked: Asked,
  random: Random,
  what: string,
): (boolean | null)[] {
  const text = written(claim, random)
  const condition = parseCondition(text, vocabulary)
  const shelf = shelves[asked.ticker]![asked.timeframe]
  const on = columnOf(shelf, Object.keys(fields)[0]!, Object.values(fields)[0]!)
  const codes = truthOf(condition, {
    on,
    columnOf: ({ ticker, field, timeframe }) =>
      columnOf(shelves[ticker ?? asked.ticker]![timeframe ?? asked.timeframe], field, fields[field]!),
    lag: asked.lag,
  })
  const ours = Array.from(codes, code => (code === UNDEFINED ? null : code === 1))
  const theirs = shelf.dates.map((_, t) => truth(claim, shelves, asked, t))
  const differs = theirs.findIndex((one, t) => one !== ours[t])
  if (differs >= 0) {
    const where = `${what}, ${JSON.stringify(asked)}, bar ${differs}: ${text} → ${printCondition(condition)}`
    expect(ours[differs], where).toBe(theirs[differs])
  }
  expect(ours).toHaveLength(theirs.length)
  return ours
}

/** Three random tickers with the bands that the engine gives their bars. */
function marketShelves(random: Random): Shelves {
  const shapes = ['gappy', 'sevenDays', 'wild']
  return Object.fromEntries(
    TICKERS.map((ticker, i) => {
      const start = formatDay(15_000 + random.below(60))
      const daily = seriesOf(
        randomBars(random.word(), { ...SHAPES[shapes[i]!]!, start, length: 300 + random.below(150) }),
      )
      return [ticker, { daily: shelfOf(daily), weekly: shelfOf(weekly(daily)) }]
    }),
  )
}

function shelfOf(series: Series): Shelf {
  const records = recordFields(new Panel(series), TECHNICAL_FIELDS)
  const bands = TECHNICAL_FIELDS.map(({ name, bands }) => {
    const record = records.get(name)
    const codes = record === undefined ? null : bandsByBar(record, series.days.length)
    return [name, Array.from(series.days, (_, t) => (codes === null ? null : (bands[codes[t]!] ?? null)))]
  })
  const texts = (days: Int32Array): string[] => Array.from(days, formatDay)
  return { dates: texts(series.days), finals: texts(series.known), bands: Object.fromEntries(bands) }
}
