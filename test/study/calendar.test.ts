import { describe, expect, it } from 'vitest'
import { Random } from '../../src/statistics/random.js'
import { placesIn, unionCalendar } from '../../src/study/signals.js'

describe('the calendar of several tickers', () => {
  it('has every day of each once, ascending, and says where each lies', () => {
    const random = new Random(1)
    for (let run = 0; run < 200; run++) {
      const columns = Array.from({ length: random.below(5) }, () => someDays(random))
      const calendar = unionCalendar(columns)
      const expected = [...new Set(columns.flatMap(column => [...column]))].sort((a, b) => a - b)
      expect([...calendar]).toEqual(expected)
      for (const column of columns)
        expect([...placesIn(calendar, column)]).toEqual([...column].map(day => expected.indexOf(day)))
    }
  })

  it('has no place for a day on which none of them trades', () => {
    expect([...placesIn(Int32Array.of(1, 3, 5), Int32Array.of(0, 3, 4, 5, 6))]).toEqual([-1, 1, -1, 2, -1])
  })

  it('is empty without tickers, and without bars', () => {
    expect(unionCalendar([])).toHaveLength(0)
    expect(unionCalendar([new Int32Array(), new Int32Array()])).toHaveLength(0)
  })
})

/** Ascending days, before 1970 too. */
function someDays(random: Random): Int32Array {
  const days = new Set(Array.from({ length: random.below(40) }, () => random.below(60) - 30))
  return Int32Array.from(days).sort()
}
