import { BadData, printable, RateLimited, remedy, Unauthorized, Upstream } from '../../core/errors.js'
import { type Day, dayAt, parseDay } from '../../core/model/day.js'
import { isMapping, parseJsonOrNull } from '../../core/params/arguments.js'
import { addressOf } from '../remote/address.js'
import { type Attempt, type GetHooks, Getter, type Page } from '../remote/get.js'
import { momentAfter, safeToRepeat, type Wait } from '../remote/patience.js'
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
  /** The file with the times of the calls; null for none. */
  calls: string | null
  env: NodeJS.ProcessEnv
  /** For one attempt, in milliseconds. */
  timeoutMs: number
  hooks: GetHooks
}

/** Calls a vendor, at its pace. Errors never contain the key. */
export class Vendor {
  readonly provider: Provider
  readonly #options: VendorOptions
  readonly #getters = new Map<string, Getter>()
  readonly #pace: Pace
  #numbers: Promise<ReadonlyMap<string, string>> | null = null
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

  /** The last day whose bar is final. */
  get lastFinal(): Day {
    return lastFinal(this.provider, this.#options.hooks.now())
  }

  /** The bodies of a call, page by page; none where the vendor does not know the ticker. */
  async *bodies(call: Call): AsyncGenerator<string> {
    const symbols = await Promise.all(call.tickers.map(ticker => this.symbolOf(ticker)))
    const knownSymbols = symbols.filter(symbol => symbol !== null)
    if (knownSymbols.length === 0) return
    const { base, path } = this.provider
    const values = { symbol: knownSymbols[0]!, symbols: knownSymbols.join(','), from: call.from, to: call.to }
    yield* this.#pages(base + this.#fillPlaceholders(path, values))
  }

  /** The bodies with all tickers of a day. */
  async *marketBodies(day: string): AsyncGenerator<string> {
    yield* this.#pages(this.provider.base + this.#fillPlaceholders(this.provider.market!, { day }))
  }

  /**
   * The symbol or number of a ticker at the vendor; null if the vendor has no number for it. A symbol without an
   * exchange (no dot) gets the vendor's suffix.
   */
  async symbolOf(ticker: string): Promise<string | null> {
    const { class_mark: mark, suffix = '', numbers } = this.provider
    // BRK.B or BRK-B, with the vendor's mark before the class of shares.
    const name = mark === undefined ? ticker : ticker.replace(/[.-](?=[A-Z]{1,2}$)/, mark)
    if (numbers === undefined) return name.includes('.') ? name : name + suffix
    this.#numbers ??= this.#readNumbers(numbers)
    return (await this.#numbers).get(name) ?? null
  }

  async close(): Promise<void> {
    for (const getter of this.#getters.values()) await getter.close()
  }

  /** The bodies of an address and of the further pages that it leads to. */
  async *#pages(first: string): AsyncGenerator<string> {
    for (let url: string | null = first; url !== null; ) {
      const page = await this.#page(url)
      if (page === null) return
      yield page.text
      url = this.#nextUrl(url, page.text)
    }
  }

  /** Gets one page; null if the vendor does not know the ticker. Throws Unauthorized, RateLimited, Upstream. */
  async #page(url: string): Promise<Page | null> {
    const { origin } = new URL(url)
    const { timeoutMs, hooks, env } = this.#options
    const getter = this.#getters.get(origin) ?? new Getter(addressOf(origin), env, hooks)
    this.#getters.set(origin, getter)
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'bands' }
    const vendorHeaders = Object.entries(this.provider.headers).map(([name, text]) => [
      name.toLowerCase(),
      this.#fillPlaceholders(text),
    ])
    const { outcome, wait } = await getter.get(url, {
      headers: { ...headers, ...Object.fromEntries(vendorHeaders) },
      waitForTurn: () => this.#waitForTurn(),
      // The text of a page of status 200 may be a refusal. The header `reset` says when calls are allowed again.
      statusOf: page => this.#statusOf(page),
      reset: this.provider.reset,
      timeoutMs,
    })
    return this.#pageOrError(outcome, wait)
  }

  /** Waits until the pace allows a call, and counts it. */
  async #waitForTurn(): Promise<void> {
    for (let wait = this.#pace.wait; wait > 0; wait = this.#pace.wait) await this.#options.hooks.sleep(wait)
    this.#pace.noteCall()
    this.calls++
  }

  /** The page of a call; null if the vendor does not know the ticker. Throws Unauthorized, RateLimited, Upstream. */
  #pageOrError(outcome: Attempt, wait: Wait | null): Page | null {
    const { host } = this
    const { key } = this.#options
    const { key_url: keyUrl, needs, name } = this.provider
    if ('failure' in outcome) throw new Upstream(this.withoutKey(`${host} ${outcome.failure.what}.`), host)
    const { status, text } = outcome
    if (status === 200) return outcome
    if (status === 404) return null
    const refusal = refusalMessage(text)
    const refusalText = refusal === '' ? '' : `: ${this.withoutKey(refusal)}`
    if ([401, 402, 403].includes(status) && needs !== 'nothing') {
      const keyAdvice = keyUrl === undefined ? '' : `; get one at ${keyUrl}`
      throw new Unauthorized(`${host} ${refusalWords(needs, key)} (${status})${refusalText}${keyAdvice}`, {
        remedy: remedy('login', [], { provider: name }),
      })
    }
    if (status === 429) {
      const end = wait?.demanded ? momentAfter(this.#options.hooks.now(), wait.ms) : null
      const until = end === null ? '' : ` until ${end}`
      const message = `${host} allows no more calls now${until}${refusalText}; the same line goes on from here.`
      throw new RateLimited(message, end)
    }
    if (status >= 300 && status < 400)
      throw new Upstream(`${host} redirects to another address, and a redirect is not followed.`, host, status)
    throw new Upstream(`${host} answered ${status}${refusalText}.`, host, status)
  }

  /** A text of the vendor without the key and without control characters, for an error. */
  withoutKey(text: string): string {
    const { key } = this.#options
    return [key, ...key.split(':')].reduce((masked, part) => safeToRepeat(masked, part), printable(text))
  }

  /** Replaces `{key}` and other placeholders. A path gets values encoded for a URL; the commas of a list stay. */
  #fillPlaceholders(text: string, values: Readonly<Record<string, string>> = {}): string {
    const { key } = this.#options
    // The two parts of `id:secret`; any other key is the secret.
    const [, id = '', secret = key] = /^(.*?):(.*)$/s.exec(key) ?? []
    const isUrl = text.startsWith('/')
    const keyParts: Record<string, string> = { key, id, secret }
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name] ?? keyParts[name] ?? ''
      return isUrl ? encodeURIComponent(value).replaceAll('%2C', ',') : value
    })
  }

  /** The status of a page that came with 200: the status in its body, if that is a refusal; otherwise 200. */
  #statusOf({ text }: Page): number {
    const { refusal } = this.provider
    if (refusal === undefined || !text.includes(`"${refusal.status}"`)) return 200
    const document = parseJsonOrNull(text)
    const status = isMapping(document) ? Number(document[refusal.status]) : Number.NaN
    return Number.isInteger(status) && status >= 300 ? status : 200
  }

  /**
   * The address of the next page, by the token in a page's text; null after the last page. Throws BadData if it is the
   * address of this page.
   */
  #nextUrl(url: string, text: string): string | null {
    const { next } = this.provider
    if (next === undefined) return null
    const [tokenKey, tokenParameter] = next
    // A page of ten thousand bars is not parsed once more for its token.
    const key = JSON.stringify(tokenKey)
    const keyStart = text.lastIndexOf(key)
    if (keyStart < 0) return null
    const valueStart = keyStart + key.length
    const tokenJson = TOKEN_AFTER_KEY.exec(text.slice(valueStart, valueStart + MAX_TOKEN_LENGTH))?.[1]
    const token = tokenJson === undefined ? null : parseJsonOrNull(tokenJson)
    if (typeof token !== 'string' || token === '') return null
    const nextUrl = new URL(url)
    nextUrl.searchParams.set(tokenParameter, token)
    if (nextUrl.href === url) throw new BadData({ file: this.host }, 'its next page is the same page again')
    return nextUrl.href
  }

  /** Reads the vendor's list of tickers, and returns the number of each. Throws BadData for a list without tickers. */
  async #readNumbers({ url, ticker: tickerKey, number: numberKey, digits }: NonNullable<Provider['numbers']>) {
    const page = await this.#page(url)
    const list = (parseJsonOrNull(page?.text ?? '') ?? {}) as Record<string, Record<string, unknown>>
    const numberByTicker = new Map<string, string>()
    for (const row of Object.values(list)) {
      const ticker = isMapping(row) ? row[tickerKey] : undefined
      if (typeof ticker === 'string')
        numberByTicker.set(ticker.toUpperCase(), String(row[numberKey]).padStart(digits, '0'))
    }
    if (numberByTicker.size === 0) throw new BadData({ file: new URL(url).host }, 'its list of tickers has no tickers')
    return numberByTicker
  }
}

/** Matches a colon and a string after a key of JSON: the token of the next page. */
const TOKEN_AFTER_KEY = /^\s*:\s*("(?:[^"\\]|\\.)*")/
const MAX_TOKEN_LENGTH = 5_000

/** How a vendor refused a call, as the rest of a sentence that begins with its name. */
function refusalWords(needs: Provider['needs'], key: string): string {
  if (needs === 'contact') return 'refuses to answer: it wants the name and e-mail address of who asks, and few calls'
  return key === '' ? 'wants a key' : 'refuses the key'
}

/** The last day whose bar is final at a vendor. @param now milliseconds since 1970 */
export function lastFinal({ final: { zone, hour } }: Pick<Provider, 'final'>, now: number): Day {
  // A day is final from `hour` on, so `hour` hours ago it was the last final day. The Swedish locale writes YYYY-MM-DD.
  return parseDay(new Date(now - hour * 3_600_000).toLocaleDateString('sv-SE', { timeZone: zone }))!
}

/** The message in the body of a refusal: the text under a usual key of JSON, or the start of a text; empty for HTML. */
function refusalMessage(text: string): string {
  const document = parseJsonOrNull(text)
  if (!isMapping(document)) return /^\s*</.test(text) ? '' : text.trim().slice(0, MAX_MESSAGE_LENGTH)
  const values = ['message', 'detail', 'error', 'Information', 'Note'].map(key => document[key])
  const message = values.find(value => typeof value === 'string') ?? ''
  return message.slice(0, MAX_MESSAGE_LENGTH)
}

const MAX_MESSAGE_LENGTH = 300
