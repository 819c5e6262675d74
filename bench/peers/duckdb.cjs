// node duckdb.cjs PLACE FILE LOAD.csv, or PLACE FILE TICKER: loads a CSV file, compressed or not, into the table `rows` of a
// DuckDB file; or asks it for the last ten times that a ticker became oversold, and how often in all.
const { writeSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')

const [place, file, what] = process.argv.slice(2)
const { DuckDBInstance } = createRequire(join(place, 'x.js'))('@duckdb/node-api')
const WHICH = "FROM rows WHERE ticker = $1 AND field = 'rsi_zone' AND timeframe = 'daily' AND band = 'oversold'"

async function main() {
  const isLoad = /\.csv(\.gz)?$/.test(what)
  const instance = await DuckDBInstance.create(file, isLoad ? { threads: '1' } : { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  if (isLoad) {
    await connection.run(`CREATE TABLE rows AS SELECT * FROM read_csv('${what}') ORDER BY ticker, date`)
  } else {
    const [[total], rows] = [
      (await connection.runAndReadAll(`SELECT count(*) AS n ${WHICH}`, [what])).getRowObjectsJson(),
      (await connection.runAndReadAll(`SELECT * ${WHICH} ORDER BY date DESC LIMIT 10`, [what])).getRowObjectsJson(),
    ]
    writeSync(1, JSON.stringify({ total_occurrences: total.n, events: rows }))
  }
  connection.closeSync()
  instance.closeSync()
}

main().catch(error => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
