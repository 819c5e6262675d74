import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Busy, ConfigError, NotFound, StorageError } from '../../../src/core/errors.js'
import { type Accounts, DAY_MS, HOUR_MS, rollUpLedger, type TakeRows } from '../../../src/server/accounts/accounts.js'
import { copyAccounts } from '../../../src/server/accounts/copy.js'
import {
  type OpenPostgresAccounts,
  openPostgresAccounts,
  type PostgresAccounts,
} from '../../../src/server/accounts/postgres/accounts.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { Database } from '../../../src/server/accounts/postgres/connection.js'
import { accountsSchema } from '../../../src/server/accounts/postgres/schema.js'
import { prepareSchema } from '../../../src/server/accounts/postgres/steps.js'
import { openSqliteAccounts } from '../../../src/server/accounts/sqlite/accounts.js'
import { expectRefusal, typed } from '../../cli/support/run.js'
import { accountsContract, chargeOf, chargingContract, iso, keyOf, NOON, sha256 } from '../../contracts/accounts.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { temporaryFolder } from '../../support/store.js'

const opened = (url: string, options: OpenPostgresAccounts = {}): Promise<PostgresAccounts> =>
  openPostgresAccounts(parseAddress('accounts', url, {}), options)

const kept = async (opening: Promise<PostgresAccounts>): Promise<PostgresAccounts> => {
  const accounts = await opening
  onTestFinished(() => accounts.close())
  return accounts
}

describePostgres('accounts in PostgreSQL', () => {
  const cluster = clusterForAll()

  const empty = (partitions: number) => async () => {
    const url = await cluster.current.createDatabase()
    return { accounts: await opened(url, { create: true, partitions }), again: () => opened(url) }
  }
  accountsContract('postgres', empty(1))
  // Accounts and keys lie in the same tables; what is charged is cut.
  chargingContract('postgres in 4 partitions', empty(4))

  const withAlice = async () => {
    const url = await cluster.current.createDatabase()
    const accounts = await kept(opened(url, { create: true }))
    const alice = await accounts.create('alice', 'free', iso(NOON))
    const database = new URL(url).pathname.slice(1)
    return { url, accounts, alice, sql: (statement: string) => cluster.current.sql(statement, database) }
  }

  describe('the tables', () => {
    it('are made only when they are to be, and once, however many begin at the same time', async () => {
      const url = await cluster.current.createDatabase()
      await expect(opened(url)).rejects.toThrow(NotFound)
      await expect(opened(url)).rejects.toThrow(`there are no accounts in ${url.replace('bands@', '')}.`)
      const all = await Promise.all([1, 2, 3, 4].map(() => kept(opened(url, { create: true }))))
      const secrets = await Promise.all(all.map(accounts => accounts.secret()))
      for (const secret of secrets) expect(secret).toEqual(secrets[0])
    })

    it('are cut once into the requested number of partitions, and charged alike', async () => {
      const url = await cluster.current.createDatabase()
      const layout = (more = '') => typed(`accounts layout --accounts ${url} ${more}`)
      const place = url.replace('bands@', '')
      expectRefusal(await layout(), 3, `there are no accounts in ${place}.`)
      expect((await layout('--partitions 4')).out).toBe(`${place}: 4 partitions, made now and empty\n`)
      expectRefusal(await layout('--partitions 8'), 6, 'a layout is chosen when their tables are made')
      const accounts = await kept(opened(url))
      const alice = await accounts.create('alice', 'free', iso(NOON))
      expect(await accounts.charge([chargeOf(alice)])).toMatchObject([{ outcome: 'charged' }])
      expect(JSON.parse((await layout('--json')).out)).toEqual({
        schema: 'bands.accounts-layout/1',
        accounts: place,
        partitions: 4,
      })
      const other = await cluster.current.createDatabase()
      await kept(opened(other, { create: true }))
      expect((await typed(`accounts layout --accounts ${other}`)).out).toContain(': whole tables')
    })

    it('of an earlier bands, with a row an answer in the ledger, become those of this one with the same books', async () => {
      const url = await cluster.current.createDatabase()
      const address = parseAddress('accounts', url, {})
      const before = await Database.open(address)
      const { steps, ...kind } = accountsSchema()
      await prepareSchema(before, { ...kind, steps: steps.slice(0, 2) }, { create: true })
      await before.query(`
        INSERT INTO bands_accounts.accounts (account, name, tier, created) VALUES ('alice', 'alice', 'free', ${NOON});
        INSERT INTO bands_accounts.accounts (account, name, tier, created) VALUES ('bob', 'bob', 'free', ${NOON});
        INSERT INTO bands_accounts.books VALUES ('alice'), ('bob');
        INSERT INTO bands_accounts.ledger (account, request, key, endpoint, credits, at)
        SELECT account, 'request-' || i || account, 'Identity', '/v1/events', 1 + i % 2, ${NOON} + i * ${HOUR_MS / 4}
        FROM (VALUES ('alice'), ('bob')) AS a(account), generate_series(1, 3000::bigint) AS i;
        INSERT INTO bands_accounts.counters (account, period, start, credits, requests)
        SELECT account, period, at - at % length, sum(credits), count(*) FROM bands_accounts.ledger,
          (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length) GROUP BY 1, 2, 3`)
      const rows = 'SELECT account, request, key, endpoint, credits, at FROM bands_accounts.ledger ORDER BY request'
      const ledger = await before.query(rows)
      const accounts = await kept(opened(url))
      expect(await before.query(rows)).toEqual(ledger)
      const read: unknown[] = []
      await accounts.readTables((book, found) => void (book === 'ledger' && read.push(...found)))
      expect(read).toHaveLength(6_000)
      expect(await accounts.reconcile()).toEqual({ rows: 6_000, requests: 6_000, credits: 9_000, discrepancies: [] })
      const alice = await accounts.account('alice')
      const at = NOON + HOUR_MS / 4
      expect(await accounts.charge([chargeOf(alice, { at })])).toMatchObject([
        { outcome: 'charged', usedCredits: { hour: 3 } },
      ])
      await before.close()
    })

    it('give a server the rights to charge, and to nothing that would make up a charge or a key', async () => {
      const { url, accounts, alice, sql } = await withAlice()
      await accounts.addKey(alice.id, keyOf('Identity'))
      await sql('CREATE ROLE server LOGIN')
      expect((await typed(`accounts grant server --accounts ${url}`)).out).toContain('server can serve the accounts')
      expectRefusal(await typed(`accounts grant servre --accounts ${url}`), 3, 'has no role servre')
      const server = await kept(opened(url.replace('bands@', 'server@'), { create: true }))
      expect(await server.charge([chargeOf(alice)])).toEqual([{ outcome: 'charged', usedCredits: { day: 1, hour: 1 } }])
      expect((await server.key('Identity'))?.lastUsed).toBe(iso(NOON))
      await server.check()
      for (const work of [
        () => server.create('bob', 'pro', iso(NOON)),
        () => server.setTier('alice', 'pro'),
        () => server.addKey(alice.id, keyOf('AAAAAAAA')),
        () => server.revoke('Identity', iso(NOON)),
      ])
        await expect(work()).rejects.toThrow('does not allow this user to do that: permission denied for table')
      expect(await server.reconcile()).toMatchObject({ rows: 1, discrepancies: [] })
      const empty = (await cluster.current.createDatabase()).replace('bands@', 'server@')
      await expect(opened(empty, { create: true })).rejects.toThrow(
        'has no tables of bands, and this user may not make them; make an account as the owner of the database',
      )
    })
  })

  describe('the ledger', () => {
    it.each([
      ["UPDATE counters SET credits = credits + 5 WHERE period = 'day'", [['day', 'credits', 8, 3]]],
      ["UPDATE counters SET requests = 1 WHERE period = 'hour'", [['hour', 'requests', 1, 2]]],
      [
        "DELETE FROM counters WHERE period = 'hour'",
        [
          ['hour', 'credits', 0, 3],
          ['hour', 'requests', 0, 2],
        ],
      ],
      [
        "UPDATE batches SET lines = split_part(lines, E'\\n', 1)",
        [
          ['day', 'credits', 3, 1],
          ['day', 'requests', 2, 1],
          ['hour', 'credits', 3, 1],
          ['hour', 'requests', 2, 1],
        ],
      ],
      [
        'DELETE FROM batches',
        [
          ['day', 'credits', 3, 0],
          ['day', 'requests', 2, 0],
          ['hour', 'credits', 3, 0],
          ['hour', 'requests', 2, 0],
        ],
      ],
    ])('shows what was done by %s', async (statement, found) => {
      const { accounts, alice, sql } = await withAlice()
      const bob = await accounts.create('bob', 'free', iso(NOON))
      await accounts.charge([chargeOf(alice), chargeOf(alice, { credits: 2 })])
      await sql(`SET search_path = bands_accounts; ${statement}`)
      const start = { day: '2026-03-24T00:00:00.000Z', hour: '2026-03-24T12:00:00.000Z' }
      const named = found.map(([period, of, counter, ledger]) => ({
        account: 'alice',
        period,
        of,
        counter,
        ledger,
        start: start[period as 'day' | 'hour'],
      }))
      expect((await accounts.reconcile()).discrepancies).toEqual(named)
      expect((await accounts.reconcile(alice.id)).discrepancies).toEqual(named)
      expect((await accounts.reconcile(bob.id)).discrepancies).toEqual([])
    })

    it('has a batch once: one of a number that is there is refused, whether it is granted at once or one by one', async () => {
      const { accounts, alice } = await withAlice()
      const atOnce = [chargeOf(alice), chargeOf(alice)]
      const oneByOne = [chargeOf(alice), chargeOf(alice, { limits: { day: 9, hour: 9 } })]
      for (const batch of [atOnce, oneByOne]) {
        await accounts.charge(batch)
        await expect(accounts.charge(batch)).rejects.toThrow(StorageError)
      }
      expect(await accounts.reconcile()).toEqual({ rows: 4, requests: 4, credits: 4, discrepancies: [] })
    })

    it('forgets the names of requests after 48 hours, more of them than come in', async () => {
      const { accounts, alice, sql } = await withAlice()
      const limits = { day: 10_000, hour: 10_000 }
      const batch = (at: number) =>
        Array.from({ length: 100 }, (_, i) => chargeOf(alice, { idempotency: sha256(`${at} ${i}`), limits, at }))
      await accounts.charge(batch(NOON))
      await accounts.charge(batch(NOON + DAY_MS))
      expect(await sql('SELECT count(*) FROM bands_accounts.named')).toEqual(['200'])
      await accounts.charge(batch(NOON + 3 * DAY_MS))
      expect(await sql('SELECT count(*) FROM bands_accounts.named')).toEqual(['100'])
    })

    it('keeps the names of requests that are younger than 48 hours by the clock of the database', async () => {
      const { accounts, alice } = await withAlice()
      const named = { idempotency: sha256('one'), at: Date.now() }
      await accounts.charge([chargeOf(alice, named)])
      await accounts.charge([chargeOf(alice, { at: Date.now() + 3 * DAY_MS })])
      expect(await accounts.charge([chargeOf(alice, named)])).toMatchObject([{ outcome: 'repeated' }])
    })

    it('charges batches of many accounts that cross each other, each account in its turn', async () => {
      const { url, accounts } = await withAlice()
      const owners = await Promise.all(
        Array.from({ length: 12 }, (_, i) => accounts.create(`owner ${i}`, 'free', iso(NOON))),
      )
      const servers = await Promise.all([1, 2, 3].map(() => kept(opened(url))))
      const limits = { day: 25, hour: 25 }
      const rounds = servers.flatMap((server, k) =>
        Array.from({ length: 10 }, (_, i) => {
          const order = (i + k) % 2 === 0 ? owners : owners.toReversed()
          return server.charge(order.map(owner => chargeOf(owner, { limits })))
        }),
      )
      const outcomes = (await Promise.all(rounds)).flat().map(({ outcome }) => outcome)
      expect(outcomes.filter(outcome => outcome === 'charged')).toHaveLength(12 * 25)
      for (const { id } of owners) expect(await accounts.usedCredits(id, NOON)).toEqual({ day: 25, hour: 25 })
      expect(await accounts.reconcile()).toMatchObject({ rows: 300, credits: 300, discrepancies: [] })
    })
  })

  describe('a copy', () => {
    const LONG_AGO = Date.UTC(2020, 5, 1)
    const limits = { day: 1e6, hour: 1e6 }

    const fileWithBooks = async () => {
      const path = join(temporaryFolder(), 'bands.accounts.db')
      const accounts = openSqliteAccounts(path)
      onTestFinished(() => accounts.close())
      const owners = [
        await accounts.create('Zoë', 'pro', iso(LONG_AGO)),
        await accounts.create('anna', 'free', iso(NOON)),
      ]
      await accounts.addKey(owners[0]!.id, keyOf('Identity', { expires: iso(NOON) }))
      await accounts.addKey(owners[1]!.id, keyOf('AAAAAAAA'))
      await accounts.revoke('AAAAAAAA', iso(NOON))
      await accounts.changeWatchList(owners[0]!.id, { add: ['MSFT', 'AAPL'], remove: [], maxTickers: 100 })
      for (const [i, at] of [LONG_AGO, NOON - 90 * DAY_MS, NOON - 1, NOON].entries())
        await accounts.charge(
          owners.map((owner, k) =>
            chargeOf(owner, {
              at,
              limits,
              requestId: `${i}${k}`,
              credits: 1 + k,
              idempotency: k === 0 ? sha256(`${i}`) : null,
            }),
          ),
        )
      expect((await rollUpLedger(accounts, NOON)).rows).toBe(4)
      return { accounts, owners }
    }

    const rowsOf = async (accounts: Accounts) => {
      const found: Record<string, string[]> = {}
      await accounts.readTables((book, rows) => {
        found[book] = [...(found[book] ?? []), ...rows.map(row => JSON.stringify(row))]
      })
      for (const [book, rows] of Object.entries(found)) if (book !== 'keys') rows.sort()
      return found
    }

    it('from a file, and back into one, has every row, and goes on where the first left off', async () => {
      const { accounts: file } = await fileWithBooks()
      const books = await rowsOf(file)
      expect(Object.values(books).every(rows => rows.length > 0)).toBe(true)
      const database = await kept(opened(await cluster.current.createDatabase(), { create: true, partitions: 4 }))
      const report = await copyAccounts(file, database)
      expect(report).toMatchObject({ rows: { accounts: 2, keys: 2, secrets: 1, ledger: 4, days: 2 } })
      expect(report.proof).toEqual(await file.reconcile())
      expect(await rowsOf(database)).toEqual(books)
      expect(await database.secret()).toEqual(await file.secret())
      const zoe = await database.account('zoë')
      const again = { at: NOON + 1, limits, idempotency: sha256('3') }
      expect(await database.charge([chargeOf(zoe, again), chargeOf(zoe, { at: NOON + 1, limits })])).toMatchObject([
        { outcome: 'repeated' },
        { outcome: 'charged', usedCredits: { day: 3 } },
      ])
      const back = openSqliteAccounts(join(temporaryFolder(), 'back.accounts.db'))
      onTestFinished(() => back.close())
      await copyAccounts(database, back)
      expect(await rowsOf(back)).toEqual(await rowsOf(database))
      expect((await back.keys()).map(({ identity }) => identity)).toEqual(['Identity', 'AAAAAAAA'])
      expect(await back.reconcile()).toMatchObject({ rows: 7, discrepancies: [] })
    })

    it('keeps what there was where it does not arrive whole, or that is not to be replaced', async () => {
      const { accounts: file } = await fileWithBooks()
      const { accounts: database, sql } = await withAlice()
      const before = await rowsOf(database)
      await expect(copyAccounts(file, database)).rejects.toThrow('has accounts; copy to where there are none')
      await expect(copyAccounts(file, file)).rejects.toThrow('which is the source of the copy')
      await sql(`CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN NEW.lines := replace(NEW.lines, ''/v1/'', ''/v2/''); RETURN NEW; END';
        CREATE TRIGGER more BEFORE INSERT ON bands_accounts.batches FOR EACH ROW EXECUTE FUNCTION more()`)
      const copied = copyAccounts(file, database, { replace: true })
      await expect(copied).rejects.toThrow('its ledger are not what was sent; nothing was kept')
      expect(await rowsOf(database)).toEqual(before)
      await sql('DROP TRIGGER more ON bands_accounts.batches')
      await copyAccounts(file, database, { replace: true })
      expect(await rowsOf(database)).toEqual(await rowsOf(file))
      // The other way a source that ends in the middle.
      const books = await rowsOf(file)
      await database.create('late', 'free', iso(NOON))
      const ending = Object.assign(Object.create(database), {
        location: 'elsewhere',
        readTables: (each: TakeRows) =>
          database.readTables((book, rows) => {
            if (book === 'days') throw new Busy('it ended')
            return each(book, rows)
          }),
      })
      await expect(copyAccounts(ending, file, { replace: true })).rejects.toThrow('it ended')
      expect(await rowsOf(file)).toEqual(books)
    })
  })

  it('charges once what was written when the connection broke off before that was heard', async () => {
    const { url, alice, accounts } = await withAlice()
    const line = await lineTo(cluster.current.port)
    const server = await kept(opened(url.replace(/:\d+/, `:${line.port}`)))
    const limits = { day: 5, hour: 5 }
    await server.charge([chargeOf(alice, { limits })])
    for (let round = 0; round < 3; round++) {
      line.swallowNext()
      const named = chargeOf(alice, { limits, idempotency: sha256(`round ${round}`) })
      const charged = await server.charge([named, chargeOf(alice, { limits: { day: 1, hour: 1 } })])
      expect(charged.map(({ outcome }) => outcome)).toEqual(['charged', 'limited'])
      expect(charged[0]!.usedCredits).toEqual({ day: 2 + round, hour: 2 + round })
    }
    expect(line.swallowed()).toBe(3)
    expect(await accounts.reconcile()).toEqual({ rows: 4, requests: 4, credits: 4, discrepancies: [] })
  })

  it('waits for a database that refuses logins after a charge may have been written, and charges once', async () => {
    const { url, alice, accounts, sql } = await withAlice()
    await sql(`CREATE ROLE teller LOGIN SUPERUSER`)
    const line = await lineTo(cluster.current.port)
    const server = await kept(opened(url.replace('bands@', 'teller@').replace(/:\d+/, `:${line.port}`)))
    await server.charge([chargeOf(alice)])
    line.swallowNext()
    await sql('ALTER ROLE teller NOLOGIN')
    const charging = server.charge([chargeOf(alice)])
    await line.refused()
    await sql('ALTER ROLE teller LOGIN')
    expect(await charging).toEqual([{ outcome: 'charged', usedCredits: { day: 2, hour: 2 } }])
    expect(await accounts.reconcile()).toMatchObject({ rows: 2, discrepancies: [] })
    // Before anything was sent it is a fault of the settings.
    await sql('ALTER ROLE teller NOLOGIN')
    const locked = url.replace('bands@', 'teller@')
    await expect(opened(locked)).rejects.toThrow(ConfigError)
  })

  it('says "try later" while the database is away, and charges again once it is back', async () => {
    const { accounts, alice } = await withAlice()
    await accounts.charge([chargeOf(alice)])
    await cluster.current.stop()
    // Both are tried for seconds, side by side.
    const tried = [accounts.check(), accounts.charge([chargeOf(alice)])]
    for (const end of await Promise.allSettled(tried)) expect(end).toMatchObject({ reason: expect.any(Busy) })
    await cluster.current.start()
    await accounts.check()
    expect(await accounts.charge([chargeOf(alice)])).toMatchObject([{ outcome: 'charged', usedCredits: { day: 2 } }])
    expect(await accounts.reconcile()).toMatchObject({ rows: 2, discrepancies: [] })
  })
})

/** A line to a port on which the next answer can be swallowed: it breaks off when that comes, as a network does. */
async function lineTo(
  port: number,
): Promise<{ port: number; swallowNext(): void; swallowed(): number; refused(): Promise<void> }> {
  let isArmed = false
  let count = 0
  let told = (): void => {}
  const server = createServer((caller: Socket) => {
    const database = connect(port, '127.0.0.1')
    caller.pipe(database)
    database.on('data', bytes => {
      if (bytes.includes('not permitted to log in')) told()
      if (!isArmed) return void caller.write(bytes)
      isArmed = false
      count += 1
      caller.destroy()
    })
    for (const [one, other] of [
      [caller, database],
      [database, caller],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return {
    port: (server.address() as { port: number }).port,
    swallowNext: () => {
      isArmed = true
    },
    swallowed: () => count,
    refused: () =>
      new Promise<void>(resolve => {
        told = resolve
      }),
  }
}
