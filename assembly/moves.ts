// AssemblyScript, the source of src/core/statistics/moves.wasm.ts: `BANDS_WRITE=1 npx vitest run test/indicators/kernel.test.ts`
// compiles it. `plainSums` in src/core/statistics/moves.ts says in TypeScript what it answers.

/** Closes of all bars; filled by the caller. f64 a bar */
let closes: usize = 0
/** The answer. f64 a point of the path */
let sums: usize = 0
/** Bars that the path is counted from, ascending; filled by the caller. i32 each */
let bars: usize = 0

/** Lays the columns out in memory and answers with the address of the closes; sums and bars follow them. 0: no room. */
export function reserve(length: i32, points: i32, count: i32): usize {
  closes = (__heap_base + 15) & ~15
  sums = closes + (length << 3)
  bars = sums + (points << 3)
  const missing = <i32>((bars + (count << 2) + 0xffff) >> 16) - memory.size()
  if (missing > 0 && memory.grow(missing) < 0) return 0
  return closes
}

/** Sums close / close of the bar - 1 over some bars, for each point of the path from `from` on. */
export function sum(length: i32, points: i32, count: i32, from: i32): void {
  memory.fill(sums, 0, points << 3)
  const one = f64x2.splat(1)
  for (let i = 0; i < count; i++) {
    const bar = load<i32>(bars + (i << 2))
    const base = load<f64>(closes + (bar << 3))
    const bases = f64x2.splat(base)
    const first = max(from, -bar)
    const end = min(from + points, length - bar)
    let at = closes + ((bar + first) << 3)
    let to = sums + ((first - from) << 3)
    let by = first
    for (; by + 1 < end; by += 2, at += 16, to += 16)
      v128.store(to, f64x2.add(v128.load(to), f64x2.sub(f64x2.div(v128.load(at), bases), one)))
    if (by < end) store<f64>(to, load<f64>(to) + (load<f64>(at) / base - 1))
  }
}
