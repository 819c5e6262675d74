import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { parseDay } from '../../src/core/model/day.js'
import { barsToCsv, simulatedTicker } from '../../src/data/simulate/simulate.js'
import { type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const db = folder.file('bands.db')
const ask = (line: string, lent = {}): Promise<Ran> => typed(line, { ...lent, env: { BANDS_DB: db } })
const json = async (line: string) => JSON.parse((await ask(`${line} --json`)).out)

/** Its last bar, a Friday. */
const LAST = '2016-07-15'
const NEWEST = '2024-10-04'

/** Answers about the ticker that stopped, each with the day in use as `D`. */
async function answers(): Promise<Record<string, string>> {
  const lines = [
    ...['rsi_zone', 'rsi_zone --timeframe weekly', 'pe_vs_sector'].map(of => `events SIM0001 ${of}`),
    'events SIM0001 rsi_zone --band oversold --context SIM0002:trend_direction=uptrend',
    'tally SIM0001 rsi_zone --band oversold',
    'transitions SIM0001 rsi_zone',
    'now SIM0001',
    'now SIM0001 --timeframe weekly',
    'show SIM0001 macd_state',
    'explain SIM0001 rsi_zone',
    'study SIM0001 rsi_zone --band oversold --horizon 5 --tests "bootstrap 99"',
    'backtest SIM0001 rsi_zone --band oversold --hold 5',
  ]
  const found: Record<string, string> = {}
  for (const line of lines)
    for (const form of ['--json', '--csv', '--output table']) {
      const { code, out } = await ask(`${line} ${form}`)
      expect(code, line).toBe(0)
      // Where the day in use is later than the last bar, that one stands beside it.
      const text = out.replaceAll(/("as_of": ?"|as of )[\d-]+/g, '$1D').replace(`, last bar ${LAST}`, '')
      found[`${line} ${form}`] = text.replaceAll(LAST, 'L')
    }
  return found
}

let before: Record<string, string>
beforeAll(async () => {
  expect((await ask(`simulate 2 --bars 1500 --seed 3 --end ${LAST} --load`)).code).toBe(0)
  before = await answers()
  const newer = simulatedTicker(9, { count: 9, bars: 400, seed: 5, end: parseDay(NEWEST)! })
  writeFileSync(folder.file('SIM0009.csv'), [...barsToCsv([newer])].join(''))
  expect((await ask(`import ${folder.file('SIM0009.csv')}`)).code).toBe(0)
  expect((await json('status')).last).toBe(NEWEST)
})
afterAll(folder.remove)

describe('without a tier', () => {
  test('a newer ticker changes nothing about another', async () => {
    const after = await answers()
    // Of rows for machines the day in use is a column.
    // The trial log counts the first answers, too.
    const withoutLog = (text: string): string =>
      text.replace(/\sOne\sof\s\d+\squestions[\s\S]*?\.(?=\n)/g, '').replaceAll(/"log":(\{[^}]*\}|null)/g, '')
    for (const [line, text] of Object.entries(before))
      expect(withoutLog(after[line]!.replaceAll(NEWEST, 'L')), line).toBe(withoutLog(text))
  })

  test('all loaded data count, and the range is reported as all', async () => {
    const page = await json('events SIM0001 rsi_zone')
    expect(page.query_range).toBe('all')
    const { events } = await (await openBands({ db })).history({ ticker: 'SIM0001', field: 'rsi_zone' })
    expect(page.total_occurrences).toBe(events.length)
    expect(events[0]!.date < '2012-01-01').toBe(true)
    expect((await json('events SIM0001 rsi_zone --tier pro')).total_occurrences).toBe(0)
    const tally = await json('tally SIM0001 rsi_zone')
    const now = await json('now SIM0001')
    expect([tally.query_range, tally.after, now.query_range]).toEqual(['all', null, 'all'])
    expect(now.states).toHaveLength(21)
    expect(await json('events SIM0001 insider_activity_zone')).toMatchObject({ query_range: 'all' })
  })

  test('a limit is any number from 1, or all', async () => {
    const { total_occurrences: total } = await json('events SIM0001 rsi_zone')
    expect(total).toBeGreaterThan(101)
    for (const [limit, shown] of [
      ['all', total],
      ['101', 101],
      ['100000', total],
    ] as const)
      expect((await json(`events SIM0001 rsi_zone --limit ${limit}`)).events).toHaveLength(shown)
    expect((await ask('scan oversold --limit all --json')).code).toBe(0)
    const refused = await ask('events SIM0001 rsi_zone --limit 0')
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('an integer from 1, or all')])
    const { err } = await ask('events SIM0001 rsi_zone')
    expect(err).toBe(`${total - 10} older events are left out: --limit ${total} shows them.\n`)
  })

  test('now counts the stays of a ticker whose bars ended long ago', async () => {
    const { states } = await json('now SIM0001 --field rsi_zone')
    expect(states[0]).toMatchObject({ since: expect.any(String), bars: expect.any(Number) })
    expect(states[0].completed_stays.n).toBeGreaterThan(0)
    const { out } = await ask('now SIM0001 --field rsi_zone', { terminal: 120 })
    expect(unpainted(out)).toContain('of STAYS in all dates.')
  })
})

describe('with a tier', () => {
  test.each([
    ['free', '90d'],
    ['plus', '2y'],
    ['pro', '5y'],
  ])('%s, the range, the fields and the limit are those of its subscribers', async (tier, range) => {
    expect((await json(`events SIM0009 rsi_zone --tier ${tier}`)).query_range).toBe(range)
    expect((await ask(`events SIM0001 insider_activity_zone --tier ${tier}`)).code).toBe(tier === 'pro' ? 0 : 4)
    for (const line of ['events SIM0009 rsi_zone', 'scan oversold'])
      for (const limit of ['101', 'all']) {
        const { code, err } = await ask(`${line} --tier ${tier} --limit ${limit}`)
        expect([code, err]).toEqual([2, expect.stringContaining('an integer from 1 to 100')])
      }
  })

  test('now does not call stays that lie out of its range none', async () => {
    const { out } = await ask('now SIM0001 --field rsi_zone --tier plus', { terminal: 120 })
    expect(unpainted(out).trimEnd()).toMatch(/STAYS\n.* -\n\nBARS: /)
    expect((await json('now SIM0001 --field rsi_zone --tier plus')).states[0].reasons.completed_stays).toBe(
      'no such stay began and ended in range',
    )
  })
})

test('the library has no limits without a tier', async () => {
  const whole = await openBands({ db })
  const pro = await openBands({ db, tier: 'pro' })
  const params = { ticker: 'SIM0001', field: 'rsi_zone' }
  const page = await whole.events({ ...params, limit: 'all' })
  expect(page.events).toHaveLength(page.total_occurrences)
  expect(page.query_range).toBe('all')
  expect((await whole.oversold({ limit: 1000 })).total_scanned).toBeGreaterThan(0)
  await expect(pro.events({ ...params, limit: 101 })).rejects.toMatchObject({ param: 'limit' })
  await expect(pro.oversold({ limit: 'all' })).rejects.toMatchObject({ param: 'limit' })
  await Promise.all([whole.close(), pro.close()])
})
