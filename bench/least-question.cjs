// node least-question.cjs ROOT DB: the least that a question of a database costs: the driver, the file, a row, a page of text.
const { writeSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')

const [root, db] = process.argv.slice(2)
// Node 20 has a driver of its own.
const place = process.versions.node.startsWith('20.') ? join(root, 'bin', 'node-20') : root
const nativeBinding = process.versions.node.startsWith('20.')
  ? join(place, 'node_modules', 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node')
  : undefined
const Database = createRequire(join(place, 'x.js'))('better-sqlite3')
const table = new Database(db, { readonly: true, nativeBinding })
const row = table.prepare('SELECT * FROM sqlite_schema').get()
writeSync(1, JSON.stringify(row).padEnd(2_300))
