import { InvalidParameter, type InvalidValue, parameter, quoted, sentence, type Words } from '../../core/errors.js'

/** The checked address of a server: the base URL of its paths, without a trailing slash. */
export interface Address {
  base: string
  /** Scheme, host and port: what a key is bound to. */
  origin: string
  /** This machine: requests use no network and no proxy. */
  loopback: boolean
}

const EXAMPLE = 'address of a server, such as https://api.example.com'

/**
 * Parses an address. Throws InvalidParameter for a faulty one. Throws it, too, if the key would be sent unencrypted and
 * `allowPlainHttp` is false.
 */
export function addressOf(text: string, { allowPlainHttp = false }: { allowPlainHttp?: boolean } = {}): Address {
  const url = webUrl(text)
  if (url === null) {
    // Invalid text may hold a password before its @.
    throw urlError(`${text.includes('@') ? 'this' : quoted(text)} is no ${EXAMPLE}.`, text, withScheme(text))
  }
  if (url.username !== '' || url.password !== '')
    throw urlError('an address has no user name and no password in it; a key is all that is sent.', url.host)
  if (url.search !== '' || url.hash !== '')
    throw urlError(`${quoted(text)} goes on after its path, where an address ends.`, text)
  const base = url.origin + url.pathname.replace(/\/+$/, '')
  if (base.endsWith('/v1'))
    throw urlError(`${base} ends with /v1, with which every path begins; leave it out.`, text, [base.slice(0, -3)])
  const loopback = isLoopback(url.hostname)
  if (url.protocol === 'http:' && !loopback && !allowPlainHttp)
    throw urlError(
      sentence`${base} would be sent the key unencrypted; use https, or say ${parameter('allow_plain_http')}.`,
      text,
    )
  return { base, origin: url.origin, loopback }
}

/** A text as the URL of a server, http or https; null for any other text. */
export function webUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && ['https:', 'http:'].includes(url.protocol) && url.hostname !== '' ? url : null
}

/** Whether a host is this machine, by name or number; the URL parser has normalised numbers (`0x7f.1`). */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** The address with the missing scheme added, in a list; an empty list if that does not make it valid. */
function withScheme(text: string): string[] {
  const scheme = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?(\/|$)/.test(text) ? 'http' : 'https'
  return /^[\w.[\]:-]+(\/[\w./-]*)?$/.test(text) && URL.canParse(`${scheme}://${text}`) ? [`${scheme}://${text}`] : []
}

/** The error for an address. Its value is repeated only if it cannot hold a password. */
function urlError(message: Words, value: string, suggestions: string[] = []): InvalidParameter {
  const invalidValue: InvalidValue = { param: 'url' }
  if (!value.includes('@')) invalidValue.value = value
  invalidValue.allowed = `an ${EXAMPLE}`
  if (suggestions.length > 0) invalidValue.suggestions = suggestions
  return new InvalidParameter(message, invalidValue)
}

/** For one question, including all attempts and waits. */
export const DEFAULT_TIMEOUT_MS = 30_000

/** Attempts after the first. */
export const DEFAULT_RETRIES = 3
