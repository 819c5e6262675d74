import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EventStudy, spreadOf } from '../../src/study/result.js'
import { BARS, type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const FAST = '--reps 199 --resamples 99'
const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(line, { ...lent, env: { BANDS_DB: folder.file('bands.db'), ...lent.env } })
const json = async (line: string): Promise<EventStudy> => JSON.parse((await ask(`${line} --json`)).out)
const table = async (line: string): Promise<string> => unpainted((await ask(line, { terminal: 120 })).out)

beforeAll(async () => {
  expect((await ask(`import ${BARS}`)).code).toBe(0)
})
afterAll(folder.remove)

/** The cells of the first table. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n')
  const head = lines.findIndex(line => line.startsWith('WINDOW'))
  const end = lines.findIndex((line, i) => i > head && !/^\d+[dw] /.test(line))
  return lines.slice(head, end).map(line => line.trim().split(/ {2,}/))
}

describe('the windows of a study', () => {
  const line = `study GSPC rsi_zone --band oversold ${FAST}`

  test('mark a P that volatile times mislead, with the studentised one beside it and a word of what to go by', async () => {
    const { windows, warnings } = await json(line)
    const [head, ...rows] = rowsOf(await table(line))
    expect(head!.slice(-2)).toEqual(['P', 'P(T)'])
    expect(rows.map(row => row.at(-2)!.endsWith('!'))).toEqual(windows.map(window => spreadOf(window) === 'wide'))
    expect(windows.some(window => spreadOf(window) === 'wide')).toBe(true)
    expect(windows.some(window => spreadOf(window) === null)).toBe(true)
    expect(warnings.join()).toContain('P(T), and the interval')
  })

  test('tell the number of shifts that were looked at', async () => {
    const [window] = (await json(`study GSPC rsi_zone --band oversold --horizon 20 ${FAST}`)).windows
    const { shifts } = window!.tests[0]!
    expect(shifts).toBe(199)
    expect(await table(`study GSPC rsi_zone --band oversold --horizon 20 ${FAST}`)).toContain('(199 shifts)')
    const all = await json(`study AAPL rsi_zone --band neutral_low --horizon 5,20 ${FAST}`)
    const used = all.windows.map(({ tests }) => tests[0]!.shifts!)
    expect(used[0]).toBeGreaterThan(used[1]!)
    const text = await table(`study AAPL rsi_zone --band neutral_low --horizon 5,20 ${FAST}`)
    expect(text.replace(/\s+/g, ' ')).toContain(
      `(${used[1]!.toLocaleString('en')} to ${used[0]!.toLocaleString('en')} shifts)`,
    )
  })

  test('of several tickers count their stretches of dates beside', async () => {
    const pool = `study AAPL,GSPC rsi_zone --band oversold ${FAST}`
    const { windows } = await json(pool)
    const [head, ...rows] = rowsOf(await table(pool))
    const at = head!.indexOf('DATES')
    expect(rows.map(row => row[at])).toEqual(windows.map(({ n_stretches }) => String(n_stretches)))
    expect(rowsOf(await table(line))[0]).not.toContain('DATES')
  })

  test('stand against the bars in the same context, too', async () => {
    const asked = `study AAPL rsi_zone --context GSPC:trend_direction=uptrend,strong_uptrend ${FAST}`
    const { windows } = await json(asked)
    const text = await table(asked)
    expect(text).toContain('Against any bar while GSPC trend_direction = uptrend or strong_uptrend')
    expect(text).toContain(windows[0]!.context_base!.n.toLocaleString('en'))
    expect(await table(line)).not.toContain('Against any bar while')
  })

  test('show the abnormal return where a benchmark is named', async () => {
    const asked = `study AAPL rsi_zone --band neutral --benchmark GSPC ${FAST}`
    expect((await json(asked)).abnormal).toBe('market')
    const text = await table(asked)
    expect(text).toContain("Cumulative abnormal return, market model on GSPC   P: Kolari and Pynnonen's test")
    expect((await table(`${asked} --wide`)).match(/Cumulative abnormal return/g)).toHaveLength(1)
    expect(await table(`${asked} --abnormal none`)).not.toContain('Cumulative abnormal return')
  })

  test('of too few events tell no interval of the share above 0', async () => {
    const few = await table(`study AAPL rsi_zone --band oversold --horizon 20 ${FAST}`)
    expect(few).toContain('Too few events')
    expect(few).not.toContain('above 0 (95%)')
    expect(await table(`study GSPC rsi_zone --band oversold --horizon 20 ${FAST}`)).toContain('above 0 (95%)')
  })

  test('are none where the dates leave out all, which is blamed on the dates', async () => {
    const { out, err } = await ask(`study AAPL rsi_zone --after 2030-01-01 ${FAST}`)
    expect(out).toContain('the dates asked for leave out every bar with a band of rsi_zone, from ')
    expect(err).toMatch(/in the dates asked for; the bars go from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d/)
  })
})
