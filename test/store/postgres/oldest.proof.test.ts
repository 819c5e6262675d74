import { expect, it } from 'vitest'
import { openPostgresAccounts } from '../../../src/server/accounts/postgres/accounts.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { accountsContract } from '../../contracts/accounts.js'
import { FULL } from '../../support/full.js'
import { clusterForAll, describeOldestPostgres } from '../../support/postgres.js'

describeOldestPostgres('the oldest PostgreSQL that is promised', () => {
  const cluster = clusterForAll({ fsync: false, oldest: true })

  it('is 14', async () => {
    expect(await cluster.current.sql("SELECT current_setting('server_version')")).toEqual([
      expect.stringMatching(/^14\./),
    ])
  })

  // Of the same as of the installed version the quick run shows nothing new.
  if (!FULL) return

  accountsContract('postgres 14', async () => {
    const address = parseAddress('accounts', await cluster.current.createDatabase(), {})
    return {
      accounts: await openPostgresAccounts(address, { create: true }),
      again: () => openPostgresAccounts(address),
    }
  })
})
