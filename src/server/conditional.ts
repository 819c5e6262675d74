/**
 * Whether an `If-None-Match` names what would be answered: `*`, or a list with its tag. Weak tags count as well, because
 * nothing is changed by the request (RFC 9110, 13.1.2).
 */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag)
}
