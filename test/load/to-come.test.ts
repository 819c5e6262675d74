import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { parseEvents } from '../../src/core/params/questions.js'
import { verify } from '../../src/data/local/verify.js'
import { only, read, refusal, rowsOf } from '../feeds/files.js'
import { cacheOf, emptyImporter, fixture, recordOf, type TickerFixture } from '../support/store.js'

const day = (text: string): number => parseDay(text)!
const HEADER = 'date,open,high,low,close,volume'
const file = (...dates: string[]): string => [HEADER, ...dates.map(date => `${date},10,12,9,11,100`), ''].join('\n')

describe('a bar of a day to come', () => {
  const today = day('2024-02-28')

  it('is a bad row from the day after tomorrow on, by the clock that is lent', async () => {
    const bars = only(await read('X.csv', file('2024-02-28', '2024-02-29'), { today }))
    expect(rowsOf(bars).map(([date]) => date)).toEqual(['2024-02-28', '2024-02-29'])
    expect(await refusal('X.csv', file('2024-02-28', '2024-03-01'), { today })).toBe(
      'X.csv:3:1: date 2024-03-01 is yet to come: the last day that can have a bar is 2024-02-29; skip_bad_rows loads the rest',
    )
  })

  it('is one in JSON too, and by the clock of this machine where none is lent', async () => {
    const rows = ['2024-02-28', '9000-01-03'].map(date => ({ date, open: 10, high: 12, low: 9, close: 11, volume: 1 }))
    expect(await refusal('X.json', JSON.stringify(rows))).toMatch(/^X\.json:1:\d+: date 9000-01-03 is yet to come/)
  })

  it('is left out with the other bad rows', async () => {
    const result = await read('X.csv', file('2024-02-28', '2062-02-27'), { today, skipBadRows: true })
    expect(rowsOf(only(result)).map(([date]) => date)).toEqual(['2024-02-28'])
    expect(result.rejected).toMatchObject([{ line: 3, column: 1 }])
  })
})

it('a bar from before 1800 is a bad row', async () => {
  expect(rowsOf(only(await read('X.csv', file('1800-01-01'))))).toHaveLength(1)
  expect(await refusal('X.csv', file('1799-12-31', '1800-01-02'))).toBe(
    'X.csv:2:1: date 1799-12-31 is before 1800, and no bars are that old; skip_bad_rows loads the rest',
  )
})

/** A ticker whose last bar an older version stored with a slip in its date. */
function slipped(): TickerFixture {
  const { series } = fixture(2)
  const days = series.days.slice()
  days[days.length - 1] = day('2062-03-28')
  return { ticker: 'SLIP', series: { ...series, days, known: days } }
}

describe('a stored bar of a day to come', () => {
  const query = parseEvents({ ticker: 'SIM0001', field: 'rsi_zone', limit: 100 })

  it('does not count for today, and empties no other answer', async () => {
    const alone = await cacheOf([fixture()])
    const beside = await cacheOf([fixture(), slipped()])
    expect(await beside.today()).toBe(day('2018-03-28'))
    expect(await beside.events(query)).toEqual(await alone.events(query))
    expect((await beside.events(query)).total_occurrences).toBeGreaterThan(0)
  })

  it('is not shown of its own ticker either', async () => {
    const cache = await cacheOf([slipped()])
    const last = slipped().series.days.at(-2)!
    expect(await cache.today()).toBe(last)
    expect((await cache.series('SLIP', 'daily')).days.at(-1)).toBe(last)
    expect((await cache.view('SLIP', 'daily', 'rsi_zone')).bars).toBe(slipped().series.days.length - 1)
  })

  it('is taken out by the day after which it lies, and leaves what would be there without it', async () => {
    const importer = await emptyImporter()
    await importer.store.write({ records: [recordOf(slipped())] }, DEFINITIONS_VERSION)
    const { series } = slipped()
    expect(await importer.removeAfter('SLIP', day('2018-03-28'))).toBe(1)
    expect(await importer.removeAfter('SLIP', day('2018-03-28'))).toBe(0)
    expect(await importer.removeAfter('NONE', day('2018-03-28'))).toBeNull()
    const entry = { bars: series.days.length - 1, first: series.days[0], last: series.days.at(-2), source: 'SLIP.csv' }
    expect(await importer.store.ticker('SLIP')).toMatchObject(entry)
    expect((await importer.store.bars('SLIP'))!.close).toEqual(series.close.slice(0, -1))
    expect(await verify(importer, { deep: true })).toEqual([])
  })

  it('does not take its whole ticker with it', async () => {
    const importer = await emptyImporter()
    await importer.store.write({ records: [recordOf(slipped())] }, DEFINITIONS_VERSION)
    await expect(importer.removeAfter('SLIP', day('1990-01-01'))).rejects.toThrow(
      'every bar of SLIP is after 1990-01-01; without a date the whole ticker is removed.',
    )
  })
})
