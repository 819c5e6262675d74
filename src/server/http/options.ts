import type { Tier } from '../../core/model/terms.js'
import { PLANS } from '../../core/tiers.js'
import type { Charge } from '../accounts/accounts.js'
import type { ErrorShape } from '../wire/format.js'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The address of a server, and its behaviour. */
export interface ServerOptions {
  host: string
  /** 0: any free port */
  port: number
  errors: ErrorShape
  /** Who may read `/metrics`: only requests from this machine, or all. */
  metrics: 'loopback' | 'any'
  /** The origin whose pages may send browser requests (default: none). */
  cors?: string | undefined
  /** Default: plain HTTP. */
  tls?: Certificate | undefined
  /** Where to get a higher tier, for refused callers. */
  upgradeUrl?: string | undefined
  /** What `/metrics` and `/openapi.json` call this version. */
  version: string
  /** Writes lines of the log, each with its line feed. */
  log: { level: LogLevel; write(lines: string): void }
  limits?: Partial<Limits> | undefined
  /** Credits of an account by tier (default: those of the plans). */
  credits?: Readonly<Record<Tier, CreditLimits>>
  /** Milliseconds since 1970. */
  now?: () => number
}

/** A certificate chain and its private key, as PEM texts. */
export interface Certificate {
  cert: string
  key: string
}

export type CreditLimits = Charge['limits']

/** Limits of the time and the memory that callers can take up. Times are in milliseconds. */
export const LIMITS = {
  /** Time for the head of a request, including the TLS handshake. */
  headersTimeout: 5_000,
  /** For the whole request to arrive. */
  requestTimeout: 10_000,
  /** How often the two times above are checked. */
  checkInterval: 1_000,
  /** How long a connection may be silent during a request or an answer: longer than a charge waits for a busy disk. */
  connectionTimeout: 10_000,
  /** How long a connection may be silent between two requests. */
  keepAliveTimeout: 30_000,
  /** The most connections; for a new one, the connection that has waited longest for its caller is closed. */
  connections: 1_000,
  /** The most connections of one address. Behind a proxy, all connections have its address. */
  connectionsPerAddress: Number.POSITIVE_INFINITY,
  /** Bytes of a request line and its headers. */
  headBytes: 16_384,
  /** Characters of a request's URL. */
  urlLength: 12_288,
  /** Time for running requests to end when the server stops. */
  grace: 10_000,
  /** Bytes of finished answers in the cache. */
  cacheBytes: 32 * 1024 * 1024,
  /** Scans that may wait for their turn. */
  waiting: 250,
}

export type Limits = typeof LIMITS

export type Settings = ReturnType<typeof settingsOf>

export function settingsOf({ limits, credits, now = Date.now, ...options }: ServerOptions) {
  const { free, plus, pro } = PLANS
  const granted = credits ?? { free: free.credits, plus: plus.credits, pro: pro.credits }
  return { ...options, limits: { ...LIMITS, ...limits }, credits: granted, now }
}
