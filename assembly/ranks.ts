// AssemblyScript, the source of src/core/indicators/ranks.wasm.ts: `BANDS_WRITE=1 npx vitest run test/indicators/kernel.test.ts`
// compiles it. `plainRanks` in src/core/indicators/rank.ts says in TypeScript what it answers.
//
// All columns of a call lie one after the other behind the module's own data; `load` and `store` are told addresses.

/** Bits of a digit; a key has two. */
const DIGIT: i32 = 11
const DIGITS: i32 = 1 << DIGIT
/** Bytes of one digit's counts. */
const COUNTS: i32 = DIGITS << 2

/** The values; filled by the caller. f64 an index */
let column: usize = 0
/** The answer: 2 · less + equal, -1 where undefined, and among how many. i32 an index each */
let ranks: usize = 0
let sizes: usize = 0
/** Indices of the defined values in the lower halves, digits of their keys in the upper ones. u64 each, and a second room. */
let order: usize = 0
let spare: usize = 0
/** The defined values in ascending order. f64 each */
let sorted: usize = 0
/** Where each digit's next key goes. u32 each */
let starts: usize = 0
/** Of each index: its place in the order (-1: undefined), the first place that counts as equal, the first beyond. 3 × i32 of 16 bytes */
let places: usize = 0
/** Which places are in the subset, a bit each. u64 words */
let present: usize = 0
/** How many are in the subset before each of these words. i32 a word */
let before: usize = 0
/** So many zeros as there are words, then as many -1: from the right begin, what a word's bit adds to `before`, negated. */
let steps: usize = 0

/** Lays columns of a length out in memory and answers with the address of the values; ranks and sizes follow them. 0: no room. */
export function reserve(length: i32): usize {
  const words = (length >> 6) + 1
  column = (__heap_base + 15) & ~15
  ranks = column + (length << 3)
  sizes = ranks + (length << 2)
  order = sizes + (length << 2)
  spare = order + (length << 3)
  sorted = spare + (length << 3)
  places = sorted + (length << 3)
  starts = places + (length << 4)
  present = starts + 2 * COUNTS
  before = present + (words << 3)
  steps = before + (words << 2) + 16
  const end = steps + (words << 3) + 32
  const missing = <i32>((end + 0xffff) >> 16) - memory.size()
  if (missing > 0 && memory.grow(missing) < 0) return 0
  return column
}

/**
 * Ranks each value among the defined ones of the `history` bars that end `lag` bars before it; values that differ by
 * `tolerance` are equal. Undefined where the value is, and where fewer than `least` of those are defined.
 */
export function rank(length: i32, lag: i32, history: i32, least: i32, tolerance: f64): void {
  const count = collect(length)
  putInOrder(count)
  locate(count, tolerance)
  slide(length, count, lag, history, least)
}

/** Puts values in ascending order and answers with their address; with 0 where one is undefined. */
export function ascending(length: i32): usize {
  if (collect(length) < length) return 0
  putInOrder(length)
  return sorted
}

function putInOrder(count: i32): void {
  sortBy(64 - 2 * DIGIT, count)
  if (settle(count)) return
  for (let shift = 64 - 6 * DIGIT; shift < 64; shift += 2 * DIGIT) sortBy(max(shift, 0), count)
  settle(count)
}

function collect(length: i32): i32 {
  let count = 0
  for (let i = 0; i < length; i++) {
    store<i32>(places + (i << 4), -1)
    if (Number.isNaN(load<f64>(column + (i << 3)))) continue
    store<u64>(order + (count << 3), i)
    count++
  }
  return count
}

/**
 * Orders by the 22 bits from `shift` on, stable, by radix. As the bits of a number grow with it when the sign is turned,
 * and all bits of a negative one (Herf, Radix tricks, 2001), the uppermost 22 order but what agrees to a thousandth.
 */
function sortBy(shift: i32, count: i32): void {
  memory.fill(starts, 0, 2 * COUNTS)
  const end = order + (count << 3)
  for (let at = order; at < end; at += 8) {
    const index = load<u32>(at)
    const bits = load<u64>(column + (index << 3))
    const key = <u32>((bits ^ (<u64>(<i64>bits >> 63) | 0x8000000000000000)) >> shift)
    store<u32>(at, key, 4)
    next(key, 0)
    next(key, 1)
  }
  let low: u32 = 0
  let high: u32 = 0
  for (let at = starts; at < starts + COUNTS; at += 4) {
    const lows = load<u32>(at)
    const highs = load<u32>(at, COUNTS)
    store<u32>(at, low)
    store<u32>(at, high, COUNTS)
    low += lows
    high += highs
  }
  distribute(0, count)
  distribute(1, count)
}

function distribute(digit: i32, count: i32): void {
  const end = order + (count << 3)
  for (let at = order; at < end; at += 8) {
    const entry = load<u64>(at)
    store<u64>(spare + (next(<u32>(entry >> 32), digit) << 3), entry)
  }
  const swap = order
  order = spare
  spare = swap
}

/** What stands at a key's digit, which is then one more. */
function next(key: u32, digit: i32): u32 {
  const at = starts + digit * COUNTS + (((key >> (digit * DIGIT)) & (DIGITS - 1)) << 2)
  const value = load<u32>(at)
  store<u32>(at, value + 1)
  return value
}

/** Puts what is almost in order in order, and the values with it. False: it is not almost in order. */
function settle(count: i32): bool {
  let moves = 0
  for (let i = 0; i < count; i++) {
    const index = load<u32>(order + (i << 3))
    const value = load<f64>(column + (index << 3))
    let place = i
    while (place > 0 && load<f64>(sorted + ((place - 1) << 3)) > value) {
      store<f64>(sorted + (place << 3), load<f64>(sorted + ((place - 1) << 3)))
      store<u32>(order + (place << 3), load<u32>(order + ((place - 1) << 3)))
      place--
      moves++
    }
    store<f64>(sorted + (place << 3), value)
    store<u32>(order + (place << 3), index)
    if (moves > count << 3) return false
  }
  return true
}

/** Finds each value's place, and which run of places counts as equal to it; both ends move only forward. */
function locate(count: i32, tolerance: f64): void {
  let first = 0
  let beyond = 0
  for (let place = 0; place < count; place++) {
    const value = load<f64>(sorted + (place << 3))
    const lowest = value - tolerance
    const highest = value + tolerance
    while (load<f64>(sorted + (first << 3)) < lowest) first++
    while (beyond < count && load<f64>(sorted + (beyond << 3)) <= highest) beyond++
    const at = places + (load<u32>(order + (place << 3)) << 4)
    store<i32>(at, place)
    store<i32>(at, first, 4)
    store<i32>(at, beyond, 8)
  }
}

/** Moves the subset over the bars: a bit enters, a bit leaves, and two counts give a rank. */
function slide(length: i32, count: i32, lag: i32, history: i32, least: i32): void {
  const words = (count >> 6) + 1
  const vectors = (words + 3) & ~3
  memory.fill(present, 0, words << 3)
  memory.fill(before, 0, vectors << 2)
  memory.fill(steps, 0, words << 2)
  memory.fill(steps + (words << 2), 0xff, vectors << 2)
  const end = before + (vectors << 2)
  let size = 0
  for (let t = 0; t < length; t++) {
    const entering = t - lag
    const entered = entering >= 0 ? load<i32>(places + (entering << 4)) : -1
    const left = entering >= history ? load<i32>(places + ((entering - history) << 4)) : -1
    if (left >= 0) {
      let step = toggled(left, words)
      for (let at = before; at < end; at += 16, step += 16) v128.store(at, i32x4.add(v128.load(at), v128.load(step)))
      size--
    }
    if (entered >= 0) {
      let step = toggled(entered, words)
      for (let at = before; at < end; at += 16, step += 16) v128.store(at, i32x4.sub(v128.load(at), v128.load(step)))
      size++
    }
    const at = places + (t << 4)
    const defined = load<i32>(at) >= 0
    store<i32>(sizes + (t << 2), defined ? size : 0)
    store<i32>(ranks + (t << 2), defined && size >= least ? below(load<i32>(at, 4)) + below(load<i32>(at, 8)) : -1)
  }
}

/** Turns the bit of a place; answers with what that adds to `before`, negated: nothing up to its own word, -1 beyond. */
function toggled(place: i32, words: i32): usize {
  const word = place >> 6
  const at = present + (word << 3)
  store<u64>(at, load<u64>(at) ^ ((<u64>1) << (place & 63)))
  return steps + ((words - 1 - word) << 2)
}

/** How many of the subset stand before a place. */
function below(place: i32): i32 {
  const word = place >> 6
  const bits = load<u64>(present + (word << 3)) & (((<u64>1) << (place & 63)) - 1)
  return load<i32>(before + (word << 2)) + <i32>popcnt(bits)
}
