import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeStatus } from '../../src/app/present/data.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { firstBars, sliceBars } from '../../src/core/model/series.js'
import { Cache } from '../../src/data/local/cache.js'
import { type Check, doctor } from '../../src/data/local/doctor.js'
import { status } from '../../src/data/local/status.js'
import { emptyImporter, fixture, storeOf, type TickerFixture, temporaryFolder } from '../support/store.js'

/** 2018-03-28, on which the fixtures end. */
const TODAY = parseDay('2018-03-28')!

/** What status and doctor say of a database that has these tickers. */
async function said(fixtures: readonly TickerFixture[], today = TODAY) {
  const folder = temporaryFolder()
  await (await storeOf(fixtures, folder)).close()
  return saidOf(folder, today)
}

async function saidOf(folder: string, today = TODAY, asOf: string | null = null) {
  const importer = await emptyImporter(folder)
  const found = await status(
    new Cache(importer.store, null, asOf === null ? null : parseDay(asOf), { now: () => today }),
  )
  await importer.close()
  const diagnosis = await doctor({ database: join(folder, 'bands.db'), node: '24.0.0', abi: '137', today })
  const checks = diagnosis.checks.filter(({ name }) => name === 'bars')
  const described = describeStatus({ ...found, pulled: [] }, today)
  const notes = described.paragraphs.flatMap(({ parts }) => parts.flatMap(one => ('notes' in one ? one.notes : [])))
  return { oddities: found.oddities, checks, notes, rows: [...described.rows] }
}

const three = [fixture(1, 300), fixture(2, 300), fixture(3, 300)]
const ok = (checks: readonly Check[]): boolean => checks.every(({ outcome }) => outcome === 'ok')

describe('an accepted jump', () => {
  it('goes on being shown by status and doctor, until one file brings the whole history', async () => {
    const folder = temporaryFolder()
    const { series } = three[0]!
    const put = async (bars: typeof series, source: string, options = {}): Promise<void> => {
      const importer = await emptyImporter(folder)
      await importer.put([{ ticker: 'ABC', prices: 'raw', source, format: 'csv', bars }], options)
      await importer.close()
    }
    const quiet = series.close.findIndex((close, t) => t > 150 && Math.abs(close / series.close[t - 1]! - 1) < 0.01)
    const old = firstBars(series, quiet)
    const [open, high, low, close] = [old.open, old.high, old.low, old.close].map(one => one.map(price => price * 4))
    await put({ ...old, open: open!, high: high!, low: low!, close: close! }, 'old.csv')
    await put(sliceBars(series, quiet), 'new.csv', { acceptJump: true })
    const { oddities, checks, notes } = await saidOf(folder)
    const date = formatDay(series.days[quiet]!)
    expect(oddities).toEqual([{ kind: 'accepted_jump', ticker: 'ABC', date, factor: 0.25, bars: null }])
    const remedy = ['import the whole history of each in one file']
    expect(checks).toMatchObject([{ outcome: 'warn', detail: `accepted jumps: ABC times 0.25 on ${date}`, remedy }])
    expect(notes).toContain(`warning: accepted jumps: ABC times 0.25 on ${date}; bands doctor shows the remedy`)
    expect((await saidOf(folder, TODAY, formatDay(series.days[quiet - 1]!))).oddities).toEqual([])
    await put(series, 'whole.csv')
    expect(await saidOf(folder)).toMatchObject({ oddities: [], checks: [{ outcome: 'ok' }] })
  })
})

describe('bars that open or close outside their high and low', () => {
  it('are counted ticker by ticker, by more than rounding, up to the day that is asked about', async () => {
    const folder = temporaryFolder()
    const { series } = three[0]!
    const close = series.close.slice()
    const open = series.open.slice()
    const high = series.high.slice()
    close[100] = series.high[100]! * 1.02
    open[150] = series.low[150]! * 0.98
    // The close of a bar at its high, which was written with fewer digits.
    high[200] = Math.max(open[200]!, close[200]!) * 0.9995
    await (await storeOf([{ ticker: 'ABC', series: { ...series, close, open, high } }, three[1]!], folder)).close()
    const { oddities, checks, notes, rows } = await saidOf(folder)
    const date = formatDay(series.days[150]!)
    expect(rows).toMatchObject([
      { ticker: 'ABC', oddities: 'outside_range', outside_range: 2 },
      { oddities: '', outside_range: 0 },
    ])
    expect(oddities).toEqual([{ kind: 'outside_range', ticker: 'ABC', date, factor: null, bars: 2 }])
    const detail = `bars that open or close outside their high and low: ABC 2, the last on ${date}`
    expect(checks).toMatchObject([{ outcome: 'warn', detail }])
    expect(notes).toContain(`warning: ${detail}; bands doctor shows the remedy`)
    const before = await saidOf(folder, TODAY, formatDay(series.days[149]!))
    expect(before.oddities).toMatchObject([{ bars: 1, date: formatDay(series.days[100]!) }])
    expect(before.notes.join()).toContain(`ABC one, on ${formatDay(series.days[100]!)}`)
  })
})

describe('bars to come', () => {
  it('are named by doctor where no other bars are stored', async () => {
    const { checks } = await said(three, parseDay('2010-01-04')!)
    expect(checks).toMatchObject([
      { outcome: 'warn', detail: expect.stringMatching(/^bars to come, which do not count: /) },
    ])
  })
})

describe('last bars', () => {
  it('far behind those of the others are named, and not where the ticker was delisted', async () => {
    const folder = temporaryFolder()
    const old = { ticker: 'OLD', series: firstBars(fixture(4, 300).series, 260) }
    await (await storeOf([...three, old], folder)).close()
    const { oddities, checks } = await saidOf(folder)
    expect(oddities).toEqual([{ kind: 'far_behind', ticker: 'OLD', date: '2018-01-31', factor: null, bars: null }])
    expect(checks[0]!.detail).toBe('last bars more than 30 days before those of most tickers: OLD 2018-01-31')
    const importer = await emptyImporter(folder)
    const security = {
      name: null,
      sector: null,
      asset_class: null,
      market_cap: null,
      delisted: parseDay('2018-01-31')!,
    }
    const facts = [{ ticker: 'OLD', kind: 'securities' as const, records: [security] }]
    await importer.putFacts(facts, { file: 'securities.csv', format: 'securities csv' })
    await importer.close()
    expect(await saidOf(folder)).toMatchObject({ oddities: [], checks: [{ outcome: 'ok' }] })
  })

  it('30 days apart are near enough', async () => {
    const { series } = fixture(4, 300)
    const late = series.days.findLastIndex(day => day >= TODAY - 30 && day <= TODAY - 28)
    const { oddities, checks } = await said([...three, { ticker: 'LATE', series: firstBars(series, late + 1) }])
    expect(oddities).toEqual([])
    expect(ok(checks)).toBe(true)
  })

  it('far beyond those of the others are named', async () => {
    const { oddities } = await said([...three, slipped('2019-03-28')], parseDay('2024-01-02')!)
    expect(oddities).toEqual([{ kind: 'far_beyond', ticker: 'SLIP', date: '2019-03-28', factor: null, bars: null }])
  })

  it('of days to come are named with what takes them out, and leave the others where they are', async () => {
    const { oddities, checks, notes } = await said([...three, slipped('2062-03-28')])
    expect(oddities).toEqual([{ kind: 'to_come', ticker: 'SLIP', date: '2062-03-28', factor: null, bars: null }])
    expect(checks).toMatchObject([
      {
        outcome: 'warn',
        detail: 'bars to come, which do not count: SLIP up to 2062-03-28',
        remedy: [{ command: 'remove', words: ['SLIP'], params: { after: 'DATE' } }, ' takes them out'],
      },
    ])
    expect(notes.join()).toContain('bars to come, which do not count: SLIP up to 2062-03-28')
  })
})

/** A ticker with a slip in the date of its last bar. */
function slipped(date: string): TickerFixture {
  const { series } = fixture(4, 300)
  const days = series.days.slice()
  days[days.length - 1] = parseDay(date)!
  return { ticker: 'SLIP', series: { ...series, days, known: days } }
}
