import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Accounts, type KeyEntry, stateOf } from './accounts.js'

const KEY_PREFIX = 'bands_'

/** A text with everything masked that could be a key or a large part of one. */
export function redacted(text: string): string {
  return text.replace(LIKE_A_KEY, `${KEY_PREFIX}[key]`)
}

/** Longer than an identity and than most names of files, and short enough to leave no hint of the rest. */
const LIKE_A_KEY = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]{20,}`, 'g')

/**
 * A key is `bands_`, eight identifying characters, 32 secret ones (190 bits), and six for the CRC32 of all before.
 * The checksum makes a mistyped or leaked key recognisable without a database. Characters are ASCII digits and
 * letters.
 */
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const IDENTITY = 8
const SECRET = 32
const CHECKSUM = 6
const SHAPE = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${IDENTITY + SECRET + CHECKSUM}}$`)

export interface MadeKey {
  /** The key itself: shown once and never stored. */
  key: string
  identity: string
  /** SHA-256 of the key. */
  hash: Buffer
}

export function makeKey(): MadeKey {
  const identity = randomDigits(IDENTITY)
  const body = KEY_PREFIX + identity + randomDigits(SECRET)
  const key = body + checksumOf(body)
  return { key, identity, hash: hashOf(key) }
}

/** The identity in a text that is formed like a key; null when it is none. */
export function parseKey(text: string): { identity: string } | null {
  if (!SHAPE.test(text)) return null
  const body = text.slice(0, -CHECKSUM)
  if (checksumOf(body) !== text.slice(-CHECKSUM)) return null
  return { identity: text.slice(KEY_PREFIX.length, KEY_PREFIX.length + IDENTITY) }
}

/** Fast on purpose: there is nothing to guess in 190 bits, and it is computed at every request. */
export function hashOf(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The identity that people may type: bare, or with the prefix it is shown under; null for anything else. */
export function parseIdentity(text: string): string | null {
  const bare = text.startsWith(KEY_PREFIX) ? text.slice(KEY_PREFIX.length) : text
  return new RegExp(`^[0-9A-Za-z]{${IDENTITY}}$`).test(bare) ? bare : null
}

/** As a base-62 number, the highest digit first. */
function checksumOf(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < CHECKSUM; i++) {
    text = DIGITS[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** Every digit equally likely: bytes beyond the last whole round of 62 are thrown away. */
function randomDigits(count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of randomBytes(2 * (count - text.length)))
      if (byte < LIMIT && text.length < count) text += DIGITS[byte % 62]
  }
  return text
}

const LIMIT = 256 - (256 % 62)

/**
 * The entry of a key; null when it is malformed, unknown, wrong, expired or revoked. All cases do the same work, so
 * that the response time reveals nothing about existing keys.
 *
 * @param now milliseconds since 1970
 */
export async function authenticate(accounts: Accounts, token: string, now: number): Promise<KeyEntry | null> {
  const found = await accounts.key(parseKey(token)?.identity ?? NOBODY)
  const right = timingSafeEqual(hashOf(token), found?.hash ?? NOBODYS_HASH)
  if (found === null || !right || stateOf(found, now) !== 'active') return null
  const { hash: _hash, ...entry } = found
  return entry
}

/** No key has this identity, and no text this hash. */
const NOBODY = '--------'
const NOBODYS_HASH = randomBytes(32)
