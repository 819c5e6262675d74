import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openBands } from '../src/app/client.js'
import { openImporter } from '../src/app/open/writing.js'
import { InvalidParameter, NotFound, TierRestricted } from '../src/core/errors.js'
import type { PoolEvents } from '../src/research/tally/pool.js'
import { run } from './cli/support/run.js'
import { Database } from './support/database.js'
import { csv, fileOf, imported, simulatedRows } from './support/imports.js'
import { temporaryFolder } from './support/store.js'

describe('the library', () => {
  it('asks the questions of the command line and gets its answers', async () => {
    const db = await filled()
    const bands = await openBands({ db })
    const pool = { tickers: ['one', 'TWO'], field: 'rsi_zone' }
    const cases: [unknown, string | string[]][] = [
      [await bands.events({ ticker: 'one', field: 'rsi_zone', limit: 3 }), 'events ONE rsi_zone --limit 3'],
      [specified(await bands.poolEvents({ ...pool, limit: 4 })), 'events ONE,TWO rsi_zone --limit 4'],
      [
        specified(await bands.poolEvents({ ...pool, tickers: ['ONE'], limit: 4 })),
        'events rsi_zone --tickers ONE --limit 4',
      ],
      [await bands.tally({ ...pool, by: 'ticker' }), 'tally ONE,TWO rsi_zone --by ticker'],
      [await bands.transitions(pool), 'transitions ONE,TWO rsi_zone'],
      [await bands.now({ tickers: ['TWO'], timeframe: 'weekly' }), 'now TWO --timeframe weekly'],
      [await bands.explain({ ticker: 'ONE', field: 'macd_state' }), 'explain ONE macd_state'],
      [await bands.screen({ when: 'rsi_zone = neutral' }), ['screen', 'rsi_zone = neutral']],
      [
        await bands.screen({ when: 'rsi_zone = neutral', as_of: '2018-01-04' }),
        ['screen', 'rsi_zone = neutral', '--as-of', '2018-01-04'],
      ],
      [await bands.changes({ tickers: ['TWO'], since: '2018-01-02' }), 'changes --tickers TWO --since 2018-01-02'],
      [await bands.status(), 'status'],
      [await bands.facts({ ticker: 'ONE' }), 'facts ONE'],
    ]
    await bands.close()
    for (const [answer, command] of cases) {
      const question = typeof command === 'string' ? command.split(' ') : command
      const printed = JSON.parse((await run([...question, '--db', db, '--json'])).out)
      // What the command line says on standard error.
      expect({ notes: [], ...printed }, String(command)).toEqual({ notes: [], ...(answer as object) })
    }
  })

  /** As the command line has them without --returns. */
  function specified({ events, ...found }: PoolEvents): object {
    return { ...found, events: events.map(({ returns, percentiles, missing, ...event }) => event) }
  }

  it('exports rows as they are read', async () => {
    const bands = await openBands({ db: await filled() })
    const bars = []
    for await (const bar of bands.exportBars({ tickers: ['TWO'] })) bars.push(bar)
    expect(bars).toHaveLength(320)
    const events = []
    for await (const event of bands.exportEvents({ tickers: ['ONE'], fields: ['rsi_zone'] })) events.push(event)
    const { events: known } = await bands.history({ ticker: 'ONE', field: 'rsi_zone' })
    expect(events.filter(event => event.timeframe === 'daily').map(event => event.date)).toEqual(
      known.map(event => event.date),
    )
    await bands.close()
  })

  it('answers as of a date and as a tier, and refuses with errors that have a code', async () => {
    const bands = await openBands({ db: await filled(), tier: 'free', asOf: '2016-06-01' })
    const page = await bands.events({ ticker: 'ONE', field: 'rsi_zone', limit: 100 })
    expect(page.query_range).toBe('90d')
    for (const event of page.events) expect(event.date <= '2016-06-01' && event.aftermath === null).toBe(true)
    await expect(bands.tally({ tickers: ['ONE'], field: 'rsi_zone' })).rejects.toThrow(TierRestricted)
    await expect(bands.events({ ticker: 'NONE', field: 'rsi_zone' })).rejects.toThrow(NotFound)
    await expect(bands.events({ ticker: 'ONE', field: 'rsi' })).rejects.toThrow(InvalidParameter)
    await expect(bands.poolEvents({ tickers: ['ONE'], field: 'rsi_zone', limit: 101 })).rejects.toThrow('1 to 100')
    await expect(bands.poolEvents({ tickers: [], field: 'rsi_zone' })).rejects.toThrow('ticker')
    await expect(bands.poolEvents({ tickers: ['ONE', 'NONE'], field: 'rsi_zone' })).rejects.toThrow(NotFound)
    await expect(bands.tally({ tickers: [], field: 'rsi_zone' })).rejects.toThrow(InvalidParameter)
    await expect(bands.screen({ tickers: [], when: 'rsi_zone = neutral' })).rejects.toThrow('leave it out for all')
    await expect(bands.changes({ tickers: [] })).rejects.toThrow('leave it out for all')
    await bands.close()
    await expect(openBands({ asOf: 'yesterday' })).rejects.toMatchObject({ code: 'invalid_parameter', param: 'as_of' })
    for (const threads of [0, -1, 1.5, 257])
      for (const open of [openBands, openImporter])
        await expect(open({ threads })).rejects.toMatchObject({ code: 'invalid_parameter', param: 'threads' })
    await expect(openBands({ db: 'missing.db' })).rejects.toMatchObject({ code: 'not_found' })
    for (const open of [openBands, openImporter]) {
      const error = await open({ db: 'postgres://me:secret@10.0.0.1/bands' }).then(String, String)
      expect(error).toBe(
        'InvalidParameter: db is a URL, and a database of bands is a file on this machine: give the path of one.',
      )
    }
  })

  it('answers what was asked before from what it keeps of the series, up to `cacheBytes`, until the series is another', async () => {
    const db = await filled()
    const asked = { ticker: 'ONE', field: 'rsi_zone', limit: 3 }
    const keeping = await openBands({ db })
    const reading = await openBands({ db, cacheBytes: 0 })
    const before = await keeping.events(asked)
    expect(await reading.events(asked)).toEqual(before)
    written(db, "UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'events'")
    expect(await keeping.events(asked)).toEqual(before)
    await expect(reading.events(asked)).rejects.toThrow('is damaged')
    written(db, "UPDATE series SET hash = 'another'")
    await expect(keeping.events(asked)).rejects.toThrow('is damaged')
    await Promise.all([keeping.close(), reading.close()])
    for (const cacheBytes of [-1, 1.5, '64 MB' as unknown as number])
      await expect(openBands({ cacheBytes })).rejects.toMatchObject({ code: 'invalid_parameter', param: 'cacheBytes' })
  })

  it('makes what a condition and an own field need once, and anew when anything was written or fields are others', async () => {
    const db = await filled()
    const fields = (cut: number) => [{ field: 'mine', of: 'rsi(close, 2)', cuts: [cut], bands: ['low', 'high'] }]
    const asked = { ticker: 'ONE', field: 'rsi_zone = oversold and mine = low', limit: 3 }
    const keeping = await openBands({ db, fields: fields(90) })
    const reading = await openBands({ db, cacheBytes: 0, fields: fields(90) })
    const before = await keeping.events(asked)
    expect(before.events.length).toBeGreaterThan(0)
    expect(await reading.events(asked)).toEqual(before)
    const other = await openBands({ db, fields: fields(1) })
    expect(await other.events(asked)).not.toEqual(before)
    written(db, "UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'events'")
    await expect(reading.events(asked)).rejects.toThrow('is damaged')
    await expect(keeping.events(asked)).rejects.toThrow('is damaged')
    await Promise.all([keeping.close(), reading.close(), other.close()])
  })

  it('lends no list that it keeps', async () => {
    const bands = await openBands({ db: await filled() })
    const [first] = await bands.tickers()
    first!.ticker = 'MINE'
    expect((await bands.tickers()).map(({ ticker }) => ticker)).not.toContain('MINE')
    await bands.close()
  })

  it('makes no database of nothing, and finds nothing in one that is not made', async () => {
    const db = join(temporaryFolder(), 'new.db')
    const importer = await openImporter({ db })
    const found = [importer.tickers(), importer.rebuild(), importer.remove('A'), importer.removeAfter('A', 0)]
    expect(await Promise.all<unknown>([...found, importer.rename('A', 'B')])).toEqual([[], 0, false, null, false])
    await importer.close()
    expect(existsSync(db)).toBe(false)
  })
})

/** A database of two simulated tickers. */
async function filled(): Promise<string> {
  const folder = temporaryFolder()
  const db = join(folder, 'bands.db')
  const files = ['ONE', 'TWO'].map((name, i) => fileOf(folder, `${name}.csv`, csv(simulatedRows(i + 1, 320))))
  await imported(db, files)
  return db
}

/** Writes to a database as another program would. */
function written(db: string, sql: string): void {
  const raw = new Database(db)
  raw.exec(sql)
  raw.close()
}
