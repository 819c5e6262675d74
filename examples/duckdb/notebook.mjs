// Events and prices in SQL. Each cell begins with `// %%`, as editors know them; `node notebook.mjs` runs them in order.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

const folder = mkdtempSync(join(tmpdir(), 'bands-notebook-'))
const duckdb = await (await DuckDBInstance.create()).connect()

async function show(title, sql) {
  const answer = await duckdb.runAndReadAll(sql)
  console.log(`\n${title}`)
  console.table(answer.getRowObjectsJson())
}

// %% Export: every event with its returns, and every bar with its bands
for (const kind of ['events', 'series'])
  execFileSync('bands', ['export', kind, '--all', '--write', join(folder, `${kind}.parquet`)], { stdio: 'ignore' })

// %% Which RSI zones were followed by gains?
await show(
  'After each RSI zone, 20 days',
  `select band, count(returns_20d) as n, round(100 * avg(returns_20d), 2) as mean, round(100 * avg((returns_20d > 0)::int)) as rose
   from '${folder}/events.parquet' where field = 'rsi_zone' and timeframe = 'daily' group by band order by mean desc`,
)

// %% How often was each ticker in a downtrend while volatility was high?
await show(
  'Share of bars in a downtrend and high volatility',
  `select ticker, round(100 * avg((trend_direction like '%downtrend' and volatility_regime in ('high', 'extreme'))::int), 1) as share
   from '${folder}/series.parquet' where timeframe = 'daily' group by ticker order by share desc`,
)

// %% Done
duckdb.closeSync()
rmSync(folder, { recursive: true })
