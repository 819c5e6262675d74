// AssemblyScript, the source of src/data/store/checksum.wasm.ts: `BANDS_WRITE=1 npx vitest run test/indicators/kernel.test.ts`
// compiles it. `plainXxh64` in src/data/store/checksum.ts says in TypeScript what it answers.
//
// XXH64 by its specification: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md

const PRIME_1: u64 = 0x9e3779b185ebca87
const PRIME_2: u64 = 0xc2b2ae3d27d4eb4f
const PRIME_3: u64 = 0x165667b19e3779f9
const PRIME_4: u64 = 0x85ebca77c2b2ae63
const PRIME_5: u64 = 0x27d4eb2f165667c5

/** The caller fills it; the size is BLOCK_BYTES in checksum.ts. */
const block: usize = memory.data(65_536, 16)

/** The address of the block in memory. */
export function blockAddress(): usize {
  return block
}

/** XXH64 of the first `length` bytes of the block. */
export function xxh64(length: i32, seed: u64): u64 {
  const end = block + length
  let at = block
  let hash = seed + PRIME_5
  if (length >= 32) {
    let a = seed + PRIME_1 + PRIME_2
    let b = seed + PRIME_2
    let c = seed
    let d = seed - PRIME_1
    for (; at + 32 <= end; at += 32) {
      a = addLane(a, load<u64>(at))
      b = addLane(b, load<u64>(at, 8))
      c = addLane(c, load<u64>(at, 16))
      d = addLane(d, load<u64>(at, 24))
    }
    hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18)
    hash = mergeLane(hash, a)
    hash = mergeLane(hash, b)
    hash = mergeLane(hash, c)
    hash = mergeLane(hash, d)
  }
  hash += <u64>length
  for (; at + 8 <= end; at += 8) hash = rotl<u64>(hash ^ addLane(0, load<u64>(at)), 27) * PRIME_1 + PRIME_4
  if (at + 4 <= end) {
    hash = rotl<u64>(hash ^ (<u64>load<u32>(at) * PRIME_1), 23) * PRIME_2 + PRIME_3
    at += 4
  }
  for (; at < end; at++) hash = rotl<u64>(hash ^ (<u64>load<u8>(at) * PRIME_5), 11) * PRIME_1
  hash = (hash ^ (hash >> 33)) * PRIME_2
  hash = (hash ^ (hash >> 29)) * PRIME_3
  return hash ^ (hash >> 32)
}

function addLane(lane: u64, word: u64): u64 {
  return rotl<u64>(lane + word * PRIME_2, 31) * PRIME_1
}

function mergeLane(hash: u64, lane: u64): u64 {
  return (hash ^ addLane(0, lane)) * PRIME_1 + PRIME_4
}
