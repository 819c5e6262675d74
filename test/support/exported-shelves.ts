import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay, weekdayOf } from '../../src/core/model/day.js'
import { firstBars } from '../../src/core/model/series.js'
import { exportSeries } from '../../src/data/local/export.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { randomBars, SHAPES } from './bars.js'
import { seriesOf } from './convert.js'
import type { Claim, Shelves } from './oracle/conditions.js'
import { TICKERS } from './random-conditions.js'
import { storeOf, type TickerFixture } from './store.js'

/** Real tickers in a real store, and what its export shows of them, for the brute force of conditions. */

export const TECHNICAL = Object.fromEntries(
  BUILT_IN_FIELDS.all.filter(({ needs }) => needs === 'bars').map(({ name, bands }) => [name, bands]),
)

/** Weekdays with gaps, all days of the week, and one that begins late and swings widely. */
export const LISTED = [
  { shape: 'gappy', length: 230, start: '2017-07-03' },
  { shape: 'sevenDays', length: 260, start: '2017-08-01' },
  { shape: 'wild', length: 170, start: '2017-09-14' },
].map(({ shape, ...at }, i) => ({
  ticker: TICKERS[i]!,
  series: seriesOf(randomBars(100 + i, { ...SHAPES[shape]!, ...at })),
}))

/** A store that has them as of a day, and one that has no bar after it. */
export async function asOf(store: Store, date: string): Promise<[then: Local, alone: Local]> {
  const day = parseDay(date)!
  const upTo = ({ days }: TickerFixture['series']): number => days.filter(one => one <= day).length
  const cut = await storeOf(LISTED.map(({ ticker, series }) => ({ ticker, series: firstBars(series, upTo(series)) })))
  return [new Local(store, null, day), new Local(cut, null, day)]
}

/** What an export shows of each ticker, and the day on which each bar is final as the page has it. */
export async function exported(local: Local, listed: readonly TickerFixture[] = LISTED): Promise<Shelves> {
  const shelves: Shelves = {}
  for (const { ticker, series } of listed) {
    const lastOfWeek = series.days.some(day => weekdayOf(day) > FRIDAY) ? SUNDAY : FRIDAY
    const empty = () => ({
      dates: [],
      finals: [],
      bands: Object.fromEntries(Object.keys(TECHNICAL).map(name => [name, []])),
    })
    shelves[ticker] = { daily: empty(), weekly: empty() }
    for await (const row of exportSeries(local, { tickers: [ticker], fields: Object.keys(TECHNICAL) })) {
      const shelf = shelves[ticker][row.timeframe === 'weekly' ? 'weekly' : 'daily']
      const date = String(row.date)
      const day = parseDay(date)!
      const open = lastOfWeek - weekdayOf(day)
      shelf.dates.push(date)
      shelf.finals.push(row.timeframe === 'daily' || open === 0 ? date : formatDay(day + open + 1))
      for (const name of Object.keys(TECHNICAL)) shelf.bands[name]!.push(row[name] === null ? null : String(row[name]))
    }
  }
  return shelves
}

const FRIDAY = 4
const SUNDAY = 6

/** Bars on which it becomes true; a bar of which nothing is known changes nothing, and the first known one is no event. */
export function onsets(truths: readonly (boolean | null)[]): number[] {
  let before: boolean | null = null
  return truths.flatMap((one, t) => {
    if (one === null) return []
    const became = one && before === false
    before = one
    return became ? [t] : []
  })
}

export function namesTicker(claim: Claim): boolean {
  if ('all' in claim) return claim.all.some(namesTicker)
  if ('any' in claim) return claim.any.some(namesTicker)
  return 'no' in claim ? namesTicker(claim.no) : claim.at.ticker !== undefined
}
