import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDay, mondayOf, parseDay, weekdayOf, yearOf, yearsBefore } from '../../src/core/model/day.js'

const FIRST = Date.parse('0001-01-01') / 86_400_000
const LAST = Date.parse('9999-12-31') / 86_400_000
const days = fc.integer({ min: FIRST, max: LAST })
const RUNS = { numRuns: 5_000, seed: 1 }

describe('a day and its text', () => {
  it('count days from 1970-01-01', () => {
    expect(parseDay('1970-01-01')).toBe(0)
    expect(parseDay('1969-12-31')).toBe(-1)
    expect(parseDay('2024-02-29')).toBe(19_782)
    expect(formatDay(19_782)).toBe('2024-02-29')
  })

  it('are the same of every day from year 1 to 9999, and agree with Date', () => {
    fc.assert(
      fc.property(days, day => {
        const text = formatDay(day)
        expect(parseDay(text)).toBe(day)
        expect(Date.parse(text) / 86_400_000).toBe(day)
        expect(yearOf(day)).toBe(Number(text.slice(0, 4)))
      }),
      RUNS,
    )
  })

  it('refuse what is no date of the calendar, or written otherwise', () => {
    const noDates = [
      '2023-02-29',
      '1900-02-29',
      '2100-02-29',
      '2024-02-30',
      '2024-04-31',
      '2024-13-01',
      '2024-00-10',
      '2024-01-00',
    ]
    const otherwise = ['2024-1-5', '24-01-05', '20240105', '2024/01/05', '2024-01-05 ', ' 2024-01-05', '2024-01-05\n']
    const more = ['2024-01-05T00:00', '+2024-01-05', '-2024-01-05', '２０２４-01-05', '']
    for (const text of [...noDates, ...otherwise, ...more]) expect(parseDay(text), text).toBeNull()
  })
})

describe('ISO weeks', () => {
  it('begin on Monday, and hold each day once', () => {
    fc.assert(
      fc.property(days, day => {
        expect(weekdayOf(day)).toBe((new Date(day * 86_400_000).getUTCDay() + 6) % 7)
        expect(day - mondayOf(day)).toBe(weekdayOf(day))
        expect(weekdayOf(mondayOf(day))).toBe(0)
      }),
      RUNS,
    )
  })
})

describe('years before a day', () => {
  it.each([
    ['2024-02-29', 1, '2023-02-28'],
    ['2024-02-29', 2, '2022-02-28'],
    ['2024-02-29', 5, '2019-02-28'],
    ['2024-02-29', 4, '2020-02-29'],
    ['2023-02-28', 3, '2020-02-28'],
    ['2024-03-01', 1, '2023-03-01'],
    ['2000-01-01', 5, '1995-01-01'],
    ['2018-05-11', 2, '2016-05-11'],
  ])('%s, %d years', (day, years, before) => {
    expect(formatDay(yearsBefore(parseDay(day)!, years))).toBe(before)
  })
})
