import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { firstBarNeededForLabels, firstChangedBars, recordTail } from '../../src/core/engine/record.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { firstBars, type Series } from '../../src/core/model/series.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { decodeTail } from '../../src/data/store/codec.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { Database } from '../support/database.js'
import { recordOf, temporaryFolder } from '../support/store.js'

const BARS = 900
const { ticker, bars: WHOLE } = simulatedTicker(1, { count: 1, bars: BARS, seed: 7, end: 17_000 })

it('writes only the chunks that differ', async () => {
  const [store, path] = opened()
  onTestFinished(() => store.close())
  const bars = copied(WHOLE, 700, false)
  await store.write({ records: [recordOf({ ticker, series: bars }), recordOf(OTHER)] }, DEFINITIONS_VERSION)
  const db = new Database(path)
  onTestFinished(() => void db.close())
  db.exec(`CREATE TABLE written (ticker_id, timeframe, part, chunk);
    CREATE TRIGGER new AFTER INSERT ON chunks BEGIN INSERT INTO written VALUES (NEW.ticker_id, NEW.timeframe, NEW.part, NEW.chunk); END;
    CREATE TRIGGER changed AFTER UPDATE ON chunks BEGIN INSERT INTO written VALUES (NEW.ticker_id, NEW.timeframe, NEW.part, NEW.chunk); END`)
  const written = () =>
    db.prepare('DELETE FROM written RETURNING timeframe, part, chunk').raw().all().map(String).sort()
  await store.write({ records: [recordOf({ ticker, series: bars }), recordOf(OTHER)] }, DEFINITIONS_VERSION)
  expect(written()).toEqual([])
  const next = copied(WHOLE, 701, false)
  await store.write(
    { records: [{ ...recordOf({ ticker, series: next }), ...(await tailOf(store, next, 700)) }] },
    DEFINITIONS_VERSION,
  )
  // No band changed on that bar.
  const ends = ['daily,calendar,3', 'daily,outcomes,3', 'daily,prices,3', 'weekly,calendar,1', 'weekly,outcomes,1']
  expect(written()).toEqual(ends)
})

/** What is written of a ticker from one of its bars on. */
async function tailOf(store: Store, bars: Series, bar: number) {
  const since = firstChangedBars(bars.days, bar)
  const from = {
    daily: firstBarNeededForLabels('daily', since.daily),
    weekly: firstBarNeededForLabels('weekly', since.weekly),
  }
  const stored = (await store.tail(ticker, since, from))!
  const recorded = { daily: decodeTail(stored.daily)!, weekly: decodeTail(stored.weekly)! }
  return { ...recordTail(bars, null, null, { since, recorded })!, stored }
}

const OTHER = { ticker: 'OTHER', series: copied(WHOLE, 300, false) }

/** The first bars, with columns of their own. */
function copied(series: Series, count: number, paid: boolean): Series {
  const { timeframe, unadjustedClose: _none, ...columns } = firstBars(series, count)
  const own = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column.slice()]))
  const copy = { timeframe, ...own } as Series
  copy.known = copy.days
  if (paid) copy.unadjustedClose = copy.close.map(close => close * 1.25)
  return copy
}

function opened(): [store: Store, path: string] {
  const path = join(temporaryFolder(), 'bands.db')
  return [openSqlite(path, { readonly: false }), path]
}
