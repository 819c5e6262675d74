import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type BandsClient, type BandsOptions, openBands, openRemote } from '../src/index.js'
import { scratch, typed } from './cli/support/run.js'
import { notInQuick } from './support/full.js'
import { csv, fileOf, imported, simulatedRows } from './support/imports.js'
import { type Ground, type Served, serve, simulatedGround } from './support/serve.js'
import { temporaryFolder } from './support/store.js'

const FEW = { reps: 99, resamples: 99 }
let db: string

const ground = scratch()
afterAll(ground.remove)

beforeAll(async () => {
  db = ground.file('bands.db')
  const files = ['ONE', 'TWO'].map((name, i) => fileOf(ground.path, `${name}.csv`, csv(simulatedRows(i + 1, 700))))
  await imported(db, files)
})

const opened = async (options: BandsOptions = {}): Promise<BandsClient> => {
  const bands = await openBands({ db, ...options })
  onTestFinished(() => bands.close())
  return bands
}
const printed = async (line: string): Promise<unknown> =>
  JSON.parse((await typed(`${line} --json`, { env: { BANDS_DB: db } })).out)

describe('studies of a program', () => {
  it('are those of the command line', async () => {
    const bands = await opened()
    const event = { tickers: ['one', 'TWO'], field: 'rsi_zone', band: 'oversold' }
    const study = await bands.study({ ...event, horizon: [5, 20], context: 'TWO:trend_direction', ...FEW })
    expect(
      await printed(
        'study TWO ONE rsi_zone --band oversold --horizon 5,20 --context TWO:trend_direction --tests "draws 99, bootstrap 99"',
      ),
    ).toEqual(study)
    const tested = await bands.backtest({ ...event, hold: 10, stop: '5%', max_positions: 2, reps: 99 })
    expect(
      await printed(
        'backtest ONE,TWO rsi_zone --band oversold --hold 10 --stop 5% --max-positions 2 --tests "draws 99"',
      ),
    ).toEqual(tested)
    const swept = await bands.sweep({
      tickers: ['ONE'],
      field: ['rsi_zone'],
      horizon: 5,
      cpcv: { n: 4, k: 2 },
      resamples: 99,
    })
    expect(
      await printed('sweep ONE --field rsi_zone --horizon 5 --validate "cpcv n=4,k=2" --tests "bootstrap 99"'),
    ).toEqual(swept)
  })

  it('take a strategy as an object or as the text of a file, and what overrides it', async () => {
    const bands = await opened()
    const entry = { field: 'rsi_zone', bands: ['oversold'] }
    const whole = await bands.backtest({ tickers: ['ONE'], field: 'rsi_zone', band: 'oversold', hold: 10, reps: 99 })
    expect(
      await bands.backtest({ strategy: { tickers: ['ONE'], entry, exit: { hold: 5 } }, hold: 10, reps: 99 }),
    ).toEqual(whole)
    expect(await bands.backtest({ strategy: JSON.stringify(whole.strategy), reps: 99 })).toEqual(whole)
    const all = { ...whole.strategy, tickers: 'all' }
    expect((await bands.backtest({ strategy: JSON.stringify(all), reps: 99 })).tickers).toEqual(['ONE', 'TWO'])
    const text = 'tickers: ONE\nentry:\n  field: rsi_zone\nexit:\n  hold: 0\n'
    await expect(bands.backtest({ strategy: text })).rejects.toMatchObject({
      code: 'bad_data',
      place: { line: 5, column: 9 },
    })
  })

  it('tell how far they are', async () => {
    const bands = await opened()
    const steps: string[] = []
    await bands.study({ tickers: ['ONE'], field: 'rsi_zone', ...FEW }, { step: text => steps.push(text()) })
    expect(steps.length).toBeGreaterThan(0)
  })

  it('name their options in an error', async () => {
    const bands = await opened()
    const wrongOptions = 5 as unknown as object
    await expect(bands.study({ tickers: ['ONE'], field: 'rsi_zone', ...FEW }, wrongOptions)).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'options',
    })
  })

  it('note what they look at beside the database, unless that is not wanted', async () => {
    const folder = temporaryFolder()
    const own = join(folder, 'own.db')
    await imported(own, [fileOf(folder, 'ONE.csv', csv(simulatedRows(1, 400)))])
    const question = { tickers: ['ONE'], field: 'rsi_zone', ...FEW }
    const without = await opened({ db: own, ledger: false })
    expect((await without.study(question)).trials.ledger).toBeNull()
    expect(existsSync(join(folder, 'own.trials.db'))).toBe(false)
    const withLedger = await opened({ db: own })
    expect((await withLedger.study(question)).trials.ledger).toBe(5)
    expect(existsSync(join(folder, 'own.trials.db'))).toBe(true)
  })

  it('keep to a tier that is asked for', async () => {
    const question = { tickers: ['ONE'], field: 'rsi_zone', ...FEW }
    const all = await opened()
    const plus = await opened({ tier: 'plus' })
    expect((await plus.study(question)).first! > (await all.study(question)).first!).toBe(true)
    await expect((await opened({ tier: 'free' })).study(question)).rejects.toMatchObject({ code: 'tier_restricted' })
  })

  it('refuse what is no parameter, and name it', async () => {
    const bands = await opened()
    const event = { tickers: ['ONE'], field: 'rsi_zone' }
    await expect(bands.study({ ...event, horizn: 5 } as never)).rejects.toThrow('Did you mean "horizon"?')
    await expect(bands.study({ ...event, horizon: 1.5 })).rejects.toMatchObject({ param: 'horizon' })
    await expect(bands.study({ ...event, tickers: [] })).rejects.toMatchObject({ param: 'ticker' })
    await expect(bands.study({ ...event, naive: 'yes' } as never)).rejects.toMatchObject({ param: 'naive' })
    await expect(bands.backtest({ ...event, hold: -1 })).rejects.toMatchObject({ param: 'hold' })
    await expect(bands.sweep({ tickers: ['ONE'], walk_forward: { train: 10 } })).rejects.toThrow('lacks test')
    await expect(bands.study({ ...event, tickers: ['NONE'] })).rejects.toMatchObject({ code: 'not_found' })
  })

  notInQuick('become pages', async () => {
    const bands = await opened()
    const event = { tickers: ['ONE'], field: 'rsi_zone', band: 'oversold' }
    for (const found of [
      await bands.study({ ...event, ...FEW }),
      await bands.backtest({ ...event, hold: 5, reps: 99 }),
      await bands.sweep({ tickers: ['ONE'], field: 'rsi_zone', horizon: 5, resamples: 99 }),
    ])
      expect(await bands.report(found, { command: 'a program' })).toMatch(/^<!doctype html>[\s\S]*a program/i)
  })
})

describe('studies of a server', () => {
  let origin: Ground
  let server: Served
  beforeAll(async () => {
    origin = await simulatedGround({ count: 1, bars: 700 })
    server = await serve(origin)
  })
  afterAll(async () => {
    await server.stop()
    origin.remove()
  })

  it('take its events on prices of this machine', async () => {
    const key = await server.key('pro')
    const near = await opened({ db: origin.db, ledger: false })
    const far = await openRemote({ url: server.url, key, bars: { db: origin.db, ledger: false } })
    onTestFinished(() => far.close())
    const question = { tickers: ['SIM0001'], field: 'rsi_zone', band: 'oversold', after: '2022-06-01', ...FEW }
    const there = await far.study(question)
    const here = await near.study(question)
    expect(there.occurrences.map(({ date, returns }) => [date, returns])).toEqual(
      here.occurrences.map(({ date, returns }) => [date, returns]),
    )
  })

  it('are refused without prices', async () => {
    const far = await openRemote({ url: server.url, key: await server.key('pro') })
    onTestFinished(() => far.close())
    await expect(far.study({ tickers: ['SIM0001'], field: 'rsi_zone' })).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'bars',
    })
  })
})
