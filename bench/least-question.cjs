// node least-question.cjs ROOT DB: the least that a question of a database costs: the driver, the file, a row, a page of text.
const { writeSync } = require('node:fs')
const { driverOf } = require('./rows-of-events.cjs')

const [root, db] = process.argv.slice(2)
const table = new (driverOf(root))(db, { readonly: true })
const row = table.prepare('SELECT * FROM sqlite_schema').get()
writeSync(1, JSON.stringify(row).padEnd(2_300))
