import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { DAY_MS } from '../../accounts/accounts.js'
import { ConfigError, InvalidParameter } from '../../errors.js'
import { formatDay } from '../../model/day.js'
import { version } from '../../open.js'
import { choice } from '../../params/row.js'
import { integerValue, wordValue } from '../../params/values.js'
import { count } from '../../present/numbers.js'
import { LIMITS, LOG_LEVELS, type ServerOptions } from '../../server/options.js'
import { isLoopback } from '../../server/requests.js'
import { type Running, startServer } from '../../server/server.js'
import { type OpenedService, openService } from '../../service.js'
import { ERROR_SHAPES } from '../../wire/format.js'
import type { Command } from '../command.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Given } from '../given.js'
import type { Answer } from '../output.js'
import type { Stream } from '../world.js'

export const command: Command = {
  options: [
    ['--host <ADDRESS>', 'where to listen; 127.0.0.1 unless given, which only this machine reaches'],
    ['--port <N>', '8080 unless given; 0 takes any that is free'],
    choice(
      '--errors <SHAPE>',
      'flat as specified, or nested as the official clients of the service read them',
      ERROR_SHAPES,
    ),
    ['--today <WHAT>', 'the day that ranges count back from: data (the newest bar) or clock (UTC)'],
    ['--tls-cert <FILE>', 'certificate chain, PEM'],
    ['--tls-key <FILE>', 'its private key, PEM'],
    ['--metrics <WHO>', 'who is shown /metrics: loopback or any'],
    choice('--log-level <LEVEL>', 'trace, debug, info, warn, error or silent; info unless given', LOG_LEVELS),
    ['--max-connections <N>', 'more than these are turned away; 1000 unless given'],
  ],
  examples: [
    'bands serve',
    'bands serve --port 0 --errors nested --log-level warn',
    'bands serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem',
  ],
  notes: [
    'Who asks needs a key: bands accounts create, bands keys create. The account of the key decides the tier.',
    'Listens for other machines (--host) only with TLS, or with --allow-plain-http.',
    'Tells on stdout where it listens, then logs one JSON line a request on stderr. Ctrl-C or SIGTERM lets running requests end; a second one does not.',
  ],
  async run(context, given) {
    context.refuseRemote()
    if (context.config.from.tier === '--tier') {
      const message = '--tier does not apply to serve: the account of each key has its tier (bands accounts set-tier).'
      throw new InvalidParameter(message, { param: 'tier' })
    }
    await showServing(context, await serveOptions(given, context.config))
  },
}

/** Serves until a signal ends it: first what runs is answered, then what was charged is written down. */
async function showServing(context: Context, options: ServeOptions): Promise<void> {
  const { config, world } = context
  const utcDay = (): number => Math.floor(world.now().getTime() / DAY_MS)
  const clock = options.today === 'clock' ? utcDay : null
  const opened = await openService({ ...context.choice, asOf: config.asOf, clock })
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

const TODAYS = ['data', 'clock'] as const
const METRICS_FOR = ['loopback', 'any'] as const

/** What was typed about the server. */
type ServeOptions = Pick<ServerOptions, 'host' | 'port' | 'errors' | 'metrics' | 'tls'> & {
  today: (typeof TODAYS)[number]
  logLevel: ServerOptions['log']['level']
  connections: number
}

/** Throws InvalidParameter, and ConfigError for a certificate or an address that cannot be used. */
async function serveOptions(given: Given, { allowPlainHttp }: Config): Promise<ServeOptions> {
  const options: ServeOptions = {
    host: given.text('host') ?? '127.0.0.1',
    port: integerValue('port', given.text('port') ?? '8080', 0, 65_535),
    errors: wordValue('errors', given.text('errors') ?? 'flat', ERROR_SHAPES),
    metrics: wordValue('metrics', given.text('metrics') ?? 'loopback', METRICS_FOR),
    today: wordValue('today', given.text('today') ?? 'data', TODAYS),
    logLevel: wordValue('log_level', given.text('log-level') ?? 'info', LOG_LEVELS),
    connections: integerValue(
      'max_connections',
      given.text('max-connections') ?? String(LIMITS.connections),
      1,
      1_000_000,
    ),
    tls: await certificate(given.text('tls-cert'), given.text('tls-key')),
  }
  if (options.tls === undefined && !isLoopback(options.host) && !allowPlainHttp)
    throw new ConfigError(
      `${options.host} is reached by other machines, and without TLS anyone between could read the keys; give --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that has TLS, or say --allow-plain-http.`,
    )
  return options
}

async function certificate(cert: string | undefined, key: string | undefined): Promise<ServerOptions['tls']> {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) {
    const [missing, param] = cert === undefined ? ['--tls-cert', 'tls_cert'] : ['--tls-key', 'tls_key']
    throw new InvalidParameter(`--tls-cert and --tls-key go together; ${missing} is missing.`, { param })
  }
  const [certText, keyText] = await Promise.all([textOf(cert), textOf(key)])
  try {
    createSecureContext({ cert: certText, key: keyText })
  } catch (cause) {
    throw new ConfigError(`${cert} and ${key} are no certificate and its key: ${(cause as Error).message}.`, { cause })
  }
  return { cert: certText, key: keyText }
}

async function textOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw new ConfigError(code === 'ENOENT' ? `there is no file ${file}.` : `cannot read ${file}: ${message}.`, {
      cause,
    })
  }
}

/**
 * A log on its way to a stream: many lines in one write, and nobody waits for it. What a reader does not take in time is
 * left out, and counted; a reader that has gone misses the rest.
 */
export class LogLines {
  readonly #out: Stream
  #text = ''
  #dropped = 0
  #flushing: Promise<void> | null = null
  #gone = false

  constructor(out: Stream) {
    this.#out = out
  }

  add(line: string): void {
    if (this.#gone) return
    if (this.#text.length > MOST) this.#dropped++
    else this.#text += line
    this.#flushing ??= this.#flush()
  }

  /** Settles when everything has been handed over. */
  async flushed(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing
  }

  async #flush(): Promise<void> {
    while (this.#text !== '' && !this.#gone) {
      await sleep(PAUSE)
      const text = this.#text + this.#dropNotice()
      this.#text = ''
      await this.#out.write(text).catch(() => {
        this.#gone = true
      })
    }
    this.#flushing = null
  }

  #dropNotice(): string {
    if (this.#dropped === 0) return ''
    const message = `${this.#dropped} lines of the log were left out: its reader is too slow`
    this.#dropped = 0
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), message })}\n`
  }
}

/** Characters that may wait for the reader. */
const MOST = 4 * 1024 * 1024

/** Milliseconds in which lines gather. */
const PAUSE = 10
