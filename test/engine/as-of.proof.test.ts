import { describe, expect } from 'vitest'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { Timeframe } from '../../src/core/model/terms.js'
import { presentBand } from '../../src/data/local/view.js'
import { randomNumbers } from '../support/bars.js'
import { dayAfter, weekday } from '../support/oracle/bars.js'
import type { Bar, Event } from '../support/oracle/index.js'
import { everywhere, expectSame, type Recording, recording, type Shown, shown, viewIn } from './drawn.js'

const TIMEFRAMES = ['daily', 'weekly'] as const

/** Dates to cut at: each of the last six bars and the days after them, before the first bar, Thursdays before a Friday
 *  without session and the days up to Monday, random bars, random days between bars. */
function cutDates(bars: Bar[], seed: number, most: number): string[] {
  const random = randomNumbers(seed)
  const dates = bars.slice(-6).flatMap(({ date }) => [date, dayAfter(date, 1)])
  dates.push(bars[0]!.date, dayAfter(bars.at(-1)!.date, 9))
  const shortWeeks = bars.filter(({ date }, t) => weekday(date) === 4 && bars[t + 1]?.date !== dayAfter(date, 1))
  for (const { date } of shortWeeks.slice(-3)) for (const later of [0, 1, 2, 3, 4]) dates.push(dayAfter(date, later))
  while (dates.length < most) {
    dates.push(dayAfter(bars[Math.floor(random() * bars.length)]!.date, Math.floor(random() * 3)))
  }
  return [...new Set(dates)].slice(0, most).sort()
}

describe('P01, P15: a full history as of a date shows what bars up to that date show', () => {
  everywhere((bars, what, seed) => expectCutsAgree(bars, cutDates(bars, seed, 18), what), { runs: 26, longest: 1_200 })
})

function expectCutsAgree(bars: Bar[], dates: string[], what: string): void {
  const whole = recording(bars)
  for (const date of dates) {
    const cut = bars.filter(bar => bar.date <= date)
    if (cut.length === 0) continue
    const part = recording(cut)
    // A store whose last bar is of that date shows the same without being told the date.
    const told = cut.at(-1)!.date === date ? undefined : date
    for (const timeframe of TIMEFRAMES) {
      const at = `${what}, ${timeframe} as of ${date}`
      expectSame(shown(whole, timeframe, date), shown(part, timeframe, told), at)
      expect(presents(whole, timeframe, date), at).toEqual(presents(part, timeframe, told))
    }
  }
}

/** Before every bar, so that no range hides when a band was entered. */
const FIRST_DAY = Number.NEGATIVE_INFINITY

function presents(recorded: Recording, timeframe: Timeframe, date?: string): unknown {
  const day = date === undefined ? null : parseDay(date)
  const fields = TECHNICAL_FIELDS.map(field => field.name)
  return Object.fromEntries(
    fields.map(field => [field, presentBand(viewIn(recorded, timeframe, field, day), FIRST_DAY)]),
  )
}

// With the law above, what a day shows the next day shows too.
describe('P20: what is filled never changes when bars are appended', () => {
  everywhere(
    (bars, what, seed) => {
      const cut = bars.slice(0, 1 + Math.floor(randomNumbers(seed)() * bars.length))
      for (const timeframe of TIMEFRAMES)
        expectKept(shown(recording(cut), timeframe), shown(recording(bars), timeframe), `${what}, ${timeframe}`)
    },
    { runs: 60, longest: 900 },
  )
})

/** Every event is still there, and of each only nulls have been filled. */
function expectKept(before: Shown, after: Shown, what: string): void {
  for (const [field, events] of Object.entries(before)) {
    const later = after[field]!
    expect(later.length, `${what}, ${field}`).toBeGreaterThanOrEqual(events.length)
    for (const [i, event] of events.entries()) {
      if (!isKept(event, later[i]!)) expect(later[i], `${what}, ${field}, event ${i}`).toEqual(event)
    }
  }
}

function isKept(before: Event, after: Event): boolean {
  const leaves = (event: Event): unknown[] => [
    event.date,
    event.band,
    event.prev_band,
    event.stability_at_entry,
    event.flips_recent_at_entry,
    event.duration,
    ...Object.values(event.aftermath),
    ...Object.values(event.returns),
    ...Object.values(event.percentiles),
  ]
  const filled = leaves(after)
  return leaves(before).every((value, i) => value === null || value === filled[i])
}
