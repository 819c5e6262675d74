import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { InvalidParameter, NotFound } from '../../src/core/errors.js'
import { Random } from '../../src/core/statistics/random.js'
import {
  type Account,
  type Accounts,
  type Charge,
  type ChargeResult,
  DAY_MS,
  type DayUsage,
  HOUR_MS,
  type NewKey,
  REPEAT_MS,
  RETENTION_DAYS,
  rollUpLedger,
  type UsedCredits,
} from '../../src/server/accounts/accounts.js'
import { draws, QUICK } from '../support/full.js'

/** A moment in the middle of a UTC hour and day. */
export const NOON = Date.UTC(2026, 2, 24, 12, 30)

export const iso = (at: number): string => new Date(at).toISOString()
export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

const seeds = (all: number): number[] => Array.from({ length: draws(all) }, (_, i) => i + 1)

let requests = 0

/** A charge of one credit, with a request number of its own. */
export function chargeOf(account: Account, given: Partial<Charge> = {}): Charge {
  requests += 1
  return {
    account: account.id,
    key: 'Identity',
    requestId: `request-${requests}`,
    idempotency: null,
    question: sha256('AAPL rsi_zone'),
    answer: sha256('{"events":[]}'),
    endpoint: '/v1/events',
    credits: 1,
    limits: { day: 250, hour: 100 },
    at: NOON,
    ...given,
  }
}

export function keyOf(identity: string, given: Partial<NewKey> = {}): NewKey {
  return { identity, hash: sha256(identity), name: identity, created: iso(NOON), expires: null, ...given }
}

/** Opens an empty keeper of accounts; `again` opens it once more. */
type Open = () => Promise<{ accounts: Accounts; again(): Promise<Accounts> }>

/** Makers of accounts that are closed with the test. */
function makersOf(open: Open) {
  const kept = async (opening: Promise<Accounts>): Promise<Accounts> => {
    const accounts = await opening
    onTestFinished(() => accounts.close())
    return accounts
  }
  const make = async () => {
    const { accounts, again } = await open()
    return { accounts: await kept(Promise.resolve(accounts)), again: () => kept(again()) }
  }
  const withAlice = async () => {
    const made = await make()
    return { ...made, alice: await made.accounts.create('Alice', 'free', iso(NOON)) }
  }
  return { make, withAlice }
}

/** What every keeper of accounts does, whatever lies beneath it. */
export function accountsContract(name: string, open: Open): void {
  const { make, withAlice } = makersOf(open)

  describe(`${name}: accounts`, () => {
    it('come back as they were made, by name in any case, and in order', async () => {
      const { accounts, again } = await make()
      const zoe = await accounts.create('Zoë', 'pro', iso(NOON))
      const bob = await accounts.create('bob', 'free', iso(NOON + 1))
      const anna = await accounts.create('Anna', 'plus', iso(NOON))
      expect(bob).toEqual({ id: bob.id, name: 'bob', tier: 'free', created: '2026-03-24T12:30:00.001Z' })
      await accounts.close()
      const reopened = await again()
      expect(await reopened.accounts()).toEqual([anna, bob, zoe])
      expect(await reopened.account('BOB')).toEqual(bob)
      expect(await reopened.account('ZOË')).toEqual(zoe)
      expect(await reopened.account('zoe\u0308')).toEqual(zoe)
    })

    it('cannot have a name that another has in other case, and nothing is made then', async () => {
      const { accounts } = await withAlice()
      const refused = accounts.create('ALICE', 'pro', iso(NOON))
      await expect(refused).rejects.toThrow(InvalidParameter)
      await expect(refused).rejects.toThrow('there is an account "Alice" already')
      expect(await accounts.accounts()).toHaveLength(1)
    })

    it('have one secret, whoever opens them, and other accounts another', async () => {
      const { accounts, again } = await make()
      const secret = await accounts.secret()
      expect(secret).toHaveLength(32)
      expect(await (await again()).secret()).toEqual(secret)
      expect(await (await make()).accounts.secret()).not.toEqual(secret)
    })

    it('are told by the nearest name when one is not there', async () => {
      const { accounts } = await withAlice()
      for (const ask of [() => accounts.account('alcie'), () => accounts.setTier('alcie', 'pro')]) {
        const asked = ask()
        await expect(asked).rejects.toThrow(NotFound)
        await expect(asked).rejects.toMatchObject({ suggestions: ['Alice'] })
      }
    })

    it('change their tier, and their keys with them', async () => {
      const { accounts, alice } = await withAlice()
      await accounts.addKey(alice.id, keyOf('AAAAAAAA'))
      expect(await accounts.setTier('alice', 'pro')).toEqual({ ...alice, tier: 'pro' })
      expect((await accounts.key('AAAAAAAA'))?.account.tier).toBe('pro')
    })
  })

  describe(`${name}: keys`, () => {
    it('are found by their identity, with their hash and account', async () => {
      const { accounts, alice } = await withAlice()
      const key = keyOf('AAAAAAAA', { name: 'laptop', expires: iso(NOON + DAY_MS) })
      await accounts.addKey(alice.id, key)
      expect(await accounts.key('AAAAAAAA')).toEqual({ ...key, account: alice, lastUsed: null, revoked: null })
      expect(await accounts.key('aaaaaaaa')).toBeNull()
    })

    it('are listed in the order in which they were made, of all accounts or of one', async () => {
      const { accounts, alice } = await withAlice()
      const bob = await accounts.create('bob', 'free', iso(NOON))
      for (const [account, identity] of [
        [alice, 'BBBBBBBB'],
        [bob, 'AAAAAAAA'],
        [alice, '00000000'],
      ] as const)
        await accounts.addKey(account.id, keyOf(identity))
      const identities = async (account?: number) => (await accounts.keys(account)).map(key => key.identity)
      expect(await identities()).toEqual(['BBBBBBBB', 'AAAAAAAA', '00000000'])
      expect(await identities(alice.id)).toEqual(['BBBBBBBB', '00000000'])
      expect((await accounts.keys())[0]).not.toHaveProperty('hash')
    })

    it('share a name only with keys of other accounts, and with those that count no more', async () => {
      const { accounts, alice } = await withAlice()
      const bob = await accounts.create('bob', 'free', iso(NOON))
      const named = (identity: string, given: Partial<NewKey> = {}) => keyOf(identity, { name: 'laptop', ...given })
      await accounts.addKey(alice.id, named('AAAAAAAA', { expires: iso(NOON + HOUR_MS) }))
      await accounts.addKey(bob.id, named('BBBBBBBB'))
      await expect(accounts.addKey(alice.id, named('CCCCCCCC'))).rejects.toThrow(InvalidParameter)
      expect(await accounts.key('CCCCCCCC')).toBeNull()
      await accounts.addKey(alice.id, named('DDDDDDDD', { created: iso(NOON + HOUR_MS) }))
      await accounts.revoke('DDDDDDDD', iso(NOON + 2 * HOUR_MS))
      await accounts.addKey(alice.id, named('EEEEEEEE', { created: iso(NOON + 3 * HOUR_MS) }))
    })

    it('are revoked once and for all', async () => {
      const { accounts, alice } = await withAlice()
      await accounts.addKey(alice.id, keyOf('AAAAAAAA'))
      await accounts.revoke('AAAAAAAA', iso(NOON + 1))
      await accounts.revoke('AAAAAAAA', iso(NOON + 2))
      expect((await accounts.key('AAAAAAAA'))?.revoked).toBe(iso(NOON + 1))
      const missing = accounts.revoke('AAAAAAAB', iso(NOON))
      await expect(missing).rejects.toThrow(NotFound)
      await expect(missing).rejects.toMatchObject({ suggestions: ['AAAAAAAA'] })
    })

    it('are rolled: another takes account and name, the old one ends when told, never later than it would have', async () => {
      const { accounts, alice } = await withAlice()
      const named = (identity: string, given: Partial<NewKey> = {}) => keyOf(identity, { name: 'laptop', ...given })
      await accounts.addKey(alice.id, named('AAAAAAAA'))
      await accounts.roll('AAAAAAAA', named('BBBBBBBB', { expires: iso(NOON + 2 * HOUR_MS) }), iso(NOON + DAY_MS))
      expect((await accounts.key('AAAAAAAA'))?.expires).toBe(iso(NOON + DAY_MS))
      expect(await accounts.key('BBBBBBBB')).toMatchObject({ account: alice, name: 'laptop', revoked: null })
      // Its name is taken by two keys for now, so the first cannot have a second successor of that name.
      await expect(accounts.roll('AAAAAAAA', named('CCCCCCCC'), iso(NOON))).rejects.toThrow(InvalidParameter)
      expect((await accounts.key('AAAAAAAA'))?.expires).toBe(iso(NOON + DAY_MS))
      await accounts.roll('BBBBBBBB', keyOf('DDDDDDDD'), iso(NOON + DAY_MS))
      expect((await accounts.key('BBBBBBBB'))?.expires).toBe(iso(NOON + 2 * HOUR_MS))
    })

    it('are not rolled once they count no more, or are not there', async () => {
      const { accounts, alice } = await withAlice()
      await accounts.addKey(alice.id, keyOf('AAAAAAAA'))
      await accounts.addKey(alice.id, keyOf('BBBBBBBB', { expires: iso(NOON + HOUR_MS) }))
      await accounts.revoke('AAAAAAAA', iso(NOON))
      const later = keyOf('CCCCCCCC', { created: iso(NOON + HOUR_MS) })
      for (const identity of ['AAAAAAAA', 'BBBBBBBB'])
        await expect(accounts.roll(identity, later, iso(NOON + DAY_MS))).rejects.toThrow(InvalidParameter)
      await expect(accounts.roll('ZZZZZZZZ', later, iso(NOON + DAY_MS))).rejects.toThrow(NotFound)
      expect(await accounts.keys()).toHaveLength(2)
    })

    it('change the version whoever changes them, and their use through the same connection need not', async () => {
      const { accounts, again, alice } = await withAlice()
      const other = await again()
      const versions = [await accounts.version()]
      await accounts.charge([chargeOf(alice)])
      await accounts.keys()
      expect(await accounts.version()).toBe(versions[0])
      for (const change of [
        () => accounts.addKey(alice.id, keyOf('AAAAAAAA')),
        () => other.revoke('AAAAAAAA', iso(NOON)),
        () => accounts.setTier('alice', 'pro'),
        () => other.setTier('alice', 'free'),
      ]) {
        await change()
        expect(versions).not.toContain(await accounts.version())
        versions.push(await accounts.version())
      }
    })

    it('tell the minute of their last use', async () => {
      const { accounts, alice } = await withAlice()
      await accounts.addKey(alice.id, keyOf('Identity'))
      for (const [at, seen] of [
        [NOON + 59_000, NOON],
        [NOON + 61_000, NOON + 60_000],
        [NOON + 30_000, NOON + 60_000],
      ] as const) {
        await accounts.charge([chargeOf(alice, { at })])
        expect((await accounts.key('Identity'))?.lastUsed).toBe(iso(seen))
      }
    })
  })

  chargingContract(name, open)

  describe(`${name}: watch lists`, () => {
    const maxTickers = 5

    it('have each ticker once, first added first', async () => {
      const { accounts, alice } = await withAlice()
      expect(await accounts.watchedTickers(alice.id)).toEqual([])
      expect(await accounts.changeWatchList(alice.id, { add: ['B', 'A', 'B'], remove: [], maxTickers })).toEqual([
        'B',
        'A',
      ])
      expect(await accounts.changeWatchList(alice.id, { add: ['C', 'B'], remove: ['A', 'X'], maxTickers })).toEqual([
        'B',
        'C',
      ])
      expect(await accounts.changeWatchList(alice.id, { add: ['A'], remove: [], maxTickers })).toEqual(['B', 'C', 'A'])
      expect(await accounts.watchedTickers(alice.id)).toEqual(['B', 'C', 'A'])
    })

    it('belong to one account, and are there after a restart', async () => {
      const { accounts, again, alice } = await withAlice()
      const bob = await accounts.create('Bob', 'pro', iso(NOON))
      await accounts.changeWatchList(alice.id, { add: ['A'], remove: [], maxTickers })
      expect(await accounts.watchedTickers(bob.id)).toEqual([])
      expect(await (await again()).watchedTickers(alice.id)).toEqual(['A'])
    })

    it('stay as they were where they would get too long', async () => {
      const { accounts, alice } = await withAlice()
      await accounts.changeWatchList(alice.id, { add: ['A', 'B', 'C'], remove: [], maxTickers })
      const refused = accounts.changeWatchList(alice.id, { add: ['D', 'E', 'F'], remove: [], maxTickers })
      await expect(refused).rejects.toThrow('a watch list has at most 5 tickers')
      await expect(refused).rejects.toBeInstanceOf(InvalidParameter)
      expect(await accounts.watchedTickers(alice.id)).toEqual(['A', 'B', 'C'])
    })

    it('lose no ticker where two add at once', async () => {
      const { accounts, again, alice } = await withAlice()
      const other = await again()
      const tickers = Array.from({ length: 20 }, (_, i) => `T${i}`)
      await Promise.all(
        tickers.map((ticker, i) =>
          [accounts, other][i % 2]!.changeWatchList(alice.id, { add: [ticker], remove: [], maxTickers: 20 }),
        ),
      )
      expect((await accounts.watchedTickers(alice.id)).sort()).toEqual(tickers.sort())
    })
  })
}

/** The part of it that charges, for tables that are cut in another way. */
export function chargingContract(name: string, open: Open): void {
  const { make, withAlice } = makersOf(open)

  describe(`${name}: charges`, () => {
    it('are added to the day and the hour in which they fall, in UTC', async () => {
      const { accounts, alice } = await withAlice()
      const midnight = Date.UTC(2026, 2, 25)
      for (const [at, used] of [
        [midnight - HOUR_MS - 1, { day: 1, hour: 1 }],
        [midnight - HOUR_MS, { day: 2, hour: 1 }],
        [midnight - 1, { day: 3, hour: 2 }],
        [midnight, { day: 1, hour: 1 }],
      ] as const) {
        expect(await accounts.charge([chargeOf(alice, { at })])).toEqual([{ outcome: 'charged', usedCredits: used }])
        expect(await accounts.usedCredits(alice.id, at)).toEqual(used)
      }
      expect(await accounts.usedCredits(alice.id, midnight + HOUR_MS)).toEqual({ day: 1, hour: 0 })
      expect(await accounts.usage(alice.id, midnight - 1)).toEqual([
        { date: '2026-03-25', credits: 1, requests: 1 },
        { date: '2026-03-24', credits: 3, requests: 3 },
      ])
      expect(await accounts.usage(alice.id, midnight)).toHaveLength(1)
    })

    it('are free when the same question was charged under the same name, also where the limit is reached', async () => {
      const { accounts, alice } = await withAlice()
      const limits = { day: 1, hour: 1 }
      const named = (given: Partial<Charge> = {}) => chargeOf(alice, { idempotency: sha256('one'), limits, ...given })
      const other = { question: sha256('MSFT rsi_zone') }
      const outcomes = await accounts.charge([named(), named(), named(other), chargeOf(alice, { limits })])
      expect(outcomes.map(charged => charged.outcome)).toEqual(['charged', 'repeated', 'conflict', 'limited'])
      for (const { usedCredits: used } of outcomes) expect(used).toEqual({ day: 1, hour: 1 })
      expect((await accounts.charge([named(), named(other)])).map(charged => charged.outcome)).toEqual([
        'repeated',
        'conflict',
      ])
      expect(await accounts.reconcile()).toMatchObject({ rows: 1, credits: 1, discrepancies: [] })
    })

    it('are made again under the same name once the answer is another, which is then free in its turn', async () => {
      const { accounts, alice } = await withAlice()
      const outcome = async (answer: string, given: Partial<Charge> = {}) => {
        const named = { idempotency: sha256('one'), answer: sha256(answer), ...given }
        return (await accounts.charge([chargeOf(alice, named)]))[0]!.outcome
      }
      expect(await outcome('old')).toBe('charged')
      expect(await outcome('old')).toBe('repeated')
      expect(await outcome('new', { limits: { day: 1, hour: 1 } })).toBe('limited')
      expect(await outcome('new', { question: sha256('MSFT rsi_zone') })).toBe('conflict')
      expect(await outcome('new', { at: NOON + HOUR_MS })).toBe('charged')
      expect(await outcome('new', { at: NOON + REPEAT_MS })).toBe('repeated')
      expect(await outcome('old')).toBe('charged')
      expect(await accounts.reconcile()).toMatchObject({ rows: 3, credits: 3, discrepancies: [] })
    })

    it('have names of their own in every account, for 48 hours', async () => {
      const { accounts, alice } = await withAlice()
      const bob = await accounts.create('bob', 'free', iso(NOON))
      const outcome = async (account: Account, at: number, question = 'AAPL rsi_zone') => {
        const named = { idempotency: sha256('one'), question: sha256(question), at }
        return (await accounts.charge([chargeOf(account, named)]))[0]!.outcome
      }
      expect(await outcome(alice, NOON)).toBe('charged')
      expect(await outcome(bob, NOON)).toBe('charged')
      expect(await outcome(alice, NOON + REPEAT_MS - 1)).toBe('repeated')
      expect(await outcome(alice, NOON + REPEAT_MS - 1, 'another')).toBe('conflict')
      expect(await outcome(alice, NOON + REPEAT_MS, 'another')).toBe('charged')
      expect(await outcome(alice, NOON + REPEAT_MS + 1, 'another')).toBe('repeated')
    })

    it('of one batch count in their own hours, in any order', async () => {
      const { accounts, alice } = await withAlice()
      const limits = { day: 4, hour: 2 }
      const hours = [0, 1, 0, 0, 1, 1, 0]
      const charged = await accounts.charge(hours.map(hour => chargeOf(alice, { at: NOON + hour * HOUR_MS, limits })))
      expect(charged.map(({ outcome }) => outcome === 'charged')).toEqual([true, true, true, false, true, false, false])
      expect(charged.map(({ usedCredits: used }) => used.hour)).toEqual([1, 1, 2, 2, 2, 2, 2])
      expect(await accounts.reconcile()).toMatchObject({ rows: 4, discrepancies: [] })
    })

    it('are written all or none', async () => {
      const { accounts, alice } = await withAlice()
      const twice = chargeOf(alice)
      await expect(accounts.charge([chargeOf(alice), twice, twice])).rejects.toThrow()
      expect(await accounts.usedCredits(alice.id, NOON)).toEqual({ day: 0, hour: 0 })
      expect(await accounts.reconcile()).toEqual({ rows: 0, requests: 0, credits: 0, discrepancies: [] })
      expect(await accounts.charge([])).toEqual([])
      expect(await accounts.charge([twice])).toEqual([{ outcome: 'charged', usedCredits: { day: 1, hour: 1 } }])
    })

    it.each(seeds(4))('become what books kept by hand say, in whatever order they come (seed %i)', async seed => {
      const { accounts, again } = await make()
      const random = new Random(seed)
      const pick = <T>(items: readonly T[]): T => items[random.word() % items.length]!
      const names = ['alice', 'bob', 'carol']
      const owners = await Promise.all(names.map(owner => accounts.create(owner, 'free', iso(NOON))))
      const connections = [accounts, await again()]
      const books = new Books()
      let now = NOON
      for (let round = 0; round < (QUICK ? 40 : 150); round++) {
        now += pick([0, 1, 60_000, 20 * 60_000, HOUR_MS, 5 * HOUR_MS])
        const batch = Array.from({ length: 1 + (random.word() % 6) }, () =>
          chargeOf(pick(owners), {
            credits: pick([1, 1, 2]),
            idempotency: pick([null, sha256(`name ${random.word() % 12}`)]),
            question: sha256(`question ${random.word() % 2}`),
            answer: sha256(`answer ${random.word() % 2}`),
            limits: pick([
              { day: 12, hour: 4 },
              { day: 30, hour: 20 },
            ]),
            at: now,
          }),
        )
        const expected = batch.map(charge => books.charge(charge))
        expect(await pick(connections).charge(batch)).toEqual(expected)
        for (const { id } of owners) expect(await pick(connections).usedCredits(id, now)).toEqual(books.used(id, now))
      }
      for (const { id } of owners) expect(await accounts.usage(id, NOON)).toEqual(books.usage(id))
      expect(await accounts.reconcile()).toEqual({ ...books.total(), discrepancies: [] })
    })
  })

  describe(`${name}: the ledger, rolled up by day,`, () => {
    it.each(seeds(2))('says what it said before of all that is promised, whoever does it (seed %i)', async seed => {
      const { accounts, again } = await make()
      const random = new Random(seed)
      const owners = await Promise.all(['alice', 'bob'].map(owner => accounts.create(owner, 'free', iso(LONG_AGO))))
      const connections = [accounts, await again()]
      const books = new Books()
      const limits = { day: 1e6, hour: 1e6 }
      let at = LONG_AGO
      for (let i = 0; i < (QUICK ? 10 : 40); i++) {
        at += random.word() % (3 * DAY_MS)
        const batch = Array.from({ length: 1 + (random.word() % 20) }, (_, j) =>
          chargeOf(owners[random.word() % 2]!, {
            at,
            limits,
            credits: 1 + (random.word() % 2),
            requestId: numbered(at, j),
          }),
        )
        for (const charge of batch) books.charge(charge)
        await accounts.charge(batch)
        if (i % 10 !== 9) continue
        const rolled = await Promise.all(connections.map(connection => rollUpLedger(connection, at)))
        expect(rolled.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(0)
        for (const { id } of owners) {
          expect(await accounts.usage(id, 0)).toEqual(books.usage(id))
          expect(await accounts.usedCredits(id, at)).toEqual(books.used(id, at))
        }
        expect(await accounts.reconcile()).toEqual({ ...books.total(), discrepancies: [] })
        expect(await rollUpLedger(accounts, at)).toEqual({ rows: 0, days: 0 })
      }
    })

    it('keeps single rows while a request may be asked again at no cost, and days for 400 of them', async () => {
      const { accounts, alice } = await withAlice()
      const limits = { day: 1e6, hour: 1e6 }
      let last = 0
      const charge = (at: number) =>
        accounts.charge([
          chargeOf(alice, { at, limits, requestId: numbered(at, ++last), idempotency: sha256(`${at}`) }),
        ])
      const days = [0, 1, 2, 3].map(day => LONG_AGO + day * DAY_MS)
      for (const day of days) await charge(day + HOUR_MS)
      // Up to the last moment of the third day all of the first may be asked again.
      expect(await rollUpLedger(accounts, days[3]! - 1)).toEqual({ rows: 0, days: 0 })
      expect(await rollUpLedger(accounts, days[3]!)).toEqual({ rows: 1, days: 0 })
      expect((await charge(days[2]! + HOUR_MS))[0]!.outcome).toBe('repeated')
      // What a server charges whose clock is late goes to its day all the same.
      await charge(days[0]! + 5 * HOUR_MS)
      expect(await accounts.reconcile()).toEqual({ rows: 5, requests: 5, credits: 5, discrepancies: [] })
      expect(await rollUpLedger(accounts, days[3]!)).toEqual({ rows: 1, days: 0 })
      expect(await accounts.usage(alice.id, days[0]!)).toHaveLength(4)
      expect(await rollUpLedger(accounts, days[1]! + RETENTION_DAYS * DAY_MS)).toEqual({ rows: 3, days: 1 })
      expect((await accounts.usage(alice.id, 0)).map(({ date, requests }) => [date, requests])).toEqual([
        ['2020-06-04', 1],
        ['2020-06-03', 1],
        ['2020-06-02', 1],
      ])
      expect(await accounts.reconcile()).toEqual({ rows: 3, requests: 3, credits: 3, discrepancies: [] })
      expect(await rollUpLedger(accounts, days[3]! + (RETENTION_DAYS + 1) * DAY_MS)).toEqual({ rows: 0, days: 3 })
      expect(await accounts.reconcile()).toEqual({ rows: 0, requests: 0, credits: 0, discrepancies: [] })
    })
  })
}

/** Long ago by any clock: what a machine's own says is asked as well before something goes. */
const LONG_AGO = Date.UTC(2020, 5, 1)

/** Numbers of requests that sort by time, as those of a server do. */
const numbered = (at: number, i: number): string => `${String(at).padStart(15, '0')}-${i}`

/** Credits as one would keep them on paper: every charge that was granted in one list, added up anew for each question. */
export class Books {
  readonly #granted: Charge[] = []

  charge(charge: Charge): ChargeResult {
    const told = (outcome: ChargeResult['outcome']): ChargeResult => ({
      outcome,
      usedCredits: this.used(charge.account, charge.at),
    })
    const before = this.#granted.findLast(
      other =>
        other.account === charge.account &&
        charge.idempotency !== null &&
        other.idempotency?.equals(charge.idempotency) === true &&
        charge.at - other.at < 48 * 3_600_000,
    )
    if (before?.question.equals(charge.question) === false) return told('conflict')
    if (before?.answer.equals(charge.answer) === true) return told('repeated')
    const { day, hour } = this.used(charge.account, charge.at)
    if (day + charge.credits > charge.limits.day || hour + charge.credits > charge.limits.hour) return told('limited')
    this.#granted.push(charge)
    return told('charged')
  }

  used(account: number, at: number): UsedCredits {
    const own = this.#granted.filter(charge => charge.account === account)
    // 2026-03-24 and 2026-03-24T12
    const within = (length: number) => own.filter(charge => text(charge.at, length) === text(at, length))
    return { day: credits(within(10)), hour: credits(within(13)) }
  }

  usage(account: number): DayUsage[] {
    const own = this.#granted.filter(charge => charge.account === account)
    const dates = [...new Set(own.map(charge => text(charge.at, 10)))].sort().reverse()
    return dates.map(date => {
      const ofDay = own.filter(charge => text(charge.at, 10) === date)
      return { date, credits: credits(ofDay), requests: ofDay.length }
    })
  }

  total(): { rows: number; requests: number; credits: number } {
    return { rows: this.#granted.length, requests: this.#granted.length, credits: credits(this.#granted) }
  }
}

const text = (at: number, length: number): string => new Date(at).toISOString().slice(0, length)
const credits = (charges: readonly Charge[]): number => charges.reduce((sum, charge) => sum + charge.credits, 0)
