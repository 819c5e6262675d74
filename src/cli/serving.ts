import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { ConfigError, InvalidParameter } from '../errors.js'
import { integerValue, wordValue } from '../query/values.js'
import { isLoopback } from '../server/loopback.js'
import { LIMITS, LOG_LEVELS, type ServerOptions } from '../server/options.js'
import { ERROR_SHAPES } from '../wire/error-body.js'
import type { Config } from './config.js'
import type { Given } from './given.js'

export const TODAYS = ['data', 'clock'] as const
const METRICS_FOR = ['loopback', 'any'] as const

/** What was typed about the server. */
export type ServeOptions = Pick<ServerOptions, 'host' | 'port' | 'errors' | 'metrics' | 'tls'> & {
  today: (typeof TODAYS)[number]
  logLevel: ServerOptions['log']['level']
  connections: number
}

/** Throws InvalidParameter, and ConfigError for a certificate or an address that cannot be used. */
export async function serveOptions(given: Given, { allowPlainHttp }: Config): Promise<ServeOptions> {
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
