import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Accounts, type KeyEntry, keyState } from './accounts.js'

const KEY_PREFIX = 'bands_'

/** Replaces everything in a text that could be a key, or a large part of one. */
export function maskKeys(text: string): string {
  return text.replace(LONG_PART_OF_KEY, `${KEY_PREFIX}[key]`)
}

/** Longer than an identity and most file names, and short enough that the rest of a key cannot be guessed. */
const LONG_PART_OF_KEY = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]{20,}`, 'g')

/**
 * A key is `bands_`, eight identifying characters, 32 secret ones (190 bits), and six for the CRC32 of all before.
 * The checksum makes a mistyped or leaked key recognisable without a database. Characters are ASCII digits and
 * letters.
 */
const BASE62_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const IDENTITY_LENGTH = 8
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const KEY_PATTERN = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${IDENTITY_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

export interface GeneratedKey {
  /** The key itself: shown once and never stored. */
  key: string
  identity: string
  /** SHA-256 of the key. */
  hash: Buffer
}

export function generateKey(): GeneratedKey {
  const identity = randomBase62(IDENTITY_LENGTH)
  const body = KEY_PREFIX + identity + randomBase62(SECRET_LENGTH)
  const key = body + crc32InBase62(body)
  return { key, identity, hash: hashKey(key) }
}

/** The identity in a key; null if the text is not formed like a key, or its checksum is wrong. */
export function parseKey(text: string): { identity: string } | null {
  if (!KEY_PATTERN.test(text)) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (crc32InBase62(body) !== text.slice(-CHECKSUM_LENGTH)) return null
  return { identity: text.slice(KEY_PREFIX.length, KEY_PREFIX.length + IDENTITY_LENGTH) }
}

/** SHA-256 of a key. A fast hash suffices: 190 random bits cannot be guessed. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The identity in a text that a person typed, with or without the prefix `bands_`; null for any other text. */
export function parseIdentity(text: string): string | null {
  const identity = text.startsWith(KEY_PREFIX) ? text.slice(KEY_PREFIX.length) : text
  return new RegExp(`^[0-9A-Za-z]{${IDENTITY_LENGTH}}$`).test(identity) ? identity : null
}

/** The CRC32 of a text as six digits of base 62, the highest first. */
function crc32InBase62(body: string): string {
  let remaining = crc32(body)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62_DIGITS[remaining % 62] + text
    remaining = Math.floor(remaining / 62)
  }
  return text
}

/** Random digits of base 62, each equally likely. */
function randomBase62(count: number): string {
  let text = ''
  while (text.length < count) {
    // Twice as many bytes as digits, because some are not used.
    for (const byte of randomBytes(2 * (count - text.length)))
      if (byte < FIRST_UNUSED_BYTE && text.length < count) text += BASE62_DIGITS[byte % 62]
  }
  return text
}

/** Bytes from this one on are not used: their remainders of 62 would make the first digits more likely. */
const FIRST_UNUSED_BYTE = 256 - (256 % 62)

/**
 * The stored entry of a key; null if the key is malformed, unknown, wrong, expired or revoked. All cases do the same
 * work, so that the response time reveals nothing about existing keys.
 * @param token the key that the caller sent
 * @param now milliseconds since 1970
 */
export async function authenticate(accounts: Accounts, token: string, now: number): Promise<KeyEntry | null> {
  const identity = parseKey(token)?.identity ?? UNUSED_IDENTITY
  const stored = await accounts.key(identity)
  const isSameHash = timingSafeEqual(hashKey(token), stored?.hash ?? UNMATCHED_HASH)
  if (stored === null || !isSameHash || keyState(stored, now) !== 'active') return null
  const { hash: _hash, ...entry } = stored
  return entry
}

/** No key has this identity, and no text this hash. */
const UNUSED_IDENTITY = '--------'
const UNMATCHED_HASH = randomBytes(32)
