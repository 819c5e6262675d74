import { BandsError, invalid, remedy, typedLineWith, wrong } from '../../../core/errors.js'
import { count, numberText } from '../../../core/numbers.js'
import { DAY, TEXT } from '../../../core/params/kinds.js'
import { optional, optionsOf } from '../../../core/params/row.js'
import { keyVariable, openVendor, tickersByVendor, vendorOrigin } from '../../open/fetching.js'
import {
  describeFetched,
  describePlans,
  describeProvider,
  describeProviders,
  durationText,
  failureText,
  type KnownProvider,
  planText,
} from '../../present/fetched.js'
import { type FetchedTicker, Fetching, type FetchPlan, type FetchProgress } from '../../providers/fetch.js'
import { allProviders, ownProviders, providerNamed, readProviders } from '../../providers/file.js'
import { fetchedFrom, type Provider } from '../../providers/provider.js'
import type { Vendor } from '../../providers/vendor.js'
import type { Args, Command } from '../command.js'
import { providersPath } from '../config.js'
import type { Context } from '../context.js'
import { TICKERS, TICKERS_OPTIONS } from '../options.js'
import { oneRowAnswer } from '../output.js'
import { providerKey } from '../profiles.js'
import { hasTickersOption, tickersOfLine } from '../tickers.js'
import { openForImport, WAIT } from '../writing.js'

const FETCH = {
  from: optional({ ...TEXT, example: 'coinbase' }, 'the vendor (bands providers)', { placeholder: 'PROVIDER' }),
  after: optional(DAY, 'only bars after this day (default the whole history)'),
}

const DRY_RUN = ['--dry-run', 'only show how many calls it takes, and how long'] as const

const fetchCommand: Command = {
  // SYMBOL, not TICKER: these tickers need not be loaded.
  arguments: [[TICKERS[0], TICKERS[1], ['SYMBOL']]],
  options: [
    ...optionsOf(FETCH),
    ['--replace', 'start each ticker again, also one from a file'],
    ...TICKERS_OPTIONS.filter(([flags]) => !flags.startsWith('--all')),
    DRY_RUN,
    WAIT,
  ],
  needsOneOf: ['--from'],
  examples: [
    'bands fetch BTC-USD --from coinbase',
    'bands fetch AAPL MSFT --from tiingo',
    'bands fetch @tickers.txt --from alpaca --dry-run',
    'bands fetch AAPL --from sec',
  ],
  notes: [
    'Loads the daily bars of a vendor with your own key (bands login --from NAME), at the pace that it allows. Each ticker is loaded whole; after Ctrl-C the same line goes on.',
    'Bars of a day that is not over are left out. A ticker that the vendor does not know is named at the end, and the exit code is 5.',
    'Without --from: the vendor of the ticker the last time, or the only one with a key.',
  ],
  /** Loads the tickers of the line from a vendor. */
  async run(context, args) {
    const { from, after } = args.read(FETCH)
    const tickers = await typedTickers(context, args)
    const importer = await openForImport(context, { wait: args.flag('wait'), make: true })
    const provider = await chooseProvider(context, from, tickers, async () => {
      const entries = await Promise.all(tickers.map(ticker => importer.entry(ticker)))
      const sources = entries.map(entry => (entry ? fetchedFrom(entry.source) : null))
      return sources.flatMap(source => source?.provider ?? [])
    })
    const vendor = await openVendorFor(context, provider, args)
    const request = { tickers, after, replace: args.flag('replace') }
    await planAndFetch(context, args, [new Fetching(importer, vendor, request)])
    if (provider.holds === 'bars') await context.hint(`next: bands events ${tickers[0]} rsi_zone`)
  },
}

const update: Command = {
  arguments: [TICKERS],
  options: [...TICKERS_OPTIONS, DRY_RUN, WAIT],
  needsOneOf: ['--all', '--tickers', '--watch'],
  examples: ['bands update --all', 'bands update AAPL MSFT', 'bands update --watch tech --dry-run'],
  notes: [
    'Asks the vendor of each ticker for the bars since the last one. Where a split or a dividend has changed the prices, it loads the whole history again, and says how many events changed.',
    'Asks the SEC again for the reports of each ticker that has some of them.',
    'From Massive, one call brings all stocks of a day, which --all uses.',
  ],
  /** Loads the newest bars of tickers that a vendor gave before, from that vendor. */
  async run(context, args) {
    if (!hasTickersOption(args) && args.argumentList(0).length === 0)
      throw wrong('ticker', 'TICKER is missing.', { allowed: 'bands update TICKER..., or bands update --all' })
    const importer = await openForImport(context, { wait: args.flag('wait') })
    const isAll = args.flag('all')
    // null for every ticker that a vendor gave.
    const tickersToUpdate = isAll
      ? null
      : await tickersOfLine(context, args, args.argumentList(0), () => importer.tickers())
    const groups = await tickersByVendor(importer, tickersToUpdate)
    const providers = await allProviders(providersPath(context.world.env))
    const fetchings: Fetching[] = []
    for (const [name, tickers] of groups) {
      const vendor = await openVendorFor(context, providerNamed(name, providers), args)
      fetchings.push(new Fetching(importer, vendor, { tickers }, { update: true }))
    }
    await planAndFetch(context, args, fetchings)
  },
}

/** The tickers of a line. Throws InvalidParameter if it has none. */
async function typedTickers(context: Context, args: Args): Promise<string[]> {
  const tickers = await tickersOfLine(context, args, args.argumentList(0), async () => [])
  if (tickers.length > 0) return tickers
  const example = remedy('fetch', ['BTC-USD'], { from: 'coinbase' })
  throw wrong('ticker', 'TICKER is missing.', { allowed: 'bands fetch TICKER... --from PROVIDER' }, { remedy: example })
}

/** Shows the plan of a fetch. Without --dry-run it then fetches, and shows the result of each ticker. */
async function planAndFetch(context: Context, args: Args, fetchings: readonly Fetching[]): Promise<void> {
  const plans: FetchPlan[] = []
  for (const fetching of fetchings) plans.push(await fetching.plan())
  if (args.flag('dry-run')) return context.show(describePlans(plans))
  for (const plan of plans) if (plan.calls > 1) await context.remark(planText(plan))
  context.deferSignals()
  const fetched: FetchedTicker[] = []
  let thrown: unknown = null
  try {
    for (const [i, fetching] of fetchings.entries()) {
      const began = performance.now()
      const step = (progress: FetchProgress): void =>
        context.step(() => progressText(progress, plans[i]!, (performance.now() - began) / 1000))
      for await (const ticker of fetching.run({ step })) fetched.push(ticker)
    }
  } catch (error) {
    thrown = error
  }
  // Fetched tickers are stored, and shown also after an error.
  if (fetched.length > 0) await context.show(describeFetched(fetched))
  if (thrown !== null) throw thrown
  const failure = failureText(fetched)
  if (failure !== '') throw new BandsError('bad_data', `${failure}.`)
}

/** `fetch  AAPL  12/505 tickers  13 calls  about 10 hours left` @param elapsed seconds */
function progressText({ done, of: tickers, ticker, calls }: FetchProgress, plan: FetchPlan, elapsed: number): string {
  // Seconds left: by the pace that the vendor allows, and by the time that the tickers so far took.
  const byPace = plan.calls === 0 ? 0 : plan.seconds * Math.max(0, 1 - calls / plan.calls)
  const bySpeed = done === 0 ? 0 : (elapsed / done) * (tickers - done)
  const timeLeft = durationText(Math.max(byPace, bySpeed))
  return `fetch  ${ticker}  ${done}/${tickers} tickers  ${count(calls, 'call')}  ${timeLeft} left`
}

/** The named vendor, otherwise that of the stored bars, otherwise the only one with a key. Throws if unclear. */
async function chooseProvider(
  context: Context,
  name: string | undefined,
  tickers: readonly string[],
  earlierVendors: () => Promise<string[]>,
): Promise<Provider> {
  const providers = await allProviders(providersPath(context.world.env))
  if (name !== undefined) return providerNamed(name, providers)
  const earlierNames = [...new Set(await earlierVendors())]
  if (earlierNames.length === 1) return providerNamed(earlierNames[0]!, providers)
  const withKey: Provider[] = []
  for (const provider of providers)
    if (provider.holds === 'bars' && provider.needs !== 'nothing' && (await vendorKey(context, provider)) !== null)
      withKey.push(provider)
  if (withKey.length === 1) return withKey[0]!
  const allowed = providers.map(provider => provider.name)
  // Coinbase needs no key, but has only pairs such as BTC-USD.
  const suggested = withKey[0]?.name ?? (tickers.every(ticker => ticker.includes('-')) ? 'coinbase' : 'tiingo')
  const line = typedLineWith('fetch', [], { from: suggested })
  throw invalid('missing', { param: 'from', allowed, suggestions: [suggested] }, { remedy: line })
}

/** The key for a vendor: that of the environment, otherwise the stored one; null without either. */
async function vendorKey({ world: { env } }: Context, provider: Provider): Promise<string | null> {
  const variable = env[keyVariable(provider.name)]
  return variable ? variable.trim() : providerKey(env, provider.name, vendorOrigin(provider))
}

/** Opens a vendor with its key; with --dry-run it needs no key. */
async function openVendorFor(context: Context, provider: Provider, args: Args): Promise<Vendor> {
  const key = await vendorKey(context, provider)
  // Sleeps in short pieces, so that Ctrl-C ends a long wait.
  const sleep = async (ms: number): Promise<void> => {
    const end = performance.now() + ms
    for (let remaining = ms; remaining > 0; remaining = end - performance.now()) {
      context.step(() => `${provider.name}: waiting ${numberText(Math.ceil(remaining / 1000))} s, as its pace demands`)
      await new Promise(resolve => setTimeout(resolve, Math.min(remaining, MAX_SLEEP_MS)))
    }
  }
  const options = {
    env: context.world.env,
    timeoutMs: context.config.timeout * 1000,
    isPlanOnly: args.flag('dry-run'),
    hooks: { sleep },
  }
  return context.closeAtEnd(openVendor(provider, key === null ? options : { ...options, key }))
}

const MAX_SLEEP_MS = 250

const providers: Command = {
  arguments: [
    ['[NAME]', 'one vendor, with its terms and how to begin; or check, which tests a file', ['check']],
    ['[FILE]', 'with check: the file (default providers.yaml in the configuration folder)', ['FILE']],
  ],
  examples: ['bands providers', 'bands providers tiingo', 'bands providers check my-vendors.yaml'],
  notes: [
    'providers.yaml in the configuration folder (bands config) may have vendors of your own; docs/get-data.md describes its rows.',
  ],
  /** Shows all vendors or one of them, or checks a file of the user's own vendors. */
  async run(context, args) {
    const name = args.argument(0)
    const file = args.argument(1)
    if (name === 'check') return checkProvidersFile(context, file ?? providersPath(context.world.env))
    if (file !== undefined)
      throw wrong('name', 'a second word is only for check: bands providers check FILE.', { value: file })
    const path = providersPath(context.world.env)
    const all = await allProviders(path)
    const ownNames = (await ownProviders(path)).map(provider => provider.name)
    const withState = async (provider: Provider): Promise<KnownProvider> => ({
      ...provider,
      has_key: (await vendorKey(context, provider)) !== null,
      is_own: ownNames.includes(provider.name),
    })
    if (name !== undefined) return context.show(describeProvider(await withState(providerNamed(name, all))))
    await context.show(describeProviders(await Promise.all(all.map(withState))))
  },
}

async function checkProvidersFile(context: Context, file: string): Promise<void> {
  const names = (await readProviders(file)).map(({ name }) => name)
  const note = `${file} is right: ${[count(names.length, 'vendor'), ...names].join(', ')}.`
  await context.show(oneRowAnswer({ schema: 'bands.providers-check/1', file, vendors: names.join(',') }, [note]))
}

export const commands = { fetch: fetchCommand, update, providers }
