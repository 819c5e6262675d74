import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checksum, kernelHasher, plainHasher } from '../../src/data/store/checksum.js'

const HASHERS = [
  ['the compiled module', kernelHasher()!],
  ['plain TypeScript', plainHasher()],
] as const

// Of the xxHash project: the results of `xxhsum -H1`, and of its own test data, for these texts.
it.each(HASHERS)('%s has the hashes of other implementations of XXH64', (_, { block, xxh64 }) => {
  for (const [text, hash] of [
    ['', 'ef46db3751d8e999'],
    ['a', 'd24ec4f1a98c6e5b'],
    ['abc', '44bc2cf5ad770999'],
    ['Nobody inspects the spammish repetition', 'fbcea83c8a378bf1'],
  ] as const) {
    const length = block.write(text)
    expect(BigInt.asUintN(64, xxh64(length, 0n)).toString(16), text).toBe(hash)
  }
})

it('hashes bytes of each length the same by the compiled module and in plain TypeScript', () => {
  const [compiled, plain] = HASHERS.map(([, hasher]) => hasher)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (bytes, seed) => {
      const [one, other] = [compiled!, plain!].map(({ block, xxh64 }) => {
        block.set(bytes)
        return BigInt.asUintN(64, xxh64(bytes.length, seed))
      })
      expect(one).toBe(other)
    }),
  )
})

it('changes with each byte, in blocks of any number', () => {
  for (const length of [1, 65_000, 65_529, 65_530, 65_531, 200_000]) {
    const bytes = Buffer.alloc(length, 7)
    const before = checksum(['name', bytes])
    expect(before).toMatch(/^x[0-9a-f]{31}$/)
    expect(checksum(['name', bytes])).toBe(before)
    for (const at of [0, length >> 1, length - 1]) {
      bytes[at] = 8
      expect(checksum(['name', bytes]), `${length} bytes, byte ${at}`).not.toBe(before)
      bytes[at] = 7
    }
  }
})

it('tells the same bytes in other parts apart, and takes a text as its UTF-8', () => {
  const sums = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', '']].map(checksum)
  expect(new Set(sums).size).toBe(sums.length)
  const long = 'é'.repeat(70_000)
  expect(checksum(['é'])).not.toBe(checksum(['e']))
  expect(checksum([long])).toBe(checksum([long]))
})
