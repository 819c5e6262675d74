import { randomUUID } from 'node:crypto'

/**
 * A number for a request that nobody can guess, and that sorts by time (UUID, version 7): the ledger's index of them then
 * grows at its end, instead of being rewritten all over with every commit.
 */
export function requestId(): string {
  const now = Date.now()
  if (now !== moment) {
    moment = now
    const digits = now.toString(16).padStart(12, '0')
    prefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }
  return prefix + randomUUID().slice(15)
}

let moment = 0
let prefix = ''
