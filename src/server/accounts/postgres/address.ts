import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { ClientConfig } from 'pg'
import { ConfigError, didYouMean, quoted, suggest } from '../../../core/errors.js'
import {
  IN_URL,
  isSetting,
  SETTINGS,
  type Setting,
  type Settings,
  settingsIn,
} from '../../../core/params/postgres-url.js'

/** Where a PostgreSQL database is, who connects and how, in the driver's terms. */
export interface Address {
  /** For messages: `postgres://host:port/database`, without user, password or settings. */
  location: string
  config: ClientConfig
  /** Maximum number of connections of each pool. */
  most: number
}

/** One who imports keeps a connection, and reads by another. */
const FEWEST = 2
const USUAL = 4
const MOST = 100

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads a URL. A service file and then PostgreSQL's own environment variables fill in what it leaves open. A password
 * comes from these two or from .pgpass. Error messages repeat no part of the URL: any part may be a mistyped password.
 *
 * @param param the parameter that holds the URL
 * Throws InvalidParameter, or ConfigError for a service or a certificate that cannot be used.
 */
export function addressOf(param: string, text: string, env: Env = process.env): Address {
  const inUrl = settingsIn(param, text.trim())
  const named = inUrl.service ?? env.PGSERVICE
  const settings: Settings = { ...ofEnvironment(env), ...(named && ofService(named, env)), ...inUrl }
  const host = settings.host ?? 'localhost'
  const user = settings.user ?? env.USER ?? userInfo().username
  const port = integerSetting(settings, 'port', 5432, 65_535)
  const seconds = integerSetting(settings, 'connect_timeout', 5, 3_600)
  const database = settings.dbname ?? user
  const config = {
    host,
    port,
    user,
    database,
    // Read at each connection, so that a changed password counts from the next one.
    password: () => settings.password ?? passwordIn(passwordFile(env), [host, String(port), database, user]),
    ssl: tlsOf(settings, host),
    application_name: settings.application_name ?? 'bands',
    connectionTimeoutMillis: seconds * 1000,
  }
  const most = integerSetting(settings, 'connections', USUAL, MOST, FEWEST)
  return { config, location: locationOf(host, port, database), most }
}

function ofEnvironment(env: Env): Settings {
  const set = Object.entries(SETTINGS).map(([name, variable]) => [name, env[variable]] as const)
  return Object.fromEntries(set.filter(([name, value]) => name !== 'service' && value)) as Settings
}

/** The settings of a service, from the user's file or the machine's. */
function ofService(service: string, env: Env): Settings {
  const own = env.PGSERVICEFILE || join(env.HOME || homedir(), '.pg_service.conf')
  const files = [own, join(env.PGSYSCONFDIR || '/etc/postgresql-common', 'pg_service.conf')].filter(existsSync)
  const known = files.map(file => [file, servicesIn(file)] as const)
  for (const [file, services] of known) {
    const lines = services.get(service)
    if (lines !== undefined) return settingsOf(lines, file)
  }
  const where = files.length === 0 ? `there is no ${own}` : `it is not in ${files.join(' or ')}`
  const names = known.flatMap(([, services]) => [...services.keys()])
  const meant = didYouMean(suggest(service, names))
  throw new ConfigError(`the service ${quoted(service)} of PostgreSQL is not known: ${where}.${meant}`)
}

interface Line {
  number: number
  text: string
}

function servicesIn(file: string): Map<string, Line[]> {
  const services = new Map<string, Line[]>()
  let lines: Line[] = []
  for (const [i, raw] of textOf(file).split('\n').entries()) {
    const text = raw.trim()
    const [, service] = /^\[(.+)\]$/.exec(text) ?? []
    if (service !== undefined) {
      lines = []
      // The first of a name counts.
      if (!services.has(service)) services.set(service, lines)
    } else if (text !== '' && !text.startsWith('#')) lines.push({ number: i + 1, text })
  }
  return services
}

function settingsOf(lines: readonly Line[], file: string): Settings {
  const settings: Settings = {}
  for (const line of lines) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line.text) ?? []
    // The line is not repeated: it may hold a password.
    if (!isSetting(name) || name === 'service')
      throw new ConfigError(`${file}:${line.number}: may set ${[...IN_URL, 'password'].join(', ')}, and nothing else`)
    settings[name] = value
  }
  return settings
}

function passwordFile(env: Env): string {
  if (env.PGPASSFILE) return env.PGPASSFILE
  if (process.platform === 'win32') return join(env.APPDATA || homedir(), 'postgresql', 'pgpass.conf')
  return join(env.HOME || homedir(), '.pgpass')
}

/** The password of the first line that matches host, port, database and user (* matches any); empty if none does. */
function passwordIn(file: string, wanted: readonly string[]): string {
  if (!existsSync(file)) return ''
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new ConfigError(`${file} holds passwords and can be read or changed by others; chmod 600 ${file}`)
  for (const line of textOf(file).split(/\r?\n/)) {
    const parts = line.startsWith('#')
      ? []
      : (line.match(/(?:\\.|[^:\\])+/g) ?? []).map(part => part.replace(/\\(.)/g, '$1'))
    const password = parts[wanted.length]
    if (password !== undefined && wanted.every((value, i) => isMeant(parts[i]!, value))) return password
  }
  return ''
}

/** A password file names a socket localhost. */
function isMeant(part: string, value: string): boolean {
  return part === '*' || part === (value.startsWith('/') ? 'localhost' : value)
}

/** A setting as an integer between two bounds, or its default. */
function integerSetting(settings: Settings, name: Setting, byDefault: number, most: number, least = 1): number {
  const text = settings[name]
  if (text === undefined) return byDefault
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (value >= least && value <= most) return value
  throw new ConfigError(`${name} of the connection to PostgreSQL must be an integer from ${least} to ${most}`)
}

const MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/**
 * Unencrypted on this machine, encrypted to any other by default. PostgreSQL's `prefer` is not offered: an attacker in
 * between could simply refuse encryption.
 */
function tlsOf(settings: Settings, host: string): ClientConfig['ssl'] {
  const isLocal = /^(\/|localhost$|127\.|::1$)/.test(host)
  const { sslmode = isLocal ? 'disable' : 'require', sslrootcert, sslcert, sslkey } = settings
  if (!MODES.includes(sslmode))
    throw new ConfigError(
      `sslmode ${quoted(sslmode)} is not one of ${MODES.join(', ')}.${didYouMean(suggest(sslmode, MODES))}`,
    )
  if (sslmode === 'disable' || host.startsWith('/')) return false
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new ConfigError('sslcert and sslkey of the connection to PostgreSQL go together: a certificate and its key')
  const certificates = {
    ...(sslrootcert !== undefined && sslrootcert !== 'system' && { ca: textOf(sslrootcert) }),
    ...(sslcert !== undefined && { cert: textOf(sslcert) }),
    ...(sslkey !== undefined && { key: textOf(sslkey) }),
  }
  if (sslmode === 'verify-full') return certificates
  // As in PostgreSQL's own programs, naming a root certificate means verifying it.
  const rejectUnauthorized = sslmode === 'verify-ca' || sslrootcert !== undefined
  return { ...certificates, rejectUnauthorized, checkServerIdentity: () => undefined }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, { cause })
  }
}

function locationOf(host: string, port: number, database: string): string {
  const name = encodeURIComponent(database)
  if (host.startsWith('/')) return `postgres:///${name}?host=${host}`
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${port}/${name}`
}
