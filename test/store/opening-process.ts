import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'

/** Has data or accounts open, as a server has, until it is killed. Words: which of them, and the file. */
const [kind, path = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const opened = kind === 'accounts' ? openSqliteAccounts(path) : openSqlite(path, { readonly: true })
  await opened.version()
  process.stdout.write('open\n')
  // In reach, or the garbage collector would close it.
  setInterval(() => opened.location, 60_000)
}

void main()
