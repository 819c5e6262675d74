import { InvalidParameter } from '../errors.js'
import { IDEMPOTENCY_KEY } from '../wire/headers.js'
import { headersNamed } from './headers.js'
import { sha256 } from './sha256.js'

/** SHA-256 of the name that the caller gave to the request; null without one. Throws InvalidParameter. */
export function requestName(rawHeaders: readonly string[]): Buffer | null {
  const [name, another] = headersNamed(IDEMPOTENCY_KEY.toLowerCase(), rawHeaders)
  if (name === undefined) return null
  if (another !== undefined)
    throw new InvalidParameter(`${IDEMPOTENCY_KEY} is given twice.`, { param: IDEMPOTENCY_KEY })
  if (/^[!-~]{1,255}$/.test(name)) return sha256(name)
  const allowed = '1 to 255 visible ASCII characters'
  throw new InvalidParameter(`${IDEMPOTENCY_KEY} is not ${allowed}.`, { param: IDEMPOTENCY_KEY, allowed })
}

/** The same name was given to another question before. */
export function nameTaken(): InvalidParameter {
  const message = `${IDEMPOTENCY_KEY} was given to another question within 48 hours; choose another one.`
  return new InvalidParameter(message, { param: IDEMPOTENCY_KEY })
}
