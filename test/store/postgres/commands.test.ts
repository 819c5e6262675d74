import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../src/store/postgres/data.js'
import { BARS, expectRefusal, type Ran, typed } from '../../cli/support/run.js'
import { FULL } from '../../support/full.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { temporaryFolder } from '../../support/store.js'

/** What a person types, in its order, of a database that is new at first. */
const LINES = [
  'simulate 12 --bars 700 --seed 5 --load --json',
  `import ${BARS}/AAPL.csv --json`,
  `import ${BARS} --json`,
  `import ${BARS}/AAPL.csv --replace`,
  'remove AAPL --after 2017-06-30 --json',
  `import ${BARS}/AAPL.csv --ndjson`,
  'rename SIM0012 OTHER --json',
  'remove SIM0011 --json',
  'remove NOSUCH',
  'tickers --json',
  'status --json',
  'facts SIM0001 --json',
  'events AAPL rsi_zone --json',
  'events AAPL rsi_zone --timeframe weekly --tier free --json',
  'events AAPL rsi_zone --band overbought --as-of 2016-03-01 --csv',
  'events SIM0001 valuation_zone --json',
  'events NOSUCH rsi_zone',
  ...(FULL ? ['tally rsi_zone --all --json'] : []),
  'tally macd_state --tickers AAPL,SIM0003 --csv',
  'transitions rsi_zone --all --json',
  ...(FULL ? ['now --all --json'] : []),
  'scan oversold --json',
  'screen "rsi_zone = oversold" --json',
  'study rsi_zone --band oversold --tickers AAPL,GSPC,SIM0001 --json',
  ...(FULL ? ['study rsi_zone --band oversold --all --json'] : []),
  ...(FULL ? ['backtest rsi_zone --band oversold --hold 10 --all --json'] : []),
  ...(FULL ? ['export events --ndjson'] : []),
  'export events --ticker AAPL --csv',
  'export bars --ticker AAPL --ndjson',
  'export series --ticker SIM0002 --field rsi_zone --csv',
  'rebuild --json',
  'verify --json',
  ...(FULL ? ['verify --deep --json'] : []),
  'explain AAPL rsi_zone --json',
]

describePostgres('a database in PostgreSQL', () => {
  const cluster = clusterForAll({ fsync: false })
  let url = ''
  beforeAll(async () => {
    url = await cluster.current.createDatabase()
  })

  it('answers every command with the bytes of a file', async () => {
    const folder = temporaryFolder()
    const env = { HOME: folder }
    const file = join(folder, 'bands.db')
    for (const line of LINES) {
      const [here, there] = [await typed(`${line} --db ${file}`, { env }), await typed(`${line} --db ${url}`, { env })]
      expect(without(there, 'DATABASE', ...placesOf(url, folder)), line).toEqual(
        without(here, 'DATABASE', file, join(folder, 'bands')),
      )
    }
    expect(readdirSync('.').filter(name => name.startsWith('postgres'))).toEqual([])
  })

  it('is said to hold nothing before the first import, and which commands are for files', async () => {
    const empty = await cluster.current.createDatabase()
    const place = empty.replace('bands@', '')
    const env = { HOME: temporaryFolder() }
    const asked = (line: string): Promise<Ran> => typed(`${line} --db ${empty}`, { env })
    expectRefusal(await asked('events AAPL rsi_zone'), 3, `there is no database of bands at ${place}`)
    expectRefusal(await asked('rebuild'), 3, `there is no database at ${place}`)
    expectRefusal(await asked('import NOSUCH.csv'), 3, 'NOSUCH.csv')
    expect(await cluster.current.sql('SELECT count(*) FROM pg_namespace', new URL(empty).pathname.slice(1))).toEqual(
      await cluster.current.sql('SELECT count(*) FROM pg_namespace'),
    )
    expect(JSON.parse((await asked('doctor --json')).out).checks).toContainEqual(
      expect.objectContaining({
        name: 'database',
        outcome: 'warn',
        detail: expect.stringContaining('holds no data yet'),
      }),
    )
    for (const line of ['backup x.tar', 'restore x.tar', 'unlock'])
      expectRefusal(await asked(line), 2, 'is for a database in a file, and this one is in PostgreSQL')
  })

  it('is examined by the doctor, who is writing to it with it', async () => {
    const url = await cluster.current.createDatabase()
    const store = await openPostgres(url, { readonly: false })
    onTestFinished(() => store.close())
    await store.lock({ pid: 17, host: 'elsewhere', started: '2026-01-02T03:04:05Z' })
    const found = await typed(`doctor --json --db ${url}`, { env: { HOME: temporaryFolder() } })
    const checks = new Map(JSON.parse(found.out).checks.map((check: { name: string }) => [check.name, check]))
    expect(checks.get('database')).toMatchObject({
      outcome: 'ok',
      detail: expect.stringMatching(/PostgreSQL \d+.*tickers: 0$/),
    })
    expect(checks.get('writer')).toMatchObject({
      outcome: 'warn',
      detail: expect.stringContaining('process 17 on elsewhere since'),
    })
    const refused = await typed(`simulate 1 --bars 20 --load --db ${url}`, { env: { HOME: temporaryFolder() } })
    expectRefusal(refused, 8, 'is being written by process 17 on elsewhere since 2026-01-02T03:04:05Z')
  })
})

/** As it was given, as it is shown, and what lies beside it in the user's folder. */
function placesOf(url: string, home: string): string[] {
  const { host, pathname } = new URL(url)
  const beside = join(home, '.local/share/bands', `${host}${pathname}`.replace(/[:/]/g, '_'))
  return [url, url.replace('bands@', ''), beside]
}

/** Without what is of this run: where the database is, and what time it was. */
function without({ code, out, err }: Ran, name: string, ...places: readonly string[]): Ran {
  const cleaned = (text: string): string =>
    places
      .reduce((left, place) => left.replaceAll(place, name), text)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"(bytes|schema_version)":\d+/g, '$1')
  return { code, out: cleaned(out), err: cleaned(err) }
}
