import { wrong } from '../../core/errors.js'
import { objectOf } from '../../core/params/arguments.js'
import type { Exchange } from './requests.js'

/** Bytes of a body: more than the longest list of tickers has. */
const MOST_BYTES = 16_384

/** The JSON object in the body of a request. Throws InvalidParameter for anything else. */
export async function bodyOf(exchange: Exchange): Promise<object> {
  const { request } = exchange
  let text = ''
  request.setEncoding('utf8')
  for await (const part of request) {
    text += part
    if (text.length > MOST_BYTES) throw wrong('body', `The body has at most ${MOST_BYTES} bytes.`)
  }
  exchange.isRead = true
  try {
    return objectOf('body', JSON.parse(text))
  } catch {
    throw wrong('body', 'The body is a JSON object, such as {"tickers":["AAPL"]}.')
  }
}
