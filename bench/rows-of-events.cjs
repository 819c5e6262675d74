// What others answer from: events of a CSV file in an indexed table of rows, by better-sqlite3, and a page of them.
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')

/** better-sqlite3 as the build in `root` has it. */
exports.driverOf = root => createRequire(join(root, 'x.js'))('better-sqlite3')

/** @returns a function of a ticker: the last ten times that it became oversold, and how often in all */
exports.rowsOf = (root, file) => {
  const table = new (exports.driverOf(root))(':memory:')
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const names = header.split(',')
  table.exec(`CREATE TABLE events (${names.join(', ')})`)
  const insert = table.prepare(`INSERT INTO events VALUES (${names.map(() => '?').join(', ')})`)
  table.transaction(() => {
    for (const line of lines) insert.run(line.split(','))
  })()
  table.exec('CREATE INDEX by_series ON events (ticker, field, timeframe, band, date)')
  const which = "ticker = ? AND field = 'rsi_zone' AND timeframe = 'daily' AND band = 'oversold'"
  const total = table.prepare(`SELECT count(*) AS total_occurrences FROM events WHERE ${which}`)
  const page = table.prepare(`SELECT * FROM events WHERE ${which} ORDER BY date DESC LIMIT 10`)
  return ticker => ({ ...total.get(ticker), events: page.all(ticker) })
}
