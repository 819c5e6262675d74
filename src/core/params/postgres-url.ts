import { InvalidParameter, parameter, sentence } from '../errors.js'

/** Whether a text is meant as the URL of such a database; checkPostgresUrl reports its mistakes. */
export function isPostgresUrl(text: string): boolean {
  return /^\s*postgres(ql)?:\/?\/?/i.test(text)
}

/** Settings by PostgreSQL's own names, with their environment variables; the last one is specific to bands. */
export const SETTINGS = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  dbname: 'PGDATABASE',
  password: 'PGPASSWORD',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  service: 'PGSERVICE',
  connections: 'BANDS_CONNECTIONS',
} as const

export type Setting = keyof typeof SETTINGS
export type Settings = Partial<Record<Setting, string>>

export const isSetting = (name: string): name is Setting => Object.hasOwn(SETTINGS, name)
/** Settings allowed in the query string of a URL. */
export const IN_URL = Object.keys(SETTINGS).filter(name => name !== 'password')

/** A sign of user and password before one of user and host. A password may have further signs that should be escaped. */
const WITH_PASSWORD = /^[^/?]*\/\/[^/?]*(:|%3a)[^@]*@/i

/** A URL whose @ comes after the question mark, so that the text before the question mark looks like a port. */
const WITH_SETTINGS = /^[^/?]*\/\/([^/?@:]*@)?([^/?@:]*|\[[^/?@\]]*\])(:\d{1,5})?(\/[^?@]*)?\?[a-z_]+=/i

const FORM = 'a URL such as postgres://user@host:5432/database'

/** The settings in a URL. Throws InvalidParameter, which repeats no part of it: any part may be a mistyped password. */
export function settingsIn(param: string, text: string): Settings {
  // Looked for first, and in the text: a password with a sign that should be escaped makes a URL that cannot be read.
  const isHeld = WITH_PASSWORD.test(text) && !WITH_SETTINGS.test(text)
  if (isHeld || /[?&](ssl)?password=/i.test(text)) throw withPassword(param)
  if (!/^postgres(ql)?:\/\//i.test(text)) throw notOneOf(param)
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw notOneOf(param)
  }
  // However it was read: what would go unheeded here stays in the list of processes all the same.
  if (url.password !== '') throw withPassword(param)
  if (url.hash !== '') throw notOneOf(param)
  const found: Settings = {}
  const put = (name: Setting, value: string): void => {
    if (value !== '') found[name] = value
  }
  try {
    // Brackets belong to the URL and not to an IPv6 address.
    put('host', decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'))
    put('port', url.port)
    put('user', decodeURIComponent(url.username))
    put('dbname', decodeURIComponent(url.pathname.slice(1)))
  } catch {
    throw notOneOf(param)
  }
  for (const [name, value] of url.searchParams) {
    if (!isSetting(name)) throw refused(param, `sets something that is not known; it may set ${IN_URL.join(', ')}`)
    put(name, value)
  }
  if (found.host?.includes(','))
    throw refused(param, 'names several hosts; give the one address behind which the primary is found, such as a proxy')
  return found
}

/** Throws InvalidParameter for a URL that cannot be used, or not without showing a password. */
export function checkPostgresUrl(param: string, text: string): void {
  settingsIn(param, text.trim())
}

function withPassword(param: string): InvalidParameter {
  const why = 'holds a password, which every list of processes would show'
  return refused(param, `${why}; give it as PGPASSWORD, in a service file (PGSERVICE) or in .pgpass`)
}

function notOneOf(param: string): InvalidParameter {
  return refused(param, `cannot be read as ${FORM}`)
}

/** Without the value. */
function refused(param: string, what: string): InvalidParameter {
  return new InvalidParameter(sentence`${parameter(param)} ${what}.`, { param, allowed: FORM })
}
