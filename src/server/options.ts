import type { Tier } from '../model/terms.js'
import { PLANS } from '../tiers.js'
import type { ErrorShape } from '../wire/format.js'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** How a server is reached, and how it behaves there. */
export interface ServerOptions {
  host: string
  /** 0: any that is free */
  port: number
  errors: ErrorShape
  /** Who is shown `/metrics`. */
  metrics: 'loopback' | 'any'
  /** The origin whose pages may ask from a browser; none unless given. */
  cors?: string | undefined
  /** PEM texts; without, plain HTTP. */
  tls?: Certificate | undefined
  /** Where a higher tier is to be had, for those who are refused. */
  upgradeUrl?: string | undefined
  /** What `/metrics` and `/openapi.json` call this version. */
  version: string
  /** Where lines of the log go, each with its line feed. */
  log: { level: LogLevel; write(lines: string): void }
  limits?: Partial<Limits> | undefined
  /** What an account is granted; that of the plans unless lent. */
  credits?: Readonly<Record<Tier, CreditLimits>>
  /** Milliseconds since 1970. */
  now?: () => number
}

/** A chain and its private key. */
export interface Certificate {
  cert: string
  key: string
}

export interface CreditLimits {
  day: number
  hour: number
}

/** How much patience and memory a caller may take. Times in milliseconds. */
export interface Limits {
  /** For the head of a request to arrive, and the handshake of TLS before it. */
  headersTimeout: number
  /** For the whole request to arrive. */
  requestTimeout: number
  /** How often the two are looked at. */
  checkInterval: number
  /** A connection on which nothing moves, while a request or an answer is on its way. */
  connectionTimeout: number
  /** A connection between two requests. */
  keepAliveTimeout: number
  /** At this number the one that has waited longest for its caller is closed for a new one. */
  connections: number
  /** The same of one address. */
  connectionsPerAddress: number
  /** Bytes of a request line and its headers. */
  headBytes: number
  /** Characters of a request's URL. */
  urlLength: number
  /** How long running requests may take to end once the server is asked to. */
  grace: number
  /** Bytes of finished answers that are kept to be given again. */
  keptBytes: number
  /** Scans that may wait for their turn. */
  waiting: number
}

export const LIMITS: Limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  checkInterval: 1_000,
  // Longer than a charge waits for a busy disk.
  connectionTimeout: 10_000,
  keepAliveTimeout: 30_000,
  connections: 1_000,
  // Where a proxy stands in front, all come from its address.
  connectionsPerAddress: Number.POSITIVE_INFINITY,
  headBytes: 16_384,
  urlLength: 12_288,
  grace: 10_000,
  keptBytes: 32 * 1024 * 1024,
  waiting: 250,
}

/** The same with everything filled in. */
export interface Settings extends Omit<Required<ServerOptions>, 'tls' | 'cors' | 'upgradeUrl'> {
  tls: ServerOptions['tls']
  cors: ServerOptions['cors']
  upgradeUrl: string | null
  limits: Limits
}

export function settingsOf({ limits, credits, now, tls, cors, upgradeUrl, ...options }: ServerOptions): Settings {
  return {
    ...options,
    tls,
    cors,
    upgradeUrl: upgradeUrl ?? null,
    limits: { ...LIMITS, ...limits },
    credits: credits ?? { free: PLANS.free.credits, plus: PLANS.plus.credits, pro: PLANS.pro.credits },
    now: now ?? Date.now,
  }
}
