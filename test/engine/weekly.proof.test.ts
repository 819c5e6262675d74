import { describe, expect, it } from 'vitest'
import { weekly } from '../../src/engine/record.js'
import { formatDay, parseDay } from '../../src/model/day.js'
import { barsKnownBy, type Series } from '../../src/model/series.js'
import { day } from '../support/bars.js'
import { barsOf, seriesOf } from '../support/convert.js'
import { type Bar, weeklyBars } from '../support/oracle/index.js'
import { everywhere } from './drawn.js'

// 2024-03-25 is a Monday; 2024-03-29 is Good Friday.
const SHORT_WEEK = ['2024-03-25', '2024-03-26', '2024-03-27', '2024-03-28'].map((date, i) => day(date, 10 + i))

describe('weekly bars', () => {
  it('hold first open, extremes, last close and date, and the summed volume', () => {
    const [monday, ...rest] = SHORT_WEEK
    const week = weekly(seriesOf([{ ...monday!, open: 7, high: 99 }, ...rest]))
    expect(barsOf(week)).toEqual([{ date: '2024-03-28', open: 7, high: 99, low: 9, close: 13, volume: 400 }])
  })

  it('have an unknown volume when one session has', () => {
    const week = weekly(seriesOf(SHORT_WEEK.with(2, { ...SHORT_WEEK[2]!, volume: null })))
    expect(barsOf(week)[0]!.volume).toBeNull()
  })

  it.each([
    ['a Thursday closes no week that could have a Friday', SHORT_WEEK, undefined, '2024-03-30'],
    ['a Friday closes it', [...SHORT_WEEK, day('2024-03-29', 14)], undefined, '2024-03-29'],
    ['crypto waits for Sunday', [...SHORT_WEEK, day('2024-03-29', 14)], 'crypto', '2024-04-01'],
    ['a Sunday closes it', [...SHORT_WEEK, day('2024-03-31', 14)], 'crypto', '2024-03-31'],
    ['a weekend bar before makes it wait', [day('2024-03-23', 9), ...SHORT_WEEK], undefined, '2024-04-01'],
    ['a weekend bar within makes it wait', [...SHORT_WEEK, day('2024-03-30', 14)], undefined, '2024-04-01'],
  ] as const)('%s', (_, bars, assetClass, known) => {
    expect(formatDay(weekly(seriesOf(bars), assetClass).known.at(-1)!)).toBe(known)
  })

  it('of weeks without a session do not exist; years change in mid-week', () => {
    const bars = ['2020-12-30', '2021-01-01', '2021-01-04', '2021-02-01'].map(date => day(date, 5))
    expect(barsOf(weekly(seriesOf(bars))).map(bar => bar.date)).toEqual(['2021-01-01', '2021-01-04', '2021-02-01'])
  })

  it('of nothing are nothing', () => {
    expect(weekly(seriesOf([])).days.length).toBe(0)
  })
})

it('the week that holds the first weekend session of all is shown when it is final, and never taken back', () => {
  // Bars that end on that Friday close the week; the Saturday reopens it. A view of the whole knows of the Saturday.
  const bars = [...SHORT_WEEK, day('2024-03-29', 14), day('2024-03-30', 15), day('2024-04-01', 16)]
  const shown = ['2024-03-29', '2024-03-30', '2024-03-31', '2024-04-01'].map(
    date => seenBy(weekly(seriesOf(bars)), parseDay(date)!).length,
  )
  expect(shown).toEqual([0, 0, 0, 1])
})

describe('P11: weekly of weekly is weekly', () => {
  everywhere((bars, what) => {
    const once = weekly(seriesOf(bars))
    expect(weekly({ ...once, timeframe: 'daily', known: once.days }), what).toEqual(once)
  })
})

describe("weekly bars equal the oracle's as of every day of the last weeks", () => {
  everywhere((bars, what) => {
    const week = weekly(seriesOf(bars))
    const newest = parseDay(bars.at(-1)!.date)!
    expect(seenBy(week, newest), what).toEqual(weeklyBars(bars))
    for (let date = newest - 9; date <= newest + 9; date++) {
      const asOf = formatDay(date)
      // In the week of the very first weekend session that session is not yet known on its Friday.
      const cut = bars.filter(bar => bar.date <= asOf)
      if (cut.length < bars.length && startsWeekends(bars, cut)) continue
      expect(seenBy(week, date), `${what} as of ${asOf}`).toEqual(weeklyBars(bars, { asOf }))
    }
  })
})

function seenBy(week: Series, date: number): Bar[] {
  return barsOf(week).slice(0, barsKnownBy(week, date))
}

function startsWeekends(bars: Bar[], cut: Bar[]): boolean {
  const onWeekend = ({ date }: Bar): boolean => [0, 6].includes(new Date(date).getUTCDay())
  return bars.some(onWeekend) && !cut.some(onWeekend)
}
