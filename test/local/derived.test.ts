import { expect, it } from 'vitest'
import { DerivedCache } from '../../src/data/local/derived.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { withOverrides } from '../../src/data/store/cached-store.js'
import type { SeriesQuery, Store } from '../../src/data/store/store.js'
import { cacheOf } from '../support/store.js'

const TICKERS = [...simulatedTickers({ count: 3, bars: 400, seed: 7, end: 17_000 })]
const [ONE, TWO] = TICKERS.map(({ ticker }) => ticker) as [string, string]
const CONDITION = 'rsi_zone = neutral and volume_ratio_band = normal'

/** A store of three tickers, whoever asks it of which series, and one caller that keeps so many bytes. */
async function keeping(bytes: number) {
  const { store } = await cacheOf(TICKERS.map(({ ticker, bars }) => ({ ticker, series: bars })))
  const read: string[] = []
  const counted: Store = withOverrides(store, {
    series(query: SeriesQuery) {
      read.push(...query.tickers)
      return store.series(query)
    },
  })
  const local = new Local(counted, null, null, { derived: new DerivedCache(bytes) })
  const ask = (ticker: string, lag?: number) => local.recorded(ticker, 'daily', CONDITION, lag)
  return { read, ask, close: () => store.close() }
}

it('makes the record of a condition once, each ticker and lag for itself', async () => {
  const { read, ask, close } = await keeping(2 ** 24)
  const first = await ask(ONE)
  expect(await ask(ONE)).toEqual(first)
  expect(read).toEqual([ONE])
  await ask(TWO)
  await ask(ONE, 1)
  await ask(ONE)
  expect(read).toEqual([ONE, TWO, ONE])
  await close()
})

it('lets go what was asked for longest ago where there is no room, and keeps nothing without any', async () => {
  const { ask, close } = await keeping(2 ** 24)
  const { calendar, outcomes, field } = await ask(ONE)
  await close()
  const columns = [calendar.days, calendar.known, outcomes.close, ...outcomes.ranks, field!.bars]
  const bytes = columns.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const tight = await keeping(1.6 * bytes)
  for (const ticker of [ONE, ONE, TWO, TWO, ONE]) await tight.ask(ticker)
  expect(tight.read).toEqual([ONE, TWO, ONE])
  await tight.close()
  const none = await keeping(0)
  for (const ticker of [ONE, ONE]) await none.ask(ticker)
  expect(none.read).toEqual([ONE, ONE])
  await none.close()
})
