// `npm run bench`: measures rows, each beside its floor or peer in interleaved rounds. What a row is stands with it, in the
// file of its group; this file only reads the words, goes through the rows and says what was found.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildOf, ownBuild } from './builds.mjs'
import { charges } from './charges.mjs'
import { cold } from './cold.mjs'
import { crowd } from './crowd.mjs'
import { kernels } from './kernels.mjs'
import { interleaved } from './measure.mjs'
import * as picture from './picture.mjs'
import { putRows } from './readme.mjs'
import * as report from './report.mjs'
import { research } from './research.mjs'
import { scale } from './scale.mjs'
import { server } from './server.mjs'
import { users } from './users.mjs'
import { forget, Missing } from './worlds.mjs'

const ROWS = [...users, ...cold, ...server, ...crowd, ...charges, ...research, ...kernels, ...scale]
const HISTORY = fileURLToPath(new URL('./history.ndjson', import.meta.url))
const USAGE = `npm run bench [-- NAME… [options]]
  NAME               rows (U5), rows that begin so (U6, C), or groups (${[...new Set(ROWS.map(({ group }) => group))].join(', ')});
                     all but the large ones unless given, with --against those of users
  --large            also those that take minutes, gigabytes of disk or the registry, without being named themselves
  --list             only say which rows there are
  --skip-missing     leave out rows whose data, peer or compiler is not here; otherwise such a row fails (exit 1)
  --rounds N         as many rounds of each; otherwise as many as are worth their time, 3 to 20
  --against COMMIT   both builds on each row, in turn: new by old. COMMIT, or the folder of a checkout that is built
  --of COMMIT        measure this build instead of the one here
  --json FILE        all figures and samples
  --record           append the ratios to the history
  --history FILE     another history than bench/history.ndjson
  --write            put what is found into the tables of bench/README.md, of scale into its picture, too; a table has rows
                     of one build, so lines of another build go
BENCH_FOLDER is where databases are made: the system's temporary folder unless set.
`

const options = {
  list: { type: 'boolean' },
  large: { type: 'boolean' },
  'skip-missing': { type: 'boolean' },
  rounds: { type: 'string' },
  against: { type: 'string' },
  of: { type: 'string' },
  json: { type: 'string' },
  record: { type: 'boolean' },
  history: { type: 'string', default: HISTORY },
  write: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

/** Samples by the row that they were taken for: others may have figures of them, too. */
const taken = new Map()

await main().catch(error => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})

async function main() {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) return process.stdout.write(USAGE)
  const rows = chosen(positionals, values)
  if (values.list) return list(rows)
  const build = values.of === undefined ? ownBuild() : buildOf(values.of, print)
  if (values.write && values.against !== undefined) throw new Error('tables are of one build')
  if (values.record && (build.isChanged || values.against !== undefined))
    throw new Error('a history by commit takes a build of what is committed, and one build alone')
  const against = values.against === undefined ? undefined : buildOf(values.against, print)
  print(report.heading(build, against))
  print(against === undefined ? report.tableHead() : report.pairHead())
  const found = []
  for (const [i, row] of rows.entries()) {
    const before = rows[i - 1]?.world
    if (before !== undefined && before !== row.world) forget({ name: before })
    const result = await measuredRow(row, {
      build,
      against,
      rounds: Number(values.rounds) || undefined,
      mayMiss: values['skip-missing'],
    })
    if (result === null) continue
    found.push(result)
    if (against === undefined) show(row, result, build, values.history)
    else print(report.pairLine(result))
    if (values.write) picture.keep(result, build)
    if (values.json !== undefined) write(values.json, { build, against, rows: found })
  }
  if (values.write) writeTables(found, build)
  if (values.record)
    report.record(
      values.history,
      found.map(result => report.entryOf(result, build)),
    )
}

function chosen(names, { large, against }) {
  const fits = (row, name) =>
    [row.name, row.group, /^[A-Z]+/.exec(row.name)?.[0]].includes(name) || row.name.startsWith(`${name}-`)
  const unknown = names.find(name => !ROWS.some(row => fits(row, name)))
  if (unknown !== undefined) throw new Error(`no row or group is named ${unknown}\n${USAGE}`)
  const all = against === undefined ? ROWS : ROWS.filter(({ group }) => group === 'users')
  const meant = names.length === 0 ? all : ROWS.filter(row => names.some(name => fits(row, name)))
  return meant.filter(row => large || !row.isLarge || names.includes(row.name))
}

function list(rows) {
  for (const { name, what, floor, target } of rows) {
    const beside = floor === null ? '' : `, beside ${floor.name}`
    print(`${name.padEnd(16)}${what}${beside}; target ${JSON.stringify(target)}`)
  }
}

/** One row with its floor, or of two builds without one; null, with the reason printed, if it cannot be measured. */
async function measuredRow(row, { build, against, rounds, mayMiss }) {
  try {
    const key = row.samplesOf ?? row.name
    const samples = taken.get(key) ?? (await samplesOf(row, { build, against, rounds }))
    taken.set(key, samples)
    return against === undefined ? report.resultOf(row, samples, row.floor) : report.pairOf(row, samples)
  } catch (error) {
    const isSkipped = error instanceof Missing && mayMiss
    if (!isSkipped) process.exitCode = 1
    print(`${row.name.padEnd(24)}${isSkipped ? 'skipped' : 'FAILED'}: ${error.message}`)
    return null
  }
}

async function samplesOf(row, { build, against, rounds }) {
  const cases = {}
  try {
    cases.ours = await row.sampler(build)
    if (against !== undefined) cases.other = await row.sampler(against)
    else if (row.floor !== null) cases.floor = await row.floor.sampler(build)
    const count = row.rounds === 1 ? 1 : (rounds ?? row.rounds)
    return await interleaved(cases, { rounds: count, isWarm: row.isLarge || row.isWarm || row.rounds === 1 })
  } finally {
    for (const { end } of Object.values(cases)) await end?.()
  }
}

function show(row, result, build, history) {
  print(report.tableLine(result))
  const now = report.entryOf(result, build)
  const last = report.lastOf(history, now)
  if (last !== null) print(report.comparison(row, now, last))
}

/** Scale has a picture instead of a table of rows. */
function writeTables(found, build) {
  picture.draw()
  for (const group of new Set(found.map(result => result.group))) {
    if (group === 'scale') continue
    const order = ROWS.filter(row => row.group === group).map(row => row.name)
    const results = found.filter(result => result.group === group)
    putRows(group, results, { build, order })
  }
}

/** After each row, so that a run that is ended keeps what it has. */
function write(file, { build, against, rows }) {
  const machine = { node: process.versions.node, date: new Date().toISOString() }
  const builds = { build: build.name, against: against?.name }
  writeFileSync(file, `${JSON.stringify({ ...builds, ...machine, rows }, null, 1)}\n`)
}

function print(line) {
  process.stdout.write(`${line}\n`)
}
