import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAccounts } from '../../src/app/open/accounts.js'
import type { Accounts } from '../../src/server/accounts/accounts.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { chargeOf, iso, NOON, sha256 } from '../contracts/accounts.js'
import { Database } from '../support/database.js'
import { draws } from '../support/full.js'
import { bundled, type Started, started } from '../support/processes.js'
import { temporaryFolder } from '../support/store.js'

describe('several processes with one file of accounts', () => {
  it('is made once, however many processes begin with it at the same time', async () => {
    const program = await bundled('test/store/creating-process.ts', temporaryFolder())
    for (let round = 0; round < draws(3); round++) {
      const db = join(temporaryFolder(), 'new', 'bands.db')
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      const ended = await Promise.all(names.map(name => started(program, [db, name]).ended))
      expect(ended).toEqual(names.map(() => 0))
      const accounts = await openAccounts({ db, env: {} })
      expect((await accounts.accounts()).map(({ name }) => name)).toEqual(names)
      await accounts.close()
      expect(readdirSync(dirname(db))).toEqual(['bands.accounts.db'])
    }
  })

  it('keeps every charge that was acknowledged, and no half of one, when processes are killed', async () => {
    const { path, accounts, program } = await withProgram()
    const { id } = await accounts.account('alice')
    const acknowledged: string[] = []
    for (let round = 0; round < draws(8); round++) {
      const processes = ['a', 'b'].map(name =>
        started(program, [dataOf(path), `${name}${round}`, '9999999', `${NOON}`]),
      )
      await Promise.all(processes.map(one => untilLines(one, 20 + 30 * round)))
      for (const { child } of processes) child.kill('SIGKILL')
      await Promise.all(processes.map(({ ended }) => ended))
      acknowledged.push(...processes.flatMap(({ lines }) => lines()))
      const { rows, requests, credits, discrepancies } = await accounts.reconcile()
      expect(discrepancies).toEqual([])
      expect(requests).toBe(rows)
      expect(await accounts.usedCredits(id, NOON)).toEqual({ day: credits, hour: credits })
    }
    // Clients that did not hear back ask again under the same name, with another number: what was written is free.
    const alice = await accounts.account('alice')
    const again = acknowledged.slice(-40).map(name => chargeOf(alice, { idempotency: sha256(name) }))
    expect(new Set((await accounts.charge(again)).map(({ outcome }) => outcome))).toEqual(new Set(['repeated']))
    const db = new Database(path, { readonly: true })
    const written = new Set(db.prepare('SELECT request FROM ledger').pluck().all())
    expect(acknowledged.filter(request => !written.has(request))).toEqual([])
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    db.close()
    await accounts.close()
  })
})

async function withAlice(): Promise<{ path: string; accounts: Accounts; id: number }> {
  const path = join(temporaryFolder(), 'bands.accounts.db')
  const accounts = openSqliteAccounts(path)
  const { id } = await accounts.create('alice', 'free', iso(NOON))
  return { path, accounts, id }
}

async function withProgram(): Promise<{ path: string; accounts: Accounts; program: string }> {
  const made = await withAlice()
  return { ...made, program: await bundled('test/store/charging-process.ts', temporaryFolder()) }
}

/** The data that accounts lie beside; it need not be there. */
function dataOf(path: string): string {
  const data = path.replace('.accounts.db', '.db')
  expect(existsSync(data)).toBe(false)
  return data
}

async function untilLines({ lines, child }: Started, count: number): Promise<void> {
  while (lines().length < count && child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 5))
}
