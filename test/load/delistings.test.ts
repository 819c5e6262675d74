import { describe, expect, it } from 'vitest'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { MarketBars } from '../../src/core/source.js'
import type { Importer } from '../../src/data/load/import.js'
import { Cache } from '../../src/data/local/cache.js'
import { knownFacts } from '../../src/data/local/facts.js'
import { Local } from '../../src/data/local/local.js'
import { verify } from '../../src/data/local/verify.js'
import { forwardReturns, lostWindowsOf } from '../../src/research/study/signals.js'
import { readFacts, refused } from '../feeds/files.js'
import { series } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { barsIn } from '../support/source.js'
import { emptyImporter } from '../support/store.js'

/** Bars of GONE from Monday 2018-01-01 to Friday 2018-02-09, and of STAYS four weeks longer. */
const GONE = seriesOf(series(Array.from({ length: 30 }, (_, t) => 100 - t)))
const STAYS = seriesOf(series(Array.from({ length: 50 }, (_, t) => 100 + t)))
const LAST_CLOSE = 71

async function loaded(securities: string): Promise<Importer> {
  const importer = await emptyImporter()
  const source = { prices: 'raw' as const, source: 'test', format: 'bars' }
  await importer.put([
    { ticker: 'GONE', bars: GONE, ...source },
    { ticker: 'STAYS', bars: STAYS, ...source },
  ])
  await give(importer, securities)
  return importer
}

async function give(importer: Importer, securities: string): Promise<void> {
  const { facts, format } = await readFacts(securities)
  await importer.putFacts(facts, { file: 'securities.csv', format })
}

async function barsOf({ store }: Importer, asOf: string | null = null, ticker = 'GONE') {
  const market = new Local(store, 'pro', asOf === null ? null : parseDay(asOf))
  const bars = await barsIn(market, ticker, 'daily')
  return { market, bars, remarks: market.remarks() }
}

function told({ delisting }: MarketBars): unknown {
  return delisting === null ? null : { day: formatDay(delisting.day), price: delisting.price }
}

describe('a delisting', () => {
  it('is known by its final price, or by the return from the last close', async () => {
    const price = await loaded('ticker,delisted,delisting_price\nGONE,2018-02-12,35.5\n')
    expect(told((await barsOf(price)).bars)).toEqual({ day: '2018-02-12', price: 35.5 })
    const back = await loaded('ticker,delisted,delisting_return\nGONE,2018-02-12,-0.5\n')
    expect(told((await barsOf(back)).bars)).toEqual({ day: '2018-02-12', price: LAST_CLOSE / 2 })
    const nothing = await loaded('ticker,delisted,delisting_return\nGONE,2018-02-12,-1\n')
    expect(told((await barsOf(nothing)).bars)).toEqual({ day: '2018-02-12', price: 0 })
    expect((await barsOf(back, null, 'STAYS')).bars.delisting).toBeNull()
  })

  it('ends the windows that reach it: (1 + return) (1 + delisting return) - 1', async () => {
    const { bars } = await barsOf(await loaded('ticker,delisted,delisting_return\nGONE,2018-02-12,-0.3\n'))
    const returns = forwardReturns(bars, 20)
    for (const t of [10, 20, 29]) expect(returns[t]).toBeCloseTo((LAST_CLOSE / (100 - t)) * 0.7 - 1, 12)
    expect(returns[9]).toBeCloseTo(LAST_CLOSE / 91 - 1, 12)
  })

  it('loses windows if it is unknown', async () => {
    const { market, bars, remarks } = await barsOf(await loaded('ticker,sector\nGONE,Energy\n'))
    expect(bars.delisting).toBeNull()
    expect(remarks).toEqual([])
    expect(forwardReturns(bars, 20).filter(Number.isNaN)).toHaveLength(20)
    expect(lostWindowsOf(bars, 20, [...bars.series.days.keys()], await market.asOfDay())).toMatchObject({
      delisted: 20,
    })
  })

  it('is known on its day, and not before', async () => {
    const importer = await loaded('ticker,delisted,delisting_price,sector\nGONE,2018-02-12,35.5,Energy\n')
    expect(told((await barsOf(importer, '2018-02-11')).bars)).toBeNull()
    expect(told((await barsOf(importer, '2018-02-12')).bars)).toEqual({ day: '2018-02-12', price: 35.5 })
    const shown = async (asOf: string | null) => {
      const day = asOf === null ? null : parseDay(asOf)
      return knownFacts(new Cache(importer.store, 'pro', day), { ticker: 'GONE' })
    }
    for (const asOf of [null, '2018-02-12']) {
      const { security, records } = await shown(asOf)
      expect(security).toMatchObject({ sector: 'Energy', delisted: '2018-02-12', delisting_price: 35.5 })
      expect(records).toMatchObject([{ delisted: '2018-02-12', delisting_price: 35.5, delisting_return: null }])
    }
    const before = await shown('2018-02-11')
    expect(JSON.stringify(before)).not.toMatch(/2018-02-12|35\.5/)
    expect(before.security).toEqual({ sector: 'Energy', asset_class: null, market_cap: null, name: null })
  })

  it.each([
    ['2018-02-08,35.5', 'it has bars up to 2018-02-09'],
    ['2018-03-09,35.5', null],
    ['2018-03-13,35.5', 'its bars end with 2018-02-09 already'],
    ['2018-02-12,', 'neither delisting_price nor delisting_return is known'],
  ])('that says %s is left aside where it does not fit the bars, and that is said', async (record, why) => {
    // Bars of another ticker make it later than all of these days.
    const { bars, remarks } = await barsOf(
      await loaded(`ticker,delisted,delisting_price\nGONE,${record}\n`),
      '2018-04-01',
    )
    expect(bars.delisting === null).toBe(why !== null)
    expect(remarks).toEqual(
      why === null
        ? []
        : [
            `GONE was delisted on ${record.slice(0, 10)}, but ${why}: windows that reach beyond its bars have no return.`,
          ],
    )
  })

  it('moves no event and no band, and is kept as it was given', async () => {
    const importer = await loaded('ticker,delisted,delisting_price\nGONE,2018-02-12,35.5\n')
    expect(await verify(importer, { deep: true })).toEqual([])
    await give(importer, 'ticker,sector\nGONE,Energy\n')
    expect((await importer.store.securities()).get('GONE')).toMatchObject({ sector: 'Energy', delisting_price: 35.5 })
    await give(importer, 'ticker,delisted,delisting_price\nGONE,2018-02-12,20\n')
    expect(told((await barsOf(importer)).bars)).toEqual({ day: '2018-02-12', price: 20 })
    await give(importer, 'ticker,delisted,delisting_price\nSTAYS,2018-03-12,20\n')
    // As before there were such columns: nothing is kept of what nobody told.
    await give(importer, 'ticker,sector\nBARE,Energy\n')
    expect(Object.keys((await importer.store.securities()).get('BARE')!)).toEqual([
      'sector',
      'asset_class',
      'market_cap',
      'name',
    ])
  })

  it.each([
    ['ticker,delisted,delisting_return\nGONE,2018-02-12,-1.5\n', 'delisting_return "-1.5" is below -1'],
    ['ticker,delisted,delisting_price\nGONE,2018-02-12,-3\n', 'delisting_price "-3" is below 0'],
    ['ticker,delisted,delisting_price\nGONE,,3\n', 'delisted is empty'],
    ['ticker,delisted,delisting_price\nGONE,2018-02-30,3\n', '2018-02-30'],
    [
      'ticker,delisted,delisting_price,delisting_return\nGONE,2018-02-12,3,-0.5\n',
      'delisting_price and delisting_return say the same; give one of them',
    ],
  ])('is refused where it cannot be: %j', async (text, reason) => {
    expect(await refused(text)).toContain(reason)
  })
})
