// Writes the bundled bars in data/bars from two dev dependencies, in the project's own form. Prices and volumes are
// copied as text, so no digit changes.
//   node scripts/make-data.mjs [--check] [--to FOLDER]
// --check writes nothing, names each file that differs and exits 1 on a difference. --to: a folder other than data/bars.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const require = createRequire(import.meta.url)

const FILES = [
  {
    name: 'AAPL.csv',
    source: () => require.resolve('@observablehq/sample-datasets/aapl.csv'),
    from: '2013-05-13',
    to: '2018-05-11',
  },
  {
    name: 'GSPC.csv',
    // The package does not export its data files; they lie beside the folder of its main module.
    source: () => join(dirname(fileURLToPath(import.meta.resolve('vega-datasets'))), '..', 'data', 'sp500-2000.csv'),
    from: '2008-01-02',
    to: '2018-05-11',
  },
]

const COLUMNS = ['date', 'open', 'high', 'low', 'close', 'volume', 'adj_close']

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    to: { type: 'string', default: fileURLToPath(new URL('../data/bars', import.meta.url)) },
  },
})

if (!options.check) mkdirSync(options.to, { recursive: true })
for (const file of FILES) {
  const path = join(options.to, file.name)
  const text = ownForm(readFileSync(file.source(), 'utf8'), file)
  if (!options.check) {
    writeFileSync(path, text)
    process.stdout.write(`wrote ${path}\n`)
  } else if (text !== existing(path)) {
    process.stderr.write(`${path} is not what the sources give; run: node scripts/make-data.mjs\n`)
    process.exitCode = 1
  }
}

/** The rows of the span in the project's columns; without adj_close when it equals close in every row. */
function ownForm(source, { name, from, to }) {
  const [header, ...lines] = source.trimEnd().split(/\r?\n/)
  const names = header.split(',').map(ownName)
  const rows = lines
    .map(line => Object.fromEntries(line.split(',').map((value, at) => [names[at], value])))
    .filter(row => row.date >= from && row.date <= to)
  assertSpan(rows, name, from, to)
  const columns = rows.every(row => row.adj_close === row.close) ? COLUMNS.slice(0, -1) : COLUMNS
  return [columns, ...rows.map(row => columns.map(column => row[column]))].map(cells => `${cells.join(',')}\n`).join('')
}

function ownName(name) {
  const plain = name.toLowerCase().replaceAll(' ', '')
  return plain === 'adjclose' ? 'adj_close' : plain
}

function assertSpan(rows, name, from, to) {
  const ascending = rows.every((row, at) => at === 0 || row.date > rows[at - 1].date)
  const whole = rows.every(row => COLUMNS.every(column => row[column] !== undefined && row[column] !== ''))
  if (!ascending || !whole || rows.at(0)?.date !== from || rows.at(-1)?.date !== to)
    throw new Error(`${name}: the source is not complete and ascending from ${from} to ${to}`)
}

function existing(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}
