import { InvalidParameter, quoted } from '../errors.js'

/** A name of an account or a key as it is kept. Throws InvalidParameter naming the parameter. */
export function nameValue(param: string, text: string): string {
  const name = text.normalize('NFC')
  const length = [...name].length
  // Signs that are not seen, or that turn the text around them, would let two names look alike.
  if (length >= 1 && length <= LONGEST && name.trim() === name && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return name
  const allowed = `a name of 1 to ${LONGEST} printable characters, without blanks at its ends`
  throw new InvalidParameter(`${param} ${quoted(text)} is not ${allowed}.`, { param, value: text, allowed })
}

const LONGEST = 64
