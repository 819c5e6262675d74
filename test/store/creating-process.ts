import { openAccounts } from '../../src/app/open/accounts.js'

/** Makes an account beside a database, and the file of the accounts when there is none. Words: database, name. */
const [db = '', name = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const accounts = await openAccounts({ db, env: {}, make: true })
  await accounts.create(name, 'free', new Date().toISOString())
  await accounts.close()
}

void main()
