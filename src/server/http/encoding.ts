import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Names and values in turn: node sends them faster than an object, which would have to be put together first. */
export type HeaderList = readonly string[]

export interface Outgoing {
  status: number
  headers: HeaderList
  body: Buffer | string
  /** The codings of a body that is sent repeatedly. */
  coded?: Coded | undefined
}

/** Bytes from which on an answer is compressed: a shorter one is a single packet anyway. */
const LEAST = 1_024

const CODINGS = {
  // Higher levels take several times as long for a few per cent.
  br: (body: Buffer | string) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer | string) => gzipped(body),
} as const
type Coding = keyof typeof CODINGS

const brotli = promisify(brotliCompress)
const gzipped = promisify<Buffer | string, Buffer>(gzip)

/** A body in its requested codings, each made once. */
export class Coded {
  /** Bytes of the body as it is. */
  readonly length: number
  readonly #body: Buffer | string
  readonly #made: (bytes: number) => void
  readonly #bodies = new Map<Coding, Promise<Buffer>>()

  /** @param made called with the bytes that a new coding adds */
  constructor(body: Buffer | string, made: (bytes: number) => void = () => {}) {
    this.length = Buffer.byteLength(body)
    this.#body = body
    this.#made = made
  }

  in(coding: Coding): Promise<Buffer> {
    let body = this.#bodies.get(coding)
    if (body === undefined) {
      body = CODINGS[coding](this.#body)
      this.#bodies.set(coding, body)
      body.then(
        ({ length }) => this.#made(length),
        () => this.#bodies.delete(coding),
      )
    }
    return body
  }
}

/** Bytes of an answer's body. */
export function lengthOf({ body, coded }: Outgoing): number {
  return coded?.length ?? Buffer.byteLength(body)
}

/** A long answer as its caller may have it: compressed, outside of this thread, where the request says so. */
export function encoded(answer: Outgoing, accepted: string | undefined): Outgoing | Promise<Outgoing> {
  if (lengthOf(answer) < LEAST) return answer
  const coding = accepted === undefined ? null : codingOf(accepted)
  const { status, body, coded } = answer
  const headers = [...answer.headers, 'Vary', 'Accept-Encoding']
  return coding === null ? { status, headers, body, coded } : compressed(answer, headers, coding)
}

async function compressed({ status, body, coded }: Outgoing, headers: HeaderList, coding: Coding): Promise<Outgoing> {
  const bytes = await (coded ?? new Coded(body)).in(coding)
  return { status, headers: [...weakly(headers), 'Content-Encoding', coding], body: bytes }
}

/** The coding that an `Accept-Encoding` prefers, the denser of equals; null: none supported. */
export function codingOf(accepted: string): Coding | null {
  const weights = new Map(accepted.toLowerCase().split(',').map(weighed))
  const br = weights.get('br') ?? 0
  const gzip = weights.get('gzip') ?? 0
  if (br > 0 && br >= gzip) return 'br'
  return gzip > 0 ? 'gzip' : null
}

function weighed(part: string): [string, number] {
  const [name = '', ...parameters] = part.split(';').map(text => text.trim())
  const weight = parameters.find(text => text.startsWith('q='))?.slice(2)
  return [name, weight === undefined ? 1 : Number(weight)]
}

/** Other bytes may not have the same strong tag (RFC 9110, 8.8.1); a weak one is as good for a 304. */
function weakly(headers: HeaderList): string[] {
  return headers.map((text, i) => (headers[i - 1] === 'ETag' && i % 2 === 1 ? `W/${text}` : text))
}
