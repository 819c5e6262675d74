import { BadData, printable, RateLimited, remedy, Unauthorized, Upstream } from '../../core/errors.js'
import { type Day, dayAt, parseDay } from '../../core/model/day.js'
import { isMapping } from '../../core/params/arguments.js'
import { addressOf } from '../remote/address.js'
import { type Attempt, type GetHooks, Getter, type Page } from '../remote/get.js'
import { momentAfter, repeatable, type Wait } from '../remote/patience.js'
import { Pace } from './pace.js'
import type { Provider } from './provider.js'

/** One call: some tickers, and the first and last day, both included; pages of an answer are further calls. */
export interface Call {
  tickers: readonly string[]
  from: string
  to: string
}

export interface VendorOptions {
  /** `id:secret` for a vendor that wants two parts. */
  key: string
  /** The file with the times of the calls; null: none. */
  calls: string | null
  env: NodeJS.ProcessEnv
  /** For one attempt, in milliseconds. */
  timeoutMs: number
  hooks: GetHooks
}

/** A vendor that is asked. Its errors never have the key in them. */
export class Vendor {
  readonly provider: Provider
  readonly #options: VendorOptions
  readonly #getters = new Map<string, Getter>()
  readonly #pace: Pace
  #numbers: Promise<ReadonlyMap<string, string>> | null = null
  /** How many calls were made. */
  calls = 0

  constructor(provider: Provider, options: VendorOptions) {
    this.provider = provider
    this.#options = options
    this.#pace = new Pace(provider.pace, options.calls, options.hooks.now)
  }

  get host(): string {
    return new URL(this.provider.base).host
  }

  /** Today's date, UTC. */
  get today(): Day {
    return dayAt(this.#options.hooks.now())
  }

  /** The last day whose bar nothing can change any more. */
  get lastFinal(): Day {
    return lastFinal(this.provider, this.#options.hooks.now())
  }

  /** The bodies of a call, page by page; none where the vendor does not know the ticker. */
  async *bodies(call: Call): AsyncGenerator<string> {
    const symbols = await Promise.all(call.tickers.map(ticker => this.symbolOf(ticker)))
    const known = symbols.filter(symbol => symbol !== null)
    if (known.length === 0) return
    const { path } = this.provider
    const names = { symbol: known[0]!, symbols: known.join(','), from: call.from, to: call.to }
    yield* this.#pages(this.provider.base + this.#filled(path, names))
  }

  /** The bodies with all tickers of a day. */
  async *marketBodies(day: string): AsyncGenerator<string> {
    yield* this.#pages(this.provider.base + this.#filled(this.provider.market!, { day }))
  }

  /** How the vendor writes a ticker; null where it has no number for it. */
  async symbolOf(ticker: string): Promise<string | null> {
    const { class_mark: mark, suffix = '', numbers } = this.provider
    const name = mark === undefined ? ticker : ticker.replace(/[.-](?=[A-Z]{1,2}$)/, mark)
    if (numbers === undefined) return name.includes('.') ? name : name + suffix
    this.#numbers ??= this.#readNumbers(numbers)
    return (await this.#numbers).get(name) ?? null
  }

  async close(): Promise<void> {
    for (const getter of this.#getters.values()) await getter.close()
  }

  async *#pages(first: string): AsyncGenerator<string> {
    for (let url: string | null = first; url !== null; ) {
      const page = await this.#page(url)
      if (page === null) return
      yield page.text
      url = this.#nextUrl(url, page.text)
    }
  }

  /** null: the vendor does not know the ticker */
  async #page(url: string): Promise<Page | null> {
    const { origin } = new URL(url)
    const { key, timeoutMs, hooks, env } = this.#options
    const getter = this.#getters.get(origin) ?? new Getter(addressOf(origin), env, hooks)
    this.#getters.set(origin, getter)
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'bands' }
    const own = Object.entries(this.provider.headers).map(([name, text]) => [name.toLowerCase(), this.#filled(text)])
    const { tried, wait } = await getter.get(url, {
      headers: { ...headers, ...Object.fromEntries(own) },
      turn: () => this.#turn(),
      statusOf: page => this.#statusOf(page),
      reset: this.provider.reset,
      timeoutMs,
    })
    return this.#outcome(tried, wait, key)
  }

  async #turn(): Promise<void> {
    for (let wait = this.#pace.wait; wait > 0; wait = this.#pace.wait) {
      await this.#options.hooks.sleep(wait)
    }
    this.#pace.note()
    this.calls++
  }

  #outcome(tried: Attempt, wait: Wait | null, key: string): Page | null {
    const { host } = this
    const { key_url: where, needs, name } = this.provider
    if ('failure' in tried) throw new Upstream(this.repeat(`${host} ${tried.failure.what}.`), host)
    const { status, text } = tried
    if (status === 200) return tried
    if (status === 404) return null
    const said = messageOf(text)
    const words = said === '' ? '' : `: ${this.repeat(said)}`
    if ([401, 402, 403].includes(status) && needs !== 'nothing')
      throw new Unauthorized(
        `${host} ${refusalWords(needs, key)} (${status})${words}${where === undefined ? '' : `; get one at ${where}`}`,
        { remedy: remedy('login', [], { provider: name }) },
      )
    if (status === 429) {
      const again = wait?.demanded ? momentAfter(this.#options.hooks.now(), wait.ms) : null
      const until = again === null ? '' : ` until ${again}`
      throw new RateLimited(`${host} allows no more calls now${until}${words}; the same line goes on from here.`, again)
    }
    if (status >= 300 && status < 400)
      throw new Upstream(`${host} redirects to another address, and a redirect is not followed.`, host, status)
    throw new Upstream(`${host} answered ${status}${words}.`, host, status)
  }

  /** Text of a vendor, without the key. */
  repeat(text: string): string {
    const { key } = this.#options
    return [key, ...key.split(':')].reduce((said, part) => repeatable(said, part), printable(text))
  }

  #filled(text: string, values: Readonly<Record<string, string>> = {}): string {
    const { key } = this.#options
    const at = key.indexOf(':')
    const isUrl = text.startsWith('/')
    const own = { key, id: key.slice(0, Math.max(at, 0)), secret: key.slice(at + 1) }
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name] ?? (own as Record<string, string>)[name] ?? ''
      return isUrl ? encodeURIComponent(value).replaceAll('%2C', ',') : value
    })
  }

  /** A refusal in a body with status 200, by the keys of the row. */
  #statusOf({ text }: Page): number {
    const { refusal } = this.provider
    if (refusal === undefined || !text.includes(`"${refusal.status}"`)) return 200
    const document = parsed(text)
    const status = isMapping(document) ? Number(document[refusal.status]) : Number.NaN
    return Number.isInteger(status) && status >= 300 ? status : 200
  }

  #nextUrl(url: string, text: string): string | null {
    const { next } = this.provider
    if (next === undefined) return null
    // A page of ten thousand bars is not parsed once more for its mark.
    const key = JSON.stringify(next[0])
    const at = text.lastIndexOf(key)
    const [, found] = at < 0 ? [] : (MARK.exec(text.slice(at + key.length, at + key.length + LONGEST_MARK)) ?? [])
    const mark = found === undefined ? null : parsed(found)
    if (typeof mark !== 'string' || mark === '') return null
    const following = new URL(url)
    following.searchParams.set(next[1], mark)
    if (following.href === url) throw new BadData({ file: this.host }, 'its next page is the same page again')
    return following.href
  }

  async #readNumbers({ url, ticker, number, digits }: NonNullable<Provider['numbers']>) {
    const page = await this.#page(url)
    const rows = Object.values((parsed(page?.text ?? '') ?? {}) as object) as Record<string, unknown>[]
    const found = rows.flatMap(row => {
      const name = isMapping(row) ? row[ticker] : undefined
      return typeof name === 'string' ? [[name.toUpperCase(), String(row[number]).padStart(digits, '0')] as const] : []
    })
    if (found.length === 0) throw new BadData({ file: new URL(url).host }, 'its list of tickers has no tickers')
    return new Map(found)
  }
}

/** The text after a key: a colon and a string. */
const MARK = /^\s*:\s*("(?:[^"\\]|\\.)*")/
const LONGEST_MARK = 5_000

function refusalWords(needs: Provider['needs'], key: string): string {
  if (needs === 'contact') return 'refuses to answer: it wants the name and e-mail address of who asks, and few calls'
  return key === '' ? 'wants a key' : 'refuses the key'
}

/** The last day whose bar nothing can change any more. @param now milliseconds since 1970 */
export function lastFinal({ final: { zone, hour } }: Pick<Provider, 'final'>, now: number): Day {
  return parseDay(new Date(now - hour * 3_600_000).toLocaleDateString('sv-SE', { timeZone: zone }))!
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The message of a refusal, under any of the usual keys; a short text otherwise. */
function messageOf(text: string): string {
  const document = parsed(text)
  if (!isMapping(document)) return /^\s*</.test(text) ? '' : text.trim().slice(0, LONGEST)
  const said = ['message', 'detail', 'error', 'Information', 'Note'].map(key => document[key])
  return (
    said
      .find(one => typeof one === 'string')
      ?.toString()
      .slice(0, LONGEST) ?? ''
  )
}

const LONGEST = 300
