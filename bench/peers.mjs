// Others who do parts of the same: installed when a row asks for them, into a folder outside the project that stays for the
// next time. They are no dependencies of the project.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Missing } from './worlds.mjs'

const PLACE = process.env.BENCH_PEERS ?? join(tmpdir(), 'bands-bench-peers')

/** The folder whose node_modules has a package in that version. */
export function peer(name, version) {
  const place = join(PLACE, `${name.replaceAll('/', '-')}-${version}`)
  const done = join(place, 'installed')
  if (existsSync(done)) return place
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{ "private": true }\n')
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`]
  const made = spawnSync('npm', words, { cwd: place, encoding: 'utf8', timeout: 300_000 })
  if (made.status !== 0) throw new Missing(`${name} ${version} does not install: ${reasonOf(made)}`)
  writeFileSync(done, '')
  return place
}

function reasonOf({ error, stderr }) {
  const lines = (error?.message ?? stderr).split('\n')
  return (lines.find(line => line.startsWith('npm error')) ?? lines[0]).replace('npm error ', '')
}

/** A command of Python with packages of the system, which are nobody's to install from here. */
export function python(...packages) {
  const asked = `import ${packages.join(', ')}`
  const found = ['/usr/bin/python3', 'python3'].find(name => spawnSync(name, ['-c', asked]).status === 0)
  if (found === undefined) throw new Missing(`no python3 here has ${packages.join(' and ')}`)
  return found
}

/** Events of a CSV file behind fastify and better-sqlite3: a route, its schema, two statements, as its guide shows it. */
export function fastifyPeer(build, events) {
  const script = fileURLToPath(new URL('./peers/fastify.cjs', import.meta.url))
  return [process.execPath, script, peer('fastify', '5.12.8'), build.root, events]
}

/** Words of a process that loads a CSV file into a DuckDB file, on one thread, or asks one for a ticker. */
export function duckdbPeer(file, what) {
  const script = fileURLToPath(new URL('./peers/duckdb.cjs', import.meta.url))
  return [process.execPath, script, peer('@duckdb/node-api', '1.5.6-r.1'), file, what]
}
