import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Names and values in turn: node sends them faster than an object, which would have to be put together first. */
export type HeaderList = readonly string[]

export interface OutgoingAnswer {
  status: number
  headers: HeaderList
  body: Buffer | string
  /** Encoded forms of a body that is sent repeatedly. */
  encodedBodies?: EncodedBodies | undefined
}

/** Shorter answers are not compressed: they are a single packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024

const ENCODERS = {
  // Higher levels take several times as long for a few per cent.
  br: (body: Buffer | string) => brotliAsync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer | string) => gzipAsync(body),
} as const
type Coding = keyof typeof ENCODERS

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify<Buffer | string, Buffer>(gzip)

/** A body and its compressed forms, each made when it is first needed. */
export class EncodedBodies {
  /** Bytes of the body as it is. */
  readonly length: number
  readonly #body: Buffer | string
  readonly #onEncoded: (bytes: number) => void
  readonly #bodies = new Map<Coding, Promise<Buffer>>()

  /** @param onEncoded called with the bytes of each new form */
  constructor(body: Buffer | string, onEncoded: (bytes: number) => void = () => {}) {
    this.length = Buffer.byteLength(body)
    this.#body = body
    this.#onEncoded = onEncoded
  }

  /** The compressed body. The first caller starts the compression; if it fails, the next caller tries again. */
  encodedAs(coding: Coding): Promise<Buffer> {
    let body = this.#bodies.get(coding)
    if (body === undefined) {
      body = ENCODERS[coding](this.#body)
      this.#bodies.set(coding, body)
      body.then(
        ({ length }) => this.#onEncoded(length),
        () => this.#bodies.delete(coding),
      )
    }
    return body
  }
}

export function lengthOf({ body, encodedBodies }: OutgoingAnswer): number {
  return encodedBodies?.length ?? Buffer.byteLength(body)
}

/** The answer to send: a long one is compressed if the caller accepts that. @param accepted its `Accept-Encoding` */
export function encodeAnswer(
  answer: OutgoingAnswer,
  accepted: string | undefined,
): OutgoingAnswer | Promise<OutgoingAnswer> {
  if (lengthOf(answer) < MIN_COMPRESSED_BYTES) return answer
  const coding = accepted === undefined ? null : codingOf(accepted)
  const { status, body, encodedBodies } = answer
  const headers = [...answer.headers, 'Vary', 'Accept-Encoding']
  return coding === null ? { status, headers, body, encodedBodies } : compressAnswer(answer, headers, coding)
}

/** The answer with its body compressed. @param headers of the answer */
async function compressAnswer(
  { status, body, encodedBodies }: OutgoingAnswer,
  headers: HeaderList,
  coding: Coding,
): Promise<OutgoingAnswer> {
  const bytes = await (encodedBodies ?? new EncodedBodies(body)).encodedAs(coding)
  return { status, headers: [...withWeakTag(headers), 'Content-Encoding', coding], body: bytes }
}

/** The coding that an `Accept-Encoding` prefers, the denser of equals; null: none supported. */
export function codingOf(accepted: string): Coding | null {
  const weights = new Map(accepted.toLowerCase().split(',').map(parseWeight))
  const br = weights.get('br') ?? 0
  const gzip = weights.get('gzip') ?? 0
  if (br > 0 && br >= gzip) return 'br'
  return gzip > 0 ? 'gzip' : null
}

/** `gzip;q=0.5` → gzip and 0.5; the weight is 1 by default. */
function parseWeight(part: string): [string, number] {
  const [name = '', ...parameters] = part.split(';').map(text => text.trim())
  const weight = parameters.find(text => text.startsWith('q='))?.slice(2)
  return [name, weight === undefined ? 1 : Number(weight)]
}

/** Makes the ETag weak: another encoding may not have the same strong tag (RFC 9110, 8.8.1). */
function withWeakTag(headers: HeaderList): string[] {
  return headers.map((text, i) => (headers[i - 1] === 'ETag' && i % 2 === 1 ? `W/${text}` : text))
}
