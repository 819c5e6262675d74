import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { InvalidParameter } from '../../src/core/errors.js'
import { parseName } from '../../src/server/accounts/accounts.js'
import { generateKey, hashKey, maskKeys, parseIdentity, parseKey } from '../../src/server/accounts/key.js'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * Bodies chosen by hand; the last six characters were computed by a program of its own in another language (bit by bit
 * with the reflected polynomial 0xEDB88320, which gives the published check value cbf43926 for "123456789"; the result
 * in digits to the base 62). The last one was searched for a checksum that begins with zeros.
 */
const GOLDEN = [
  'bands_00000000000000000000000000000000000000000dcy6Z',
  'bands_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz0OUeSq',
  'bands_4fQz81LkAbCdEfGhIjKlMnOpQrStUvWxYz0123451TTnY3',
  'bands_Ada18152NoteG1843BernoulliNumbersByEngin14Z1KM',
  'bands_4fQz81Lk0000000000000000000000000000003700x0Ib',
]

describe('a key', () => {
  it.each(GOLDEN)('is one: %s', key => {
    expect(parseKey(key)).toEqual({ identity: key.slice(6, 14) })
  })

  it('is refused with any one character changed, missing, added, or two neighbours swapped', () => {
    for (const key of GOLDEN) {
      for (let i = 0; i < key.length; i++) {
        const before = key.slice(0, i)
        const at = key[i]!
        const after = key.slice(i + 1)
        for (const other of [...DIGITS, '_', '-', ' ', '\0', 'é'])
          if (other !== at) expect(parseKey(before + other + after), `${i} ${other}`).toBeNull()
        expect(parseKey(before + after)).toBeNull()
        expect(parseKey(`${before}${at}${at}${after}`)).toBeNull()
        const swapped = before + (after[0] ?? '') + at + after.slice(1)
        if (swapped !== key) expect(parseKey(swapped), swapped).toBeNull()
      }
    }
  })

  it.each(['', 'bands_', 'Bearer', `${GOLDEN[0]}\n`, ` ${GOLDEN[0]}`, GOLDEN[0]!.toUpperCase(), 'x'.repeat(100_000)])(
    'is not %j',
    text => {
      expect(parseKey(text)).toBeNull()
    },
  )

  it('is made in its shape, another each time, with its identity and SHA-256', () => {
    const made = Array.from({ length: 1_000 }, generateKey)
    for (const { key, identity, hash } of made) {
      expect(key).toMatch(/^bands_[0-9A-Za-z]{46}$/)
      expect(parseKey(key)).toEqual({ identity })
      expect(hash).toEqual(createHash('sha256').update(key, 'latin1').digest())
      expect(hashKey(key)).toEqual(hash)
    }
    expect(new Set(made.map(({ identity }) => identity)).size).toBe(made.length)
  })

  it('has every digit equally often', () => {
    const counts = new Map<string, number>()
    let total = 0
    for (let i = 0; i < 5_000; i++) {
      for (const digit of generateKey().key.slice(6, 46)) {
        counts.set(digit, (counts.get(digit) ?? 0) + 1)
        total += 1
      }
    }
    const expected = total / 62
    const chiSquared = [...DIGITS].reduce(
      (sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
      0,
    )
    // 61 degrees of freedom: above 150 once in a hundred million runs. Bytes modulo 62 would give about 1,300.
    expect(chiSquared).toBeLessThan(150)
  })

  it('is blotted out of a text, whole or cut, and its identity stays', () => {
    for (const key of GOLDEN) {
      expect(maskKeys(`keys revoke ${key} --json`)).toBe('keys revoke bands_[key] --json')
      expect(maskKeys(`"${key.slice(0, 40)}…"`)).toBe('"bands_[key]…"')
      expect(maskKeys(key.slice(0, 14))).toBe(key.slice(0, 14))
    }
  })

  it('is named by its identity, bare or with what it is shown under, and by nothing else', () => {
    expect(parseIdentity('4fQz81Lk')).toBe('4fQz81Lk')
    expect(parseIdentity('bands_4fQz81Lk')).toBe('4fQz81Lk')
    for (const text of ['', '4fQz81L', '4fQz81Lkk', 'bands_', '4fQz81L\n', 'bands_bands_4fQz81Lk', ...GOLDEN])
      expect(parseIdentity(text), text).toBeNull()
  })
})

describe('a name', () => {
  it.each(['a', 'Zoë & Söhne', '東京', '🂡', 'x'.repeat(64), '🂡'.repeat(64)])('may be %s', name => {
    expect(parseName('name', name)).toBe(name)
  })

  it('is kept in one way of writing its accents', () => {
    expect(parseName('name', 'Zoe\u0308')).toBe('Zoë')
  })

  it.each(['', ' ', ' a', 'a ', 'a\nb', 'a\0', 'a\u202eb', 'a\u200bb', 'a\u2028b', 'x'.repeat(65), '\ud800'])(
    'cannot be %j',
    name => {
      expect(() => parseName('name', name)).toThrow(InvalidParameter)
    },
  )
})
