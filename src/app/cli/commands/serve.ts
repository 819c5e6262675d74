import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { version } from '../../../core/built.js'
import { ConfigError, invalid, wrong } from '../../../core/errors.js'
import { dayAt, formatDay } from '../../../core/model/day.js'
import { count } from '../../../core/numbers.js'
import { integerOf, oneOf, WORDS } from '../../../core/params/kinds.js'
import { type Kind, optional, optionsOf, type Read, withDefault } from '../../../core/params/row.js'
import { LIMITS, LOG_LEVELS, type ServerOptions } from '../../../server/http/options.js'
import { isLoopback } from '../../../server/http/requests.js'
import { type RunningServer, startServer } from '../../../server/http/server.js'
import { ERROR_SHAPES } from '../../../server/wire/format.js'
import { refuseSharedSecret } from '../../open/paths.js'
import { type OpenedService, openService } from '../../open/service.js'
import type { Command } from '../command.js'
import { CONFIG_KEYS, readTextFile } from '../config-file.js'
import type { Context } from '../context.js'
import { oneRowAnswer } from '../output.js'
import { ClosedPipe, type Stream } from '../world.js'
import { ACCOUNTS } from './accounts.js'

/** The files of a certificate chain and of its private key: `cert.pem,key.pem`. */
const CERTIFICATE: Kind<{ cert: string; key: string }, string> = {
  schema: { type: 'string' },
  placeholder: 'CERT,KEY',
  example: 'cert.pem,key.pem',
  parse: (param, written) => {
    const [cert = '', key = '', ...others] = String(written).split(',')
    if (cert !== '' && key !== '' && others.length === 0) return { cert, key }
    throw invalid('not_allowed', { param, value: written, allowed: 'two files: cert.pem,key.pem' })
  },
}

const SERVER = {
  ...ACCOUNTS,
  host: withDefault(WORDS, '127.0.0.1', 'where to listen (default 127.0.0.1, which only this machine reaches)', {
    placeholder: 'ADDRESS',
  }),
  port: withDefault(integerOf(0, 65_535), 8080, 'the port (default 8080); 0 takes any that is free'),
  errors: withDefault(
    oneOf(ERROR_SHAPES, 'SHAPE'),
    'flat',
    'of errors, for callers that do not choose: flat as specified, or nested as official clients read them',
  ),
  today: withDefault(
    oneOf(['data', 'clock'] as const, 'WHAT'),
    'data',
    'the day that ranges count back from: data (the newest bar) or clock (UTC)',
  ),
  tls: optional(CERTIFICATE, 'certificate chain and its private key, PEM: cert.pem,key.pem'),
  cors: optional(WORDS, 'pages of this origin may ask from a browser; as https://app.example.com', {
    placeholder: 'ORIGIN',
  }),
  metrics: withDefault(
    oneOf(['loopback', 'any'] as const, 'WHO'),
    'loopback',
    'who is shown /metrics: loopback or any',
  ),
  log_level: withDefault(
    oneOf(LOG_LEVELS, 'LEVEL'),
    'info',
    'trace, debug, info, warn, error or silent (default info)',
    { part: 'log level' },
  ),
  upgrade_url: CONFIG_KEYS.upgrade_url,
  max_connections: withDefault(
    integerOf(1, 1_000_000),
    LIMITS.connections,
    'at this number the longest idle is closed for a new one (default 1000)',
    { part: 'connections max' },
  ),
  max_per_address: optional(
    integerOf(1, 1_000_000),
    'the same of one address (default with TLS a quarter of all, otherwise no limit: behind a proxy all have one address)',
    { part: 'connections per-address' },
  ),
}

type Options = Read<typeof SERVER>

const serveCommand: Command = {
  options: optionsOf(SERVER),
  examples: [
    'bands serve',
    "bands serve --port 0 --errors nested --log 'level warn'",
    'bands serve --host 0.0.0.0 --port 8443 --tls cert.pem,key.pem',
  ],
  notes: [
    'Who asks needs a key: bands accounts create, bands keys create. The account of the key decides the tier.',
    'Listens for other machines (--host) only with TLS, or with --allow-plain-http.',
    'Prints its address on stdout, then logs one JSON line a request on stderr. Ctrl-C or SIGTERM lets running requests end; a second one does not.',
    'A new file of the same name (mv) is checked as bands verify does, and then answers; an unsound one is refused, and the old one keeps answering.',
    'SIGHUP reads the certificate and its key again; at a terminal it ends the server, as that has been closed.',
  ],
  /** Serves the data over HTTP until a signal. Throws ConfigError before it lets keys travel without TLS. */
  async run(context, args) {
    context.refuseRemote()
    const { config } = context
    const tierMessage =
      '--tier does not apply to serve: the account of each key has its tier (bands accounts set-tier).'
    if (config.from.tier === '--tier') throw wrong('tier', tierMessage)
    const options = args.read(SERVER)
    refuseInvalidOrigin(options)
    const tls = await readCertificate(options)
    if (tls === undefined && !isLoopback(options.host) && !config.allow_plain_http)
      throw new ConfigError(
        `Other machines reach ${options.host}, and without TLS anyone between could read the keys. Give --tls CERT,KEY, listen on 127.0.0.1 behind a proxy that has TLS, or say --allow-plain-http.`,
      )
    const log = new LogLines(context.world.err)
    try {
      await serveUntilSignal(context, options, tls, log)
    } finally {
      await log.flushed()
    }
  },
}

/** Serves until a signal. Then `running.stop` answers the running requests, and after them writes the charges. */
async function serveUntilSignal(context: Context, options: Options, tls: ServerOptions['tls'], log: LogLines) {
  const { config, world } = context
  const clock = options.today === 'clock' ? () => dayAt(world.now().getTime()) : null
  const choice = { ...context.databaseChoice, accounts: options.accounts, asOf: config.as_of }
  const opened = await openService({ ...choice, clock, now: () => world.now() })
  try {
    const { host, port, errors, metrics, cors } = options
    const running = await startServer(opened.service, {
      host,
      port,
      errors,
      metrics,
      cors,
      tls,
      version: version(),
      upgradeUrl: options.upgrade_url ?? config.upgrade_url,
      limits: connectionLimits(options, tls !== undefined),
      log: { level: options.log_level, write: line => log.add(line) },
    })
    const dataFollower = opened.sample ? null : followDataFile(opened, running)
    // Settles after the last reload; reloads do not overlap.
    let reloads = Promise.resolve()
    const stopReloading = world.onReload?.(() => {
      reloads = reloads.then(() => reloadCertificate(running, options)).then(() => dataFollower?.checkNow())
    })
    try {
      const stopRequest = new Promise<unknown>(resolve => world.onStop(resolve, GRACE_MS))
      await showServing(context, opened, { ...options, url: running.url, tls: tls !== undefined })
      await stopRequest
    } finally {
      await running.stop()
      stopReloading?.()
      await reloads
    }
  } finally {
    await opened.close()
  }
}

/** Watches the file of data. Each new one is taken over or refused, and that is logged. */
function followDataFile(opened: OpenedService, { takeOver, log }: RunningServer) {
  return opened.follow(takeOver, {
    logTakeOver: data => log.add('info', { message: 'took over a new file of data', data }),
    logRefusal: why =>
      log.add('error', { error: `the new file of data is not taken over, the old one answers: ${why}` }),
  })
}

/** Reads the certificate again. An unusable file changes nothing, and is logged. */
async function reloadCertificate({ setCertificate, log }: RunningServer, options: Options): Promise<void> {
  const tls = await readCertificate(options).catch((error: Error) =>
    log.add('error', { message: `the certificate stays as it was: ${error.message}` }),
  )
  if (tls) setCertificate(tls)
  log.add('info', { message: 'files were read again' })
}

/** The limits of connections. Without TLS all callers come through a proxy or from here, so from one address. */
function connectionLimits({ max_connections: connections, max_per_address: limit }: Options, tls: boolean) {
  const perAddress = tls ? Math.ceil(connections / 4) : connections
  return { connections, connectionsPerAddress: limit ?? perAddress }
}

/** Longer than the server gives to running requests. */
const GRACE_MS = LIMITS.grace + 5_000

/** Shows the address of the server, and its data. */
async function showServing(
  context: Context,
  { service, path, sample, vendors }: OpenedService,
  { url, errors: errorShape, metrics, tls, ...options }: Omit<Options, 'tls'> & { url: string; tls: boolean },
): Promise<void> {
  const row = {
    schema: 'bands.serve/1',
    url,
    docs: `${url}/docs`,
    today: formatDay(await service.today()),
    today_from: context.config.as_of === null ? options.today : ('as_of' as const),
    // The highest tier has every ticker.
    tickers: ((await service.bands('pro').tickers()) ?? []).length,
    sample,
    database: path,
    accounts: (await service.accounts.accounts()).length,
    accounts_file: service.accounts.location,
    errors: errorShape,
    metrics,
    tls,
  }
  const { tickers, today, accounts } = row
  const notes = [
    `${count(tickers, 'ticker')}${sample ? ' of the sample' : ''}, today is ${today} (${TODAY_SOURCES[row.today_from]}), ${errorShape} errors`,
    ...(accounts > 0 ? [count(accounts, 'account')] : NO_ACCOUNT),
    'Ctrl-C ends it.',
  ]
  await context.show(oneRowAnswer(row, notes, [url, `docs ${row.docs}`]))
  const vendorNote = `some bars are of ${vendors.join(', ')}: most vendors do not allow to serve them to others`
  if (vendors.length > 0) await context.notice(`${vendorNote}; their terms: bands providers ${vendors[0]}`)
  if (sample) await context.notice('the sample is served; load your own and start again: bands import FILE.csv')
}

const TODAY_SOURCES = { data: 'the newest bar', clock: 'the clock', as_of: '--as-of' } as const

const NO_ACCOUNT = [
  'no account yet; make one, and a key for it, in another terminal:',
  'bands accounts create NAME --tier pro',
  'bands keys create NAME',
]

/** Throws InvalidParameter for an origin that no browser would send. */
function refuseInvalidOrigin({ cors }: Options): void {
  if (cors === undefined || (URL.canParse(cors) && new URL(cors).origin === cors)) return
  const allowed = 'an origin as browsers send it, such as https://app.example.com'
  throw invalid('not_allowed', { param: 'cors', value: cors, allowed })
}

/** Reads the certificate and its key; undefined without --tls. Throws ConfigError for unusable files. */
async function readCertificate({ tls }: Options): Promise<ServerOptions['tls']> {
  if (tls === undefined) return undefined
  const [cert, key] = await Promise.all([readPem(tls.cert), readPem(tls.key)])
  await refuseSharedSecret(tls.key)
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const message = `${tls.cert} and ${tls.key} are no certificate and its key: ${(cause as Error).message}.`
    throw new ConfigError(message, { cause })
  }
  return { cert, key }
}

async function readPem(file: string): Promise<string> {
  const text = await readTextFile(file)
  if (text === null) throw new ConfigError(`there is no file ${file}.`)
  return text
}

/** Writes log lines in batches, without waiting. Lines that a slow reader does not take are dropped and counted. */
export class LogLines {
  readonly #out: Pick<Stream, 'write'>
  #text = ''
  #dropped = 0
  #dropReason = ''
  #flushing: Promise<void> | null = null
  #isReaderGone = false

  constructor(out: Pick<Stream, 'write'>) {
    this.#out = out
  }

  add(line: string): void {
    if (this.#isReaderGone) return
    if (this.#text.length > MAX_WAITING_CHARACTERS) this.#drop(1, 'its reader is too slow')
    else this.#text += line
    this.#flushing ??= this.#flush()
  }

  /** Settles when everything has been handed over. */
  async flushed(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing
  }

  /** Writes the waiting lines in batches until there are none. */
  async #flush(): Promise<void> {
    while (this.#text !== '' && !this.#isReaderGone) {
      await sleep(BATCH_MS)
      const text = this.#text + this.#dropNotice()
      this.#text = ''
      await this.#out.write(text).catch(error => this.#fail(error, text))
    }
    this.#flushing = null
  }

  #fail(error: unknown, text: string): void {
    if (error instanceof ClosedPipe) this.#isReaderGone = true
    else this.#drop(text.split('\n').length - 1, (error as Error).message)
  }

  #drop(lines: number, why: string): void {
    this.#dropped += lines
    this.#dropReason = why
  }

  /** A log line with the number of dropped lines, which are then forgotten; empty if none was dropped. */
  #dropNotice(): string {
    if (this.#dropped === 0) return ''
    const message = `${this.#dropped} lines of the log were left out: ${this.#dropReason}`
    this.#dropped = 0
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), message })}\n`
  }
}

/** Further lines are dropped while this many characters wait for the reader. */
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

/** Lines of this period are written together. */
const BATCH_MS = 10

export const commands = { serve: serveCommand }
