import { DAY_MS } from '../../accounts/periods.js'
import { formatDay } from '../../model/day.js'
import { type OpenedService, openService } from '../../open/service.js'
import { version } from '../../open/version.js'
import { LIMITS } from '../../server/options.js'
import { type Running, startServer } from '../../server/server.js'
import type { Context } from '../context.js'
import { LogLines } from '../log-lines.js'
import type { Answer } from '../output.js'
import { count } from '../render/amounts.js'
import type { ServeOptions } from '../serving.js'

/** Serves until a signal ends it: first what runs is answered, then what was charged is written down. */
export async function showServing(context: Context, options: ServeOptions): Promise<void> {
  const { config, world } = context
  const utcDay = (): number => Math.floor(world.now().getTime() / DAY_MS)
  const clock = options.today === 'clock' ? utcDay : null
  const opened = await openService({ db: config.db, env: world.env, asOf: config.asOf, clock })
  const log = new LogLines(world.err)
  try {
    const { host, port, errors, metrics, tls, connections, logLevel } = options
    const running = await startServer(opened.service, {
      ...{ host, port, errors, metrics, tls, version: version() },
      limits: { connections },
      log: { level: logLevel, write: line => log.add(line) },
      now: () => world.now().getTime(),
    })
    try {
      const asked = stopAsked(context)
      await context.show(servingAnswer(await stateOf(opened, running, context, options)))
      if (opened.sample)
        await context.notice('the sample is served; load your own and start again: bands import FILE.csv')
      await asked
    } finally {
      await running.stop()
    }
  } finally {
    await opened.service.close()
    await log.flushed()
  }
}

/** Longer than the server gives to running requests. */
const GRACE = LIMITS.grace + 5_000

function stopAsked({ world }: Context): Promise<void> {
  return new Promise(resolve => {
    world.onStop(() => resolve(), GRACE)
  })
}

interface Serving {
  url: string
  docs: string
  today: string
  today_from: 'data' | 'clock' | 'as_of'
  tickers: number
  sample: boolean
  database: string
  accounts: number
  accounts_file: string
  errors: string
  metrics: string
  tls: boolean
}

async function stateOf(
  { service, path, sample }: OpenedService,
  { url }: Running,
  { config }: Context,
  { errors, metrics, tls, today }: ServeOptions,
): Promise<Serving> {
  const { accounts } = service
  return {
    url,
    docs: `${url}/docs`,
    today: formatDay(await service.today()),
    today_from: config.asOf === null ? today : 'as_of',
    tickers: ((await service.bands('pro').tickers()) ?? []).length,
    sample,
    database: path,
    accounts: (await accounts.accounts()).length,
    accounts_file: accounts.location,
    errors,
    metrics,
    tls: tls !== undefined,
  }
}

function servingAnswer(serving: Serving): Answer {
  const { url, docs, today, today_from, tickers, sample, accounts, errors } = serving
  const first = 'no account yet; make one, and a key for it, in another terminal:'
  const notes = [
    `${count(tickers, 'ticker')}${sample ? ' of the sample' : ''}, today is ${today} (${FROM[today_from]}), ${errors} errors`,
    accounts > 0 ? count(accounts, 'account') : first,
    ...(accounts > 0 ? [] : ['bands accounts create NAME --tier pro', 'bands keys create --account NAME']),
    'Ctrl-C ends it.',
  ]
  return {
    document: () => ({ schema: 'bands.serve/1', ...serving }),
    columns: Object.keys(serving),
    rows: () => [{ ...serving }],
    blocks: () => [{ title: [url, `docs ${docs}`], notes }],
  }
}

const FROM = { data: 'the newest bar', clock: 'the clock', as_of: '--as-of' } as const
