import { expect, it } from 'vitest'
import { eventStudy } from '../../src/study/event-study.js'
import { seriesOf } from '../support/convert.js'
import { loadPrices } from '../support/shared-bars.js'
import { cacheOf } from '../support/store.js'
import { queryOf } from './support/query.js'

const SPY = loadPrices('SPY')

/** From the specification of studies: SPY 1999-11 to 2020-08, unadjusted, rsi_zone oversold, 20 bars, close to close. */
it.skipIf(SPY === null)('finds the published figures of SPY oversold (needs ../shared)', async () => {
  const local = await cacheOf([{ ticker: 'SPY', series: seriesOf(SPY!) }])
  const market = local
  const asked = queryOf({ tickers: ['SPY'], bands: ['oversold'], horizons: [20], reps: 'all' })
  const [window] = (await eventStudy(market, asked)).windows
  expect(window).toMatchObject({ window: '20d', events: 52, n: 52, n_indep: 29, base: { n: 5207 } })
  expect(100 * window!.mean!).toBeCloseTo(3.5574, 4)
  expect(100 * window!.base.mean!).toBeCloseTo(0.4506, 4)
  const [shift] = window!.tests
  expect(shift).toMatchObject({ test: 'shift', name: 'joint circular shift, 5168 shifts' })
  expect(shift!.p!).toBeCloseTo(0.001935, 6)
})
