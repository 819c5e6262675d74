import type { Headers } from './credits.js'

/** What came back, whole. */
export interface Answer {
  status: number
  headers: Headers
  /** The document, where the body is one; undefined where it is something else or could not be read. */
  document: unknown
  /** Why there is no document, as the end of a sentence that begins with who answered; null where there is one. */
  fault: string | null
}

/** The names of statuses that a server or something before it answers with. */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export function statusText(status: number): string {
  const name = STATUS_NAMES[status]
  return name === undefined ? String(status) : `${status} ${name}`
}

/**
 * The document of a body, which must say of itself that it is JSON, and be it. What is to be shown as it was sent may hold
 * nothing that steers a terminal, nor be nested so deeply that nobody can write it again.
 */
export function readDocument(
  headers: Headers,
  bytes: Uint8Array,
  { toShow }: { toShow: boolean },
): Pick<Answer, 'document' | 'fault'> {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    return { document: undefined, fault: `answered in the encoding ${String(encoding)}, which was not asked for` }
  const type = String(headers['content-type'] ?? '')
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
    return {
      document: undefined,
      fault: `answered ${type === '' ? 'without a content type' : `with ${type}`}, not JSON`,
    }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { document: JSON.parse(text, toShow ? showable : undefined) as unknown, fault: null }
  } catch (error) {
    if (error instanceof NotShowable) return { document: undefined, fault: 'answered with control characters' }
    return {
      document: undefined,
      fault: bytes.length === 0 ? 'answered nothing' : 'answered something that is not JSON',
    }
  }
}

class NotShowable extends Error {}

function showable(key: string, value: unknown): unknown {
  if (CONTROL.test(key) || (typeof value === 'string' && CONTROL.test(value))) throw new NotShowable()
  return value
}

const CONTROL = /\p{Cc}/u
