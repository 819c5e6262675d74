// The databases that rows ask: made once a run, by the build that is asked, because each has a form of its own.
import {
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { FOLDER } from './folder.mjs'
import { measured, printed } from './measure.mjs'

const REAL = fileURLToPath(new URL('../../shared/data/prices/universe.csv.gz', import.meta.url))

/** What a row needs is not here: data, a peer or a compiler. */
export class Missing extends Error {}

const made = new Map()

/** Of each name the first time, as it is made then. */
function once(name, make) {
  if (!made.has(name)) made.set(name, make())
  return made.get(name)
}

/** 505 tickers of the S&P 500, 2013 to 2018: 619,028 bars as a compressed file, as they lie beside this project. */
export function universe() {
  if (!existsSync(REAL)) throw new Missing('the universe of 505 tickers lies in ../shared, which is not here')
  return { name: 'universe', file: REAL }
}

/** Simulated tickers: the same for every build, because this one makes them. */
export function simulated(build, tickers, bars) {
  const name = `simulated-${tickers}x${bars}`
  const file = join(FOLDER, `${name}.csv`)
  return once(name, () => {
    measured(build.bands('simulate', String(tickers), '--bars', String(bars)), { out: file })
    return { name, file }
  })
}

/** Words of an import into `db`, which a file with bad rows does not end. */
export function importing({ file }, db) {
  return ['import', file, '--db', db, '--bad-rows', join(FOLDER, 'rejects.csv'), '--quiet']
}

/** A database of all of a world. */
export function databaseOf(build, world) {
  return imported(build, world).db
}

/** What making that database cost. */
export function importOf(build, world) {
  return imported(build, world).cost
}

function imported(build, world) {
  return once(`${build.root} ${world.name}`, () => {
    const db = join(FOLDER, `${made.size}-${world.name}.db`)
    return { db, cost: measured(build.bands(...importing(world, db))) }
  })
}

/** An empty place for a database, each time the same. */
export function emptyPlace() {
  const db = join(FOLDER, 'new.db')
  for (const end of ['', '-wal', '-shm']) rmSync(db + end, { force: true })
  return db
}

/** A copy to write into. */
export function copyOf(db) {
  const place = emptyPlace()
  copyFileSync(db, place)
  return place
}

/** Frees the disk of simulated tickers. */
export function forget({ name }) {
  for (const [key, { db, file }] of [...made])
    if (key.endsWith(name)) {
      rmSync(db ?? file, { force: true })
      made.delete(key)
    }
}

/** A file with one more bar of each ticker: its last one, a per cent higher, on the first weekday after all of them. */
export function nextDay(world) {
  return once(`${world.name}, the next day`, async () => {
    const last = new Map()
    let header
    for await (const line of linesOf(world.file)) {
      if (header === undefined) header = line
      else last.set(line.slice(0, line.indexOf(',')), line)
    }
    const rows = [...last.values()].map(line => line.split(','))
    const newest = rows.reduce((found, [, date]) => (date > found ? date : found), '')
    const file = join(FOLDER, `${world.name}-next.csv`)
    const day = weekdayAfter(newest)
    const out = openSync(file, 'w')
    writeSync(out, `${header}\n`)
    for (const [ticker, , open, high, low, close, volume] of rows) {
      const prices = [open, high, low, close].map(price => (price * 1.01).toFixed(4))
      writeSync(out, `${[ticker, day, ...prices, volume].join(',')}\n`)
    }
    closeSync(out)
    return { name: `${world.name}-next`, file }
  })
}

function linesOf(file) {
  if (file.endsWith('.gz')) return gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  return createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
}

function weekdayAfter(date) {
  const next = new Date(`${date}T00:00:00Z`)
  do next.setUTCDate(next.getUTCDate() + 1)
  while (next.getUTCDay() % 6 === 0)
  return next.toISOString().slice(0, 10)
}

/** Symbols of a database, in its order. */
export function tickersOf(build, db) {
  return JSON.parse(printed(build.bands('status', '--db', db, '--json'))).tickers.map(({ ticker }) => ticker)
}
