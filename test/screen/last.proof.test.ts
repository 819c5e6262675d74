import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { parseChanges } from '../../src/core/params/questions.js'
import type { Lists } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import { openSqliteLists } from '../../src/data/store/sqlite/lists.js'
import type { Store } from '../../src/data/store/store.js'
import { changes, marksName } from '../../src/research/screen/screen.js'
import { LISTED } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import { TICKERS } from '../support/random-conditions.js'
import { pick } from '../support/random-facts.js'
import { openedForAll, storeOf, temporaryFolder } from '../support/store.js'

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

/** Questions that differ in what they ask of the same tickers. */
const QUESTIONS: readonly object[] = [
  {},
  { field: 'rsi_zone' },
  { field: 'macd_state' },
  { field: 'macd_state,trend_direction' },
  { when: 'rsi_zone = neutral' },
  { field: 'macd_state', when: 'rsi_zone = neutral' },
  { when: `${TICKERS[0]}:rsi_zone = neutral` },
  { when: `${TICKERS[0]}:rsi_zone = neutral`, context_lag: 3 },
]

const parsed = (params: object) => parseChanges({ ...params, since: 'last' }, BUILT_IN_FIELDS)

const nameOf = (one: { date: string; ticker: string; timeframe: string; field: string }): string =>
  `${one.date} ${one.ticker} ${one.timeframe} ${one.field}`

function listsHere(): Lists {
  const lists = openSqliteLists(`${temporaryFolder()}/bands.lists.db`)
  onTestFinished(() => lists.close())
  return lists
}

/** What the next answer of `--since last` tells on a day. */
async function told(lists: Lists, params: object, { day, tickers }: { day: number; tickers: readonly string[] }) {
  const { since: _last, ...query } = parsed(params)
  const question = marksName({ ...query, lists: [] }, BUILT_IN_FIELDS.names)
  const marks = await lists.readMarks(question)
  const local = new Local(store, null, null).on(day)
  const { found, marks: next } = await changes(local, { ...query, tickers, since: day - 1, marks })
  await lists.saveMarks(question, next)
  return { names: found.changes.map(nameOf), next }
}

describe('--since last', () => {
  it('tells each change of each question once, whatever others are asked in between, and whichever tickers come late', async () => {
    const seen = { told: 0, late: 0 }
    for (let seed = 1; seed <= draws(120); seed++) {
      const random = new Random(new Random(seed).word())
      const lists = listsHere()
      const one = pick(random, QUESTIONS)
      const asked = [
        one,
        pick(
          random,
          QUESTIONS.filter(question => question !== one),
        ),
      ]
      const begin = parseDay('2018-01-02')! + random.below(20)
      const end = begin + 40
      const firsts = []
      for (const params of asked) firsts.push(await told(lists, params, { day: begin, tickers: TICKERS }))
      const found = firsts.map(() => [] as string[])
      for (let day = begin + 1; day < end; day += 1 + random.below(8)) {
        const n = random.below(2)
        const tickers = TICKERS.filter(() => random.below(3) > 0)
        if (tickers.length === 0) continue
        seen.late += Number(tickers.length < TICKERS.length)
        found[n]!.push(...(await told(lists, asked[n]!, { day, tickers })).names)
      }
      const local = new Local(store, null, null).on(end)
      for (const [n, params] of asked.entries()) {
        found[n]!.push(...(await told(lists, params, { day: end, tickers: TICKERS })).names)
        const { since: _last, ...query } = parsed(params)
        const all = await changes(local, { ...query, tickers: TICKERS, since: begin - 30 })
        const marks = new Map(firsts[n]!.next.map(mark => [`${mark.ticker} ${mark.timeframe}`, formatDay(mark.day)]))
        const expected = all.found.changes.filter(one => one.date > marks.get(`${one.ticker} ${one.timeframe}`)!)
        expect(found[n]!.toSorted(), `seed ${seed}: ${JSON.stringify(asked)}`).toEqual(expected.map(nameOf).toSorted())
        seen.told += expected.length
      }
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(10)
  })

  it('begins with a ticker that is new to a question where that was last told', async () => {
    const lists = listsHere()
    const [first, ...late] = TICKERS as [string, ...string[]]
    const begin = parseDay('2018-01-10')!
    const end = parseDay('2018-02-20')!
    const { next } = await told(lists, {}, { day: begin, tickers: [first] })
    const { names } = await told(lists, {}, { day: end, tickers: late })
    const newest = new Map(next.map(({ timeframe, day }) => [timeframe, formatDay(day)]))
    const all = await changes(new Local(store, null, null).on(end), {
      ...parsed({}),
      tickers: late,
      since: begin - 30,
    })
    const expected = all.found.changes.filter(({ date, timeframe }) => date > newest.get(timeframe)!)
    expect(expected.length).toBeGreaterThan(5)
    expect(names).toEqual(expected.map(nameOf))
  })
})

it('questions are the same in any order and case, and differ by what narrows them', () => {
  const of = (params: object, lists: readonly string[] = []) =>
    marksName({ ...parsed(params), lists }, BUILT_IN_FIELDS.names)
  expect(of({})).toBe('')
  expect(of({ field: BUILT_IN_FIELDS.names.toReversed() }, ['Tech'])).toBe('tech')
  expect(of({}, ['tech', 'A', 'TECH'])).toBe(of({}, ['a', 'Tech']))
  expect(of({ field: 'macd_state,rsi_zone' })).toBe(of({ field: 'rsi_zone,macd_state,rsi_zone' }))
  expect(of({ when: '(RSI_ZONE = neutral)' })).toBe(of({ when: 'rsi_zone = Neutral' }))
  expect(of({ ...QUESTIONS.at(-2), context_lag: 0 })).toBe(of(QUESTIONS.at(-2)!))
  expect(new Set(QUESTIONS.flatMap(params => [of(params), of(params, ['tech'])])).size).toBe(2 * QUESTIONS.length)
})
