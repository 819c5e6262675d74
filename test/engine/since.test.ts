import { expect, it } from 'vitest'
import { firstChangedBars, record } from '../../src/core/engine/record.js'
import { seriesOf } from '../support/convert.js'
import { forRandomBars } from './drawn.js'

it('takes for the first changed week the one that has the first changed day', () => {
  forRandomBars({ runs: 10, longest: 300 }, (bars, { seed }) => {
    const series = seriesOf(bars)
    const first = seed % bars.length
    const { weekly } = record(series)
    const since = firstChangedBars(series.days, first)
    const before = weekly.series.days[since.weekly - 1] ?? Number.NEGATIVE_INFINITY
    expect(before).toBeLessThan(series.days[first]!)
    expect(weekly.series.days[since.weekly]).toBeGreaterThanOrEqual(series.days[first]!)
  })
})
