import { hostname } from 'node:os'
import { openSqlite } from '../../src/data/store/sqlite/data.js'

/** Takes the writing place of a database, says so, and stays. */
const [path = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const store = openSqlite(path, { readonly: false })
  await store.lock({ pid: process.pid, host: hostname(), started: new Date().toISOString() })
  process.stdout.write('locked\n')
  // What nothing refers to any more is closed by the garbage collector, and its lock is gone.
  setInterval(() => store, 60_000)
}

void main()
