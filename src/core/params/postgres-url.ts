import { InvalidParameter, parameter, sentence } from '../errors.js'

/** Whether a text is meant as the URL of a PostgreSQL database, right or wrong. */
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
export const URL_SETTINGS = Object.keys(SETTINGS).filter(name => name !== 'password')

/** A sign of user and password before one of user and host. A password may have more signs to escape. */
const PASSWORD_IN_URL = /^[^/?]*\/\/[^/?]*(:|%3a)[^@]*@/i

/** A URL whose @ comes after the question mark, so that the text before the question mark looks like a port. */
const SETTINGS_IN_URL = /^[^/?]*\/\/([^/?@:]*@)?([^/?@:]*|\[[^/?@\]]*\])(:\d{1,5})?(\/[^?@]*)?\?[a-z_]+=/i

/** The user of a URL without a host, which PostgreSQL reads and `URL` does not: `postgres://user@/database`. */
const USER_WITHOUT_HOST = /^(postgres(?:ql)?:\/\/)([^/?#@:]*)@(?=[/?]|$)/i

const FORM = 'a URL such as postgres://user@host:5432/database'

/** The settings in a URL. Throws InvalidParameter, which repeats no part of it: any part may be a mistyped password. */
export function settingsIn(param: string, text: string): Settings {
  // Checked first, in the text: a password with a sign that should be escaped makes a URL that cannot be parsed.
  const hasPassword = PASSWORD_IN_URL.test(text) && !SETTINGS_IN_URL.test(text)
  if (hasPassword || /[?&](ssl)?password=/i.test(text)) throw passwordError(param)
  if (!/^postgres(ql)?:\/\//i.test(text)) throw unreadableUrlError(param)
  // `URL` does not read a user without a host.
  const [, , user] = USER_WITHOUT_HOST.exec(text) ?? []
  let url: URL
  try {
    url = new URL(text.replace(USER_WITHOUT_HOST, '$1'))
  } catch {
    throw unreadableUrlError(param)
  }
  // Any other form of a password is refused, too: the list of processes shows it to all users of the machine.
  if (url.password !== '') throw passwordError(param)
  if (url.hash !== '') throw unreadableUrlError(param)
  const settings: Settings = {}
  const setUnlessEmpty = (name: Setting, value: string): void => {
    if (value !== '') settings[name] = value
  }
  try {
    // Brackets belong to the URL and not to an IPv6 address.
    setUnlessEmpty('host', decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'))
    setUnlessEmpty('port', url.port)
    setUnlessEmpty('user', decodeURIComponent(user ?? url.username))
    setUnlessEmpty('dbname', decodeURIComponent(url.pathname.slice(1)))
  } catch {
    throw unreadableUrlError(param)
  }
  for (const [name, value] of url.searchParams) {
    if (!isSetting(name))
      throw urlError(param, `sets something that is not known; it may set ${URL_SETTINGS.join(', ')}`)
    setUnlessEmpty(name, value)
  }
  if (settings.host?.includes(','))
    throw urlError(
      param,
      'names several hosts; give the one address behind which the primary is found, such as a proxy',
    )
  return settings
}

function passwordError(param: string): InvalidParameter {
  const why = 'holds a password, which every list of processes would show'
  return urlError(param, `${why}; give it as PGPASSWORD, in a service file (PGSERVICE) or in .pgpass`)
}

function unreadableUrlError(param: string): InvalidParameter {
  return urlError(param, `cannot be read as ${FORM}`)
}

/** The error for a URL. It does not repeat the URL, which may hold a password. */
function urlError(param: string, what: string): InvalidParameter {
  return new InvalidParameter(sentence`${parameter(param)} ${what}.`, { param, allowed: FORM })
}
