import { InvalidParameter, quoted } from '../errors.js'

/**
 * The parameters of a URL's query (without its question mark), exactly as they were sent: nothing is coerced, dropped or
 * merged. Throws InvalidParameter for one that is repeated, or that is no UTF-8 once its percent signs are decoded.
 */
export function parametersOf(search: string): Record<string, string> {
  // Without a prototype, so that a parameter may be called __proto__ and be refused like any other.
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const part of search.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decoded(at < 0 ? part : part.slice(0, at), null)
    const value = at < 0 ? '' : decoded(part.slice(at + 1), name)
    if (name in found) throw new InvalidParameter(`${quoted(name)} is given twice.`, { param: name, value })
    found[name] = value
  }
  return found
}

function decoded(text: string, param: string | null): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const whose = param === null ? 'a parameter name' : `the value of ${quoted(param)}`
    throw new InvalidParameter(`${whose}, ${quoted(text)}, is not UTF-8 in percent-encoding.`, {
      param: param ?? text,
      value: text,
      allowed: 'UTF-8 in percent-encoding',
    })
  }
}
