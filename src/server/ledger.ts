import type { Accounts, Charge, Charged, LedgerTask, RolledUp } from '../accounts/accounts.js'
import { lent } from '../store/remembered.js'
import { Threads } from '../threads.js'

/**
 * Accounts whose charges a thread of their own writes down, so that one commit and the answers of the next overlap. All
 * else, and what was charged by others, is read here. Which charges share a commit, and that each is on the disk before
 * its answer leaves, is as it was: there is one thread, and it does one batch at a time. Where the program of a thread is
 * missing, as in a bundle, they are the accounts themselves.
 */
export async function chargedInThread(accounts: Accounts): Promise<Accounts> {
  const thread = new Threads<LedgerTask, unknown>('ledger', { path: accounts.location }, 1)
  if (!thread.isThere) return accounts
  // Opened now: the file of this name is still the one that is read here.
  await thread.run('check')
  return lent(accounts, {
    async charge(charges: readonly Charge[]): Promise<Charged[]> {
      return charges.length === 0 ? [] : ((await thread.run(charges)) as Charged[])
    },
    async rollUp(at: number): Promise<RolledUp> {
      return (await thread.run(at)) as RolledUp
    },
    async check(): Promise<void> {
      await accounts.check()
      // Whether writing works is known where it is done.
      await thread.run('check')
    },
    async close(): Promise<void> {
      try {
        await thread.run('close')
      } finally {
        await thread.close()
        await accounts.close()
      }
    },
  })
}
