import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { NotFound, remedy, sentence, Unauthorized, wrong } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import { type Checks, checkDay, checkFunction, checkOptions, objectOf, tickersOf } from '../../core/params/arguments.js'
import { fileValue, flagValue, integerValue, textOf } from '../../core/params/values.js'
import type { Importer } from '../../data/load/import.js'
import { type FetchedTicker, type FetchHooks, Fetching, type FetchPlan } from '../providers/fetch.js'
import { allProviders, providerNamed } from '../providers/file.js'
import { fetchedFrom, type Provider, WANTS } from '../providers/provider.js'
import { Vendor } from '../providers/vendor.js'
import { addressOf, DEFAULT_TIMEOUT_MS } from '../remote/address.js'
import type { GetHooks } from '../remote/get.js'
import type { DatabaseChoice } from './paths.js'
import { openImporter } from './writing.js'

export interface VendorChoice {
  env?: Readonly<Record<string, string | undefined>>
  /** The key (default: BANDS_NAME_KEY of the environment); `id:secret` for a vendor that wants two parts. */
  key?: string | undefined
  /** For one attempt at an answer, in milliseconds (default 30 seconds). */
  timeoutMs?: number
  /** Only a plan is made: no call, so no key is needed. @internal */
  isPlanOnly?: boolean
  /** Chance, waiting and time: a caller can replace each. @internal */
  hooks?: Partial<GetHooks>
}

/** The variable with the key of a vendor: BANDS_TIINGO_KEY. */
export function keyVariable(name: string): string {
  return `BANDS_${name.toUpperCase().replaceAll('-', '_')}_KEY`
}

/** Where a key of this vendor may be sent: scheme, host and port. */
export function vendorOrigin({ base }: Provider): string {
  return addressOf(base).origin
}

/** A vendor, ready to be asked. Throws Unauthorized for a missing or malformed key, except with `isPlanOnly`. */
export function openVendor(
  provider: Provider,
  { env = process.env, hooks: callersHooks, ...options }: VendorChoice = {},
): Vendor {
  const key = options.key ?? env[keyVariable(provider.name)]?.trim() ?? ''
  if (options.isPlanOnly !== true) refuseUnusableKey(provider, key)
  const sleep = (ms: number): Promise<void> => pause(ms)
  const hooks = { random: Math.random, now: Date.now, sleep, ...callersHooks }
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options
  // The file with the times of calls, which all runs share.
  const calls = join(stateFolder(env), `calls-${new URL(provider.base).host.replace(':', '-')}`)
  return new Vendor(provider, { key, calls, env, timeoutMs, hooks })
}

/** Throws Unauthorized for a missing key, or one of another form than the vendor's. */
export function refuseUnusableKey({ name, needs, key_url: where }: Provider, key: string): void {
  if (needs === 'nothing') return
  const login = remedy('login', [], { provider: name })
  if (key === '') {
    const address = where === undefined ? '' : ` (${where})`
    const words = sentence`${name} needs ${WANTS[needs]}${address}; ${login}, or set ${keyVariable(name)}.`
    throw new Unauthorized(words, { remedy: login })
  }
  const isWellFormed = KEY_FORMS[needs].test(key)
  if (!isWellFormed) throw new Unauthorized(sentence`${name} needs ${WANTS[needs]}; ${login}.`, { remedy: login })
}

/** What a key of each kind looks like. */
const KEY_FORMS = { key: /./, 'id:secret': /^[^:]+:[^:]+$/, contact: /\S+@\S+/ }
/** The folder of files that runs share and that may be lost. */
function stateFolder(env: NonNullable<VendorChoice['env']>): string {
  const variable = env.XDG_STATE_HOME ?? ''
  const base = isAbsolute(variable) ? variable : join(env.HOME || userInfo().homedir, '.local', 'state')
  return join(base, 'bands')
}

/** What a program may say of a fetch and an update. */
export interface FetchOptions extends DatabaseChoice, VendorChoice {
  /** Only bars after this day (default: the whole history). */
  after?: Day
  /** Start each ticker again. */
  replace?: boolean
  /** The file with vendors of your own. */
  providers?: string
  /** Wait while another process writes. */
  wait?: boolean
  onPlan?(plan: FetchPlan): void | Promise<void>
  onTicker?(fetched: FetchedTicker): void | Promise<void>
}

/** An update knows the vendor and the range of each ticker. */
export type UpdateOptions = Omit<FetchOptions, 'after' | 'replace' | 'key' | 'db'>

const CHECKS: Checks<keyof FetchOptions | 'from'> = {
  db: fileValue,
  env: objectOf,
  notice: checkFunction,
  from: textOf,
  key: textOf,
  timeoutMs: (param, value) => integerValue(param, value, 1, 2 ** 31 - 1),
  after: checkDay,
  replace: flagValue,
  providers: fileValue,
  wait: flagValue,
  onPlan: checkFunction,
  onTicker: checkFunction,
  isPlanOnly: flagValue,
  hooks: objectOf,
}

/**
 * Loads bars or facts of a vendor into the database, which is made if missing: a ticker is whole, or not there. Throws
 * NotFound for an unknown vendor, Unauthorized, RateLimited, Upstream, Busy.
 */
export async function fetchBars(
  tickers: readonly string[],
  { from, ...options }: FetchOptions & { from: string },
): Promise<FetchedTicker[]> {
  checkOptions('options', { from, ...options }, CHECKS)
  const provider = providerNamed(from, await allProviders(options.providers ?? null))
  const vendor = openVendor(provider, options)
  try {
    return await withImporter(options, importer => {
      const { after, replace = false } = options
      const request = { tickers: tickersOf(tickers), after, replace }
      return runFetches([new Fetching(importer, vendor, request)], options)
    })
  } finally {
    await vendor.close()
  }
}

/** Brings fetched tickers up to date, each from its vendor (default: all fetched ones). Throws as `fetchBars` does. */
export async function updateBars(
  tickers: readonly string[] | null = null,
  options: UpdateOptions & Pick<FetchOptions, 'db'> = {},
): Promise<FetchedTicker[]> {
  checkOptions('options', options, CHECKS)
  const providers = await allProviders(options.providers ?? null)
  const vendors: Vendor[] = []
  try {
    return await withImporter(options, async importer => {
      const groups = await tickersByVendor(importer, tickers === null ? null : tickersOf(tickers))
      const fetchings = [...groups].map(([name, tickersOfVendor]) => {
        const vendor = openVendor(providerNamed(name, providers), options)
        vendors.push(vendor)
        return new Fetching(importer, vendor, { tickers: tickersOfVendor }, { update: true })
      })
      return runFetches(fetchings, options)
    })
  } finally {
    for (const vendor of vendors) await vendor.close()
  }
}

/**
 * The tickers that were fetched from each vendor, by its name. Throws NotFound if none was fetched, InvalidParameter
 * for a named ticker that was not. @param tickers null: all tickers
 */
export async function tickersByVendor(
  importer: Importer,
  tickers: readonly string[] | null,
): Promise<Map<string, string[]>> {
  const all = await importer.tickers()
  // A ticker's bars and facts may be of different vendors. Without any ticker there may be no store.
  const withFacts = new Set(all.length === 0 ? [] : await importer.store.factTickers())
  const groups = new Map<string, string[]>()
  for (const ticker of tickers ?? all) {
    const entry = await importer.entry(ticker)
    const factSheets = withFacts.has(ticker) ? Object.values(await importer.store.sheets(ticker)) : []
    const sources = factSheets.flatMap(sheet => sheet.sources.map(({ file }) => file))
    if (entry !== null) sources.unshift(entry.source)
    const vendors = new Set(sources.flatMap(source => fetchedFrom(source)?.provider ?? []))
    for (const vendor of vendors) groups.set(vendor, [...(groups.get(vendor) ?? []), ticker])
    if (vendors.size === 0 && tickers !== null) throw notFetchedError(ticker, entry?.source)
  }
  if (groups.size > 0) return groups
  const fetchOne = remedy('fetch', ['TICKER'], { from: 'PROVIDER' })
  throw new NotFound(sentence`no ticker here was fetched from a vendor; ${fetchOne} does that.`, [], {
    remedy: remedy('providers'),
  })
}

/** The error for a ticker that no vendor fetched. @param source the source of its bars; undefined: not loaded */
function notFetchedError(ticker: string, source: string | undefined): Error {
  const fetchNew = remedy('fetch', [ticker], { from: 'PROVIDER' })
  if (source === undefined)
    return wrong('ticker', sentence`${ticker} is not loaded; ${fetchNew} loads it.`, { value: ticker })
  const replace = remedy('fetch', [ticker], { from: 'PROVIDER', replace: true })
  const words = sentence`${ticker} is from ${source}, and not from a vendor; ${replace} loads it.`
  return wrong('ticker', words, { value: ticker })
}

/** Opens the database for writing, calls `work` with it, and closes it in any case. */
async function withImporter<T>(options: FetchOptions, work: (importer: Importer) => Promise<T>): Promise<T> {
  const { db, env = process.env, notice, wait = false } = options
  const importer = await openImporter({ db, env, notice, wait })
  try {
    return await work(importer)
  } finally {
    await importer.close()
  }
}

/** Runs fetches one after the other, and returns the outcomes of all tickers. */
async function runFetches(
  fetchings: readonly Fetching[],
  { onPlan, onTicker, ...options }: FetchOptions & Partial<FetchHooks>,
): Promise<FetchedTicker[]> {
  const fetchedTickers: FetchedTicker[] = []
  for (const fetching of fetchings) {
    const plan = await fetching.plan()
    await onPlan?.(plan)
    for await (const fetched of fetching.run({ step: options.step ?? (() => {}) })) {
      await onTicker?.(fetched)
      fetchedTickers.push(fetched)
    }
  }
  return fetchedTickers
}
