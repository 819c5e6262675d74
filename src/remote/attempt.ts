import { type Dispatcher, request } from 'undici'
import { type Answer, readDocument } from './answer.js'
import type { Deadline } from './deadline.js'
import { type Failure, failureOf } from './failure.js'

/** One attempt at a question: an answer, or why there is none. */
export type Tried = { answer: Answer } | { failure: Failure }

/** Until the headers of an answer, and between two pieces of its body. */
const SILENCE_MS = 10_000

/** A GET, until its answer is whole or the deadline passes. Never throws. */
export async function attempt(
  url: string,
  headers: Readonly<Record<string, string>>,
  { dispatcher, deadline }: { dispatcher: Dispatcher; deadline: Deadline },
): Promise<Tried> {
  try {
    const { signal } = deadline
    const asked = request(url, { dispatcher, headers, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS, signal })
    // While it connects, undici does not heed the signal.
    const { statusCode: status, headers: told, body } = await deadline.bound(asked)
    const read = body.bytes()
    const good = status === 200
    // What a refusal says besides its status, and when to come back, is welcome, not needed.
    const bytes = await (good ? read : read.catch(() => new Uint8Array()))
    return { answer: { status, headers: told, ...readDocument(told, bytes, { toShow: good }) } }
  } catch (thrown) {
    return { failure: failureOf(thrown) }
  }
}
