import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { ClientConfig } from 'pg'
import { ConfigError, didYouMean, quoted, suggest } from '../../../core/errors.js'
import {
  isSetting,
  SETTINGS,
  type Setting,
  type Settings,
  settingsIn,
  URL_SETTINGS,
} from '../../../core/params/postgres-url.js'

/** Where a PostgreSQL database is, who connects and how, in the driver's terms. */
export interface Address {
  /** For messages: `postgres://host:port/database`, without user, password or settings. */
  location: string
  config: ClientConfig
  /** Maximum number of connections of each pool. */
  maxConnections: number
}

/** The number of connections; at least two, because a reader needs one while a writer keeps the other. */
const CONNECTIONS = { fallback: 4, min: 2, max: 100 }

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads the URL of a database. Missing settings come from a service file, then from PostgreSQL's environment variables.
 * A password comes from these two or from .pgpass. Throws InvalidParameter, or ConfigError for a service or a
 * certificate that cannot be used. Messages repeat no part of the URL: any part may be a mistyped password.
 * @param param the parameter that holds the URL
 */
export function parseAddress(param: string, text: string, env: Env = process.env): Address {
  const inUrl = settingsIn(param, text.trim())
  const service = inUrl.service ?? env.PGSERVICE
  const fromService = service ? serviceSettings(service, env) : {}
  const settings: Settings = { ...environmentSettings(env), ...fromService, ...inUrl }
  const host = settings.host ?? 'localhost'
  const user = settings.user ?? env.USER ?? userInfo().username
  const port = integerOf(settings, 'port', { fallback: 5432, max: 65_535 })
  const seconds = integerOf(settings, 'connect_timeout', { fallback: 5, max: 3_600 })
  const database = settings.dbname ?? user
  const hostNames = DEFAULT_SOCKET_FOLDERS.includes(host) ? [host, 'localhost'] : [host]
  const config = {
    host,
    port,
    user,
    database,
    // Read for each connection, so that a changed password is used from the next one on.
    password: () =>
      settings.password ?? findPassword(passwordFilePath(env), [hostNames, [String(port)], [database], [user]]),
    ssl: tlsSettings(settings, host),
    application_name: settings.application_name ?? 'bands',
    connectionTimeoutMillis: seconds * 1000,
  }
  const maxConnections = integerOf(settings, 'connections', CONNECTIONS)
  return { config, location: locationText(host, port, database), maxConnections }
}

/** The settings that PostgreSQL's environment variables have, apart from the service. */
function environmentSettings(env: Env): Settings {
  const settings: Settings = {}
  for (const [name, variable] of Object.entries(SETTINGS))
    if (isSetting(name) && name !== 'service' && env[variable]) settings[name] = env[variable]
  return settings
}

/** The settings of a service, from the user's file or the machine's. Throws ConfigError for an unknown service. */
function serviceSettings(service: string, env: Env): Settings {
  const userFile = env.PGSERVICEFILE || join(env.HOME || homedir(), '.pg_service.conf')
  const machineFile = join(env.PGSYSCONFDIR || '/etc/postgresql-common', 'pg_service.conf')
  const files = [userFile, machineFile].filter(existsSync)
  const names: string[] = []
  for (const file of files) {
    const services = readServices(file)
    const lines = services.get(service)
    if (lines !== undefined) return parseServiceLines(lines, file)
    names.push(...services.keys())
  }
  const where = files.length === 0 ? `there is no ${userFile}` : `it is not in ${files.join(' or ')}`
  const suggestion = didYouMean(suggest(service, names))
  throw new ConfigError(`the service ${quoted(service)} of PostgreSQL is not known: ${where}.${suggestion}`)
}

interface Line {
  number: number
  text: string
}

/** The lines of settings in a service file, by the name of the service. */
function readServices(file: string): Map<string, Line[]> {
  const services = new Map<string, Line[]>()
  let lines: Line[] = []
  for (const [lineIndex, line] of readText(file).split('\n').entries()) {
    const text = line.trim()
    const [, service] = /^\[(.+)\]$/.exec(text) ?? []
    if (service !== undefined) {
      lines = []
      // Of two services with one name, the first counts.
      if (!services.has(service)) services.set(service, lines)
    } else if (text !== '' && !text.startsWith('#')) lines.push({ number: lineIndex + 1, text })
  }
  return services
}

/** The settings in the lines of a service. Throws ConfigError for a line that is no allowed setting. */
function parseServiceLines(lines: readonly Line[], file: string): Settings {
  const settings: Settings = {}
  for (const line of lines) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line.text) ?? []
    // The line is not repeated: it may hold a password.
    if (!isSetting(name) || name === 'service')
      throw new ConfigError(
        `${file}:${line.number}: may set ${[...URL_SETTINGS, 'password'].join(', ')}, and nothing else`,
      )
    settings[name] = value
  }
  return settings
}

function passwordFilePath(env: Env): string {
  if (env.PGPASSFILE) return env.PGPASSFILE
  if (process.platform === 'win32') return join(env.APPDATA || homedir(), 'postgresql', 'pgpass.conf')
  return join(env.HOME || homedir(), '.pgpass')
}

/** The folders of sockets that PostgreSQL is built with, which a password file may call localhost. */
const DEFAULT_SOCKET_FOLDERS = ['/tmp', '/run/postgresql', '/var/run/postgresql']

/**
 * The password in the first line of a password file that matches; empty if none does, or there is no file. It reads a
 * line as PostgreSQL's own programs do; the package pgpass skips lines with an empty field. Throws ConfigError if other
 * users can read the file.
 * @param accepted the fields that match: all names of the host, then of the port, the database and the user
 */
function findPassword(file: string, accepted: readonly (readonly string[])[]): string {
  if (!existsSync(file)) return ''
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new ConfigError(`${file} holds passwords and can be read or changed by others; chmod 600 ${file}`)
  for (const line of readText(file).split(/\r?\n/)) {
    const [, ...fields] = PASSWORD_LINE.exec(line) ?? []
    const password = fields[accepted.length]
    if (password === undefined || line.startsWith('#')) continue
    if (accepted.every((names, i) => fields[i] === '*' || names.includes(unescapeField(fields[i]!))))
      return unescapeField(password)
  }
  return ''
}

/** A field in a password file: perhaps empty, and with an escaped colon or backslash. */
const FIELD = String.raw`((?:\\.|[^:\\]|\\$)*)`
const PASSWORD_LINE = new RegExp(`^${`${FIELD}:`.repeat(4)}${FIELD}`)

const unescapeField = (field: string): string => field.replace(/\\(.)/g, '$1')

/** A setting as an integer from `min` to `max`, or the fallback if it is not set. Throws ConfigError. */
function integerOf(settings: Settings, name: Setting, range: { fallback: number; max: number; min?: number }): number {
  const { fallback, max, min = 1 } = range
  const text = settings[name]
  if (text === undefined) return fallback
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (value >= min && value <= max) return value
  throw new ConfigError(`${name} of the connection to PostgreSQL must be an integer from ${min} to ${max}`)
}

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/**
 * The TLS settings of a connection; false: unencrypted, which is the default for this machine only. PostgreSQL's mode
 * `prefer` is not offered, because an attacker in between could simply refuse encryption. Throws ConfigError.
 */
function tlsSettings(settings: Settings, host: string): ClientConfig['ssl'] {
  const isLocal = /^(\/|localhost$|127\.|::1$)/.test(host)
  const { sslmode = isLocal ? 'disable' : 'require', sslrootcert, sslcert, sslkey } = settings
  if (!TLS_MODES.includes(sslmode))
    throw new ConfigError(
      `sslmode ${quoted(sslmode)} is not one of ${TLS_MODES.join(', ')}.${didYouMean(suggest(sslmode, TLS_MODES))}`,
    )
  if (sslmode === 'disable' || host.startsWith('/')) return false
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new ConfigError('sslcert and sslkey of the connection to PostgreSQL go together: a certificate and its key')
  const certificates: { ca?: string; cert?: string; key?: string } = {}
  if (sslrootcert !== undefined && sslrootcert !== 'system') certificates.ca = readText(sslrootcert)
  if (sslcert !== undefined) certificates.cert = readText(sslcert)
  if (sslkey !== undefined) certificates.key = readText(sslkey)
  if (sslmode === 'verify-full') return certificates
  // As in PostgreSQL's own programs, naming a root certificate means verifying it.
  const rejectUnauthorized = sslmode === 'verify-ca' || sslrootcert !== undefined
  // Only verify-full compares the name in the certificate with the host.
  return { ...certificates, rejectUnauthorized, checkServerIdentity: () => undefined }
}

/** The text of a file. Throws ConfigError if it cannot be read. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, { cause })
  }
}

/** The URL of a database without user, password and settings. @param host also the folder of a socket */
function locationText(host: string, port: number, database: string): string {
  const name = encodeURIComponent(database)
  if (host.startsWith('/')) return `postgres:///${name}?host=${host}`
  const hostText = host.includes(':') ? `[${host}]` : host
  return `postgres://${hostText}:${port}/${name}`
}
