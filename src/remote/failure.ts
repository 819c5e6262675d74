/** Why no answer came, and whether asking again may help. */
export interface Failure {
  /** The end of a sentence that begins with who was asked. */
  what: string
  again: boolean
}

/** A failure on the way to a proxy. */
export class ProxyUnreachable extends Error {
  constructor(cause: unknown) {
    super('the proxy is not reached', { cause })
  }
}

/** What a library of the network throws → a sentence that a person can act on. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof ProxyUnreachable) {
    const { what, again } = failureOf(thrown.cause)
    return { what: `is asked through a proxy, and that ${what}`, again }
  }
  const { code, name, message } = firstOf(thrown)
  const known = FAILURES[code]
  if (known !== undefined) return known
  if (TRUST.test(code)) return { what: `cannot be trusted: ${message}`, again: false }
  if (name === 'HTTPParserError') return { what: 'answered something that is not HTTP', again: false }
  if (message.startsWith('Proxy response')) return { what: `is not reached: ${message}`, again: false }
  return { what: `cannot be asked: ${message}`, again: false }
}

export const TOO_LARGE_MIB = 16

const CUT = { what: 'closed the connection before its answer was complete', again: true }
const SLOW = { what: 'takes too long to answer', again: true }
const UNREACHABLE = { what: 'cannot be reached', again: true }

const FAILURES: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: { what: 'refuses connections', again: true },
  ENOTFOUND: { what: 'is not known: there is no server of that name', again: false },
  ERR_SSL_WRONG_VERSION_NUMBER: { what: 'does not speak TLS; its address may begin with http://', again: false },
  EAI_AGAIN: { what: 'cannot be looked up at the moment', again: true },
  ECONNRESET: CUT,
  EPIPE: CUT,
  UND_ERR_SOCKET: CUT,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CUT,
  HPE_INVALID_EOF_STATE: CUT,
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  UND_ERR_CONNECT_TIMEOUT: UNREACHABLE,
  UND_ERR_HEADERS_TIMEOUT: SLOW,
  UND_ERR_BODY_TIMEOUT: SLOW,
  UND_ERR_HEADERS_OVERFLOW: { what: 'answered with headers that are too large', again: false },
  UND_ERR_RES_EXCEEDED_MAX_SIZE: { what: `answered with more than ${TOO_LARGE_MIB} MiB`, again: false },
}

const TRUST = /^(ERR_TLS_|ERR_SSL_|UND_ERR_PRX_TLS|CRL_|EPROTO|UNABLE_TO_)|CERT/

/** Of addresses that were tried side by side, the first that failed. */
function firstOf(thrown: unknown): { code: string; name: string; message: string } {
  const error = thrown instanceof AggregateError && thrown.errors.length > 0 ? (thrown.errors[0] as unknown) : thrown
  if (!(error instanceof Error)) return { code: '', name: '', message: String(error) }
  const { code, name, message } = error as NodeJS.ErrnoException
  return { code: typeof code === 'string' ? code : '', name, message }
}
