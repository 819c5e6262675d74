import { describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { parseScreen } from '../../src/core/params/questions.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { screen } from '../../src/research/screen/screen.js'
import { exported, LISTED, namesTicker, onsets, TECHNICAL } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import { type Asked, type Shelf, type Truth, truth } from '../support/oracle/conditions.js'
import { randomClaim, TICKERS, TIMEFRAMES, written } from '../support/random-conditions.js'
import { pick } from '../support/random-facts.js'
import { openedForAll, storeOf } from '../support/store.js'

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

/** How many bars of a ticker are final on a day, and whether the last of them still says something of it. */
function lastBar({ finals }: Shelf, date: string): number {
  const t = finals.filter(final => final <= date).length - 1
  return t < 0 || parseDay(date)! - parseDay(finals[t]!)! > 7 ? -1 : t
}

/** The bar from which the truth in force holds: bars of which nothing is known change nothing. */
function since(truths: readonly Truth[], t: number): number {
  let from = t
  for (let bar = t; bar >= 0 && truths[bar] !== false; bar--) if (truths[bar] === true) from = bar
  return from
}

describe('Q4: a screen by brute force over exported series', () => {
  it('finds on any day the tickers whose last bar the condition holds on, and with --since those of the onsets of the last bars', async () => {
    const local = new Local(store, null, null)
    const shelves = await exported(local)
    const seen = { holding: 0, onsets: 0, stale: 0 }
    for (let seed = 1; seed <= Math.max(40, draws(800)); seed++) {
      const random = new Random(new Random(seed).word())
      const claim = randomClaim(random, TECHNICAL, seed % 3)
      const timeframe = pick(random, TIMEFRAMES)
      const lag = namesTicker(claim) ? pick(random, [0, 1, 2, 7, 60]) : 0
      const date = formatDay(parseDay('2017-12-01')! + random.below(160))
      const within = random.below(2) === 0 ? null : 1 + random.below(30)
      const text = written(claim, random)
      const params = { when: text, timeframe, ...(within && { since: within }), ...(lag && { context_lag: lag }) }
      const { as_of: _none, ...query } = parseScreen(params, BUILT_IN_FIELDS)
      const found = await screen(local.on(parseDay(date)!), { ...query, tickers: TICKERS })
      const expected = TICKERS.flatMap(ticker => {
        const shelf = shelves[ticker]![timeframe]
        const t = lastBar(shelf, date)
        seen.stale += Number(t < 0)
        if (t < 0) return []
        const asked: Asked = { ticker, timeframe, lag }
        const truths = shelf.dates.slice(0, t + 1).map((_, bar) => truth(claim, shelves, asked, bar))
        const onset = within === null ? (truths[t] === true ? since(truths, t) : -1) : (onsets(truths).at(-1) ?? -1)
        if (onset < 0 || (within !== null && t - onset >= within)) return []
        const age_days = parseDay(date)! - parseDay(shelf.dates[t]!)!
        return [{ ticker, timeframe, date: shelf.dates[t]!, since: shelf.dates[onset]!, bars: t - onset + 1, age_days }]
      })
      const what = `seed ${seed}: ${text}, ${timeframe}, ${date}, since ${within}`
      const shown = found.matches.map(({ bands: _bands, close: _close, ...match }) => match)
      const byTicker = (a: { ticker: string }, b: { ticker: string }) => Number(a.ticker > b.ticker) - 1
      expect(shown.toSorted(byTicker), what).toEqual(expected.toSorted(byTicker))
      expect(found).toMatchObject({ as_of: date, scanned: TICKERS.length, when: query.condition })
      seen[within === null ? 'holding' : 'onsets'] += expected.length
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
  })
})

it('tells of every subject the band that = sees on that bar, and the close as it is stored', async () => {
  const local = new Local(store, null, null)
  const shelves = await exported(local)
  const [own, other] = TICKERS as [string, string]
  const text = `not (rsi_zone = deep_oversold and ${other}:trend_direction@weekly = neutral) or macd_state@weekly enters any`
  for (let day = parseDay('2018-02-01')!; day < parseDay('2018-03-01')!; day++) {
    const { as_of: _none, ...query } = parseScreen({ when: text }, BUILT_IN_FIELDS)
    const { matches } = await screen(local.on(day), { ...query, tickers: [own] })
    const [match] = matches
    if (match === undefined) continue
    const { daily, weekly } = shelves[own]!
    const t = daily.dates.indexOf(match.date)
    const counting = ({ dates, finals }: Shelf): number =>
      dates.findLastIndex((one, bar) => one <= daily.dates[t]! && finals[bar]! <= daily.finals[t]!)
    const far = shelves[other]!.weekly
    expect(match.bands).toEqual({
      rsi_zone: daily.bands.rsi_zone![t],
      [`${other}:trend_direction@weekly`]: far.bands.trend_direction![counting(far)] ?? null,
      'macd_state@weekly': weekly.bands.macd_state![counting(weekly)] ?? null,
    })
    const { days, close } = await local.series(own, 'daily')
    expect(match.close).toBe(close[days.indexOf(parseDay(match.date)!)])
  }
  expect.hasAssertions()
})
