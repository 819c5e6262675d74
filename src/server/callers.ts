import type { Accounts, KeyEntry, Used } from '../accounts/accounts.js'
import { authenticate } from '../accounts/authenticate.js'
import { hashOf } from '../accounts/key.js'
import { hourStart } from '../accounts/periods.js'
import { stateOf } from '../accounts/state.js'
import { Unauthorized } from '../errors/service.js'
import type { Caller } from './exchange.js'
import { headersNamed } from './headers.js'
import { oncePerTurn } from './turn.js'

/**
 * Who asks, and what they have used. Both are looked up once, and again when anything in the accounts was changed from
 * elsewhere; what this server charges is told to it. Limits are not checked here, but where charges are written.
 */
export class Callers {
  readonly #accounts: Accounts
  readonly #version: () => Promise<string>
  /** By the hash of the key: no key is kept, and how long a look-up takes tells nothing about one. */
  readonly #keys = new Map<string, KeyEntry>()
  readonly #used = new Map<number, { used: Used; hour: number }>()
  #seen = ''

  constructor(accounts: Accounts) {
    this.#accounts = accounts
    this.#version = oncePerTurn(() => accounts.version())
  }

  /** @param now milliseconds since 1970, here and below. Throws Unauthorized. */
  async of(rawHeaders: readonly string[], now: number): Promise<Caller> {
    const token = bearerToken(rawHeaders)
    await this.#heed()
    const name = hashOf(token).toString('latin1')
    const entry = this.#keys.get(name) ?? (await this.#look(token, name, now))
    if (entry === null || stateOf(entry, now) !== 'active') throw new Unauthorized()
    const { identity, account } = entry
    return { account: account.id, key: identity, tier: account.tier }
  }

  async used(account: number, now: number): Promise<Used> {
    await this.#heed()
    const known = this.#used.get(account)
    if (known?.hour === hourStart(now)) return known.used
    const used = await this.#accounts.used(account, now)
    this.charged(account, used, now)
    return used
  }

  /** What an account had used after a charge at a moment. */
  charged(account: number, used: Used, at: number): void {
    if (this.#used.size >= MOST_KNOWN) this.#used.clear()
    this.#used.set(account, { used, hour: hourStart(at) })
  }

  async #look(token: string, name: string, now: number): Promise<KeyEntry | null> {
    const version = this.#seen
    const entry = await authenticate(this.#accounts, token, now)
    // What was changed while it was looked up may have passed it by.
    if (entry === null || version !== this.#seen) return entry
    if (this.#keys.size >= MOST_KNOWN) this.#keys.clear()
    this.#keys.set(name, entry)
    return entry
  }

  async #heed(): Promise<void> {
    const version = await this.#version()
    if (version === this.#seen) return
    this.#seen = version
    this.#keys.clear()
    this.#used.clear()
  }
}

/** Keys, and accounts, that are kept in memory. */
const MOST_KNOWN = 10_000

/**
 * The token of the one `Authorization` header, which must be `Bearer` in any case and one word after it. A second header
 * is refused, as two readers could take different ones. Throws Unauthorized.
 */
function bearerToken(rawHeaders: readonly string[]): string {
  const [given = '', another] = headersNamed('authorization', rawHeaders)
  const token = /^bearer +([!-~]+)$/i.exec(given)?.[1]
  if (token === undefined || another !== undefined) throw new Unauthorized()
  return token
}
