// AssemblyScript, the source of src/statistics/shifts.wasm.ts: `BANDS_WRITE=1 npx vitest run test/indicators/kernel.test.ts`
// compiles it. `PLAIN` in src/statistics/studentised-shift.ts says in TypeScript what it answers, to the last bit: shifts
// stand side by side in vectors, and each adds up in the same order as there.

/** Makes room for so many bytes behind the module's own data, and answers with their address; 0 where there is none. */
export function room(bytes: usize): usize {
  const base = (__heap_base + 15) & ~15
  const missing = <i32>((base + bytes + 0xffff) >> 16) - memory.size()
  if (missing > 0 && memory.grow(missing) < 0) return 0
  return base
}

/** By eight shifts, then by day, then by shift: the sum of what the events of the day land on, beside what was there for 1. */
export function addLandings(
  rows: usize,
  starts: usize,
  ends: usize,
  first: usize,
  days: usize,
  dayCount: i32,
  calendar: i32,
  shifts: usize,
  shiftCount: i32,
  totals: usize,
  more: bool,
): void {
  let from = starts
  for (let i = 0; i < dayCount; i++) {
    const day = load<i32>(days + (i << 2))
    const end = starts + (load<i32>(ends + (i << 2)) << 2)
    const begin = load<f64>(first + (i << 3))
    for (let shift = 0; shift < shiftCount; shift += 8) {
      const own = shifts + (shift << 2)
      const place = wrapped(day + load<i32>(own), calendar)
      const to = totals + ((shift * dayCount + (i << 3)) << 3)
      if (wrapped(day + load<i32>(own, 28), calendar) - place === 7)
        abreast(rows + (place << 3), from, end, begin, more, to)
      else {
        apart(rows, from, end, begin, more, day, calendar, own, to)
        apart(rows, from, end, begin, more, day, calendar, own + 16, to + 32)
      }
    }
    from = end
  }
}

function wrapped(place: i32, calendar: i32): i32 {
  return place < calendar ? place : place - calendar
}

/** Eight shifts that land on places side by side. */
function abreast(rows: usize, from: usize, end: usize, begin: f64, more: bool, to: usize): void {
  let a = f64x2.splat(begin)
  let b = a
  let c = a
  let d = a
  if (more) {
    a = v128.load(to)
    b = v128.load(to, 16)
    c = v128.load(to, 32)
    d = v128.load(to, 48)
  }
  for (let event = from; event < end; event += 4) {
    const at = rows + (load<i32>(event) << 3)
    a = f64x2.add(a, v128.load(at))
    b = f64x2.add(b, v128.load(at, 16))
    c = f64x2.add(c, v128.load(at, 32))
    d = f64x2.add(d, v128.load(at, 48))
  }
  v128.store(to, a)
  v128.store(to, b, 16)
  v128.store(to, c, 32)
  v128.store(to, d, 48)
}

/** Four shifts that land anywhere. */
function apart(
  rows: usize,
  from: usize,
  end: usize,
  begin: f64,
  more: bool,
  day: i32,
  calendar: i32,
  shifts: usize,
  to: usize,
): void {
  const rowsA = rows + (wrapped(day + load<i32>(shifts), calendar) << 3)
  const rowsB = rows + (wrapped(day + load<i32>(shifts, 4), calendar) << 3)
  const rowsC = rows + (wrapped(day + load<i32>(shifts, 8), calendar) << 3)
  const rowsD = rows + (wrapped(day + load<i32>(shifts, 12), calendar) << 3)
  let a = more ? load<f64>(to) : begin
  let b = more ? load<f64>(to, 8) : begin
  let c = more ? load<f64>(to, 16) : begin
  let d = more ? load<f64>(to, 24) : begin
  for (let event = from; event < end; event += 4) {
    const start = load<i32>(event) << 3
    a += load<f64>(rowsA + start)
    b += load<f64>(rowsB + start)
    c += load<f64>(rowsC + start)
    d += load<f64>(rowsD + start)
  }
  store<f64>(to, a)
  store<f64>(to, b, 8)
  store<f64>(to, c, 16)
  store<f64>(to, d, 24)
}

/** t of each shift, of sums and counts as they are laid out above; NaN where there is none. The sums are used up. */
export function addTs(
  sums: usize,
  counts: usize,
  dayCount: i32,
  steps: usize,
  lengths: usize,
  horizon: f64,
  nothing: f64,
  shiftCount: i32,
  ts: usize,
): void {
  const size = dayCount << 6
  // Four shifts at a time: two vectors beside each other, their totals in eight more.
  for (let shift = 0; shift < shiftCount; shift += 4) {
    const offset = (shift >> 3) * size + ((shift & 4) << 3)
    fourTs(
      sums + offset,
      counts + offset,
      size,
      steps,
      steps + (dayCount << 3),
      lengths,
      horizon,
      nothing,
      ts + (shift << 3),
    )
  }
}

function fourTs(
  sums: usize,
  counts: usize,
  size: usize,
  steps: usize,
  stepsEnd: usize,
  lengths: usize,
  horizon: f64,
  nothing: f64,
  ts: usize,
): void {
  let sumA = f64x2.splat(0)
  let sumB = sumA
  let nA = sumA
  let nB = sumA
  let squaresA = sumA
  let squaresB = sumA
  for (let at: usize = 0; at < size; at += 64) {
    const a = v128.load(sums + at)
    const b = v128.load(sums + at, 16)
    sumA = f64x2.add(sumA, a)
    sumB = f64x2.add(sumB, b)
    nA = f64x2.add(nA, v128.load(counts + at))
    nB = f64x2.add(nB, v128.load(counts + at, 16))
    squaresA = f64x2.add(squaresA, f64x2.mul(a, a))
    squaresB = f64x2.add(squaresB, f64x2.mul(b, b))
  }
  const meanA = f64x2.div(sumA, nA)
  const meanB = f64x2.div(sumB, nB)
  for (let at: usize = 0; at < size; at += 64) {
    v128.store(sums + at, f64x2.sub(v128.load(sums + at), f64x2.mul(meanA, v128.load(counts + at))))
    v128.store(sums + at, f64x2.sub(v128.load(sums + at, 16), f64x2.mul(meanB, v128.load(counts + at, 16))), 16)
  }
  let insideA = f64x2.splat(0)
  let insideB = insideA
  let varianceA = insideA
  let varianceB = insideA
  for (let step = steps; step < stepsEnd; step += 4, lengths += 8) {
    const which = load<i32>(step)
    const length = f64x2.splat(load<f64>(lengths))
    if (which < 0) {
      const at = sums + (~which << 6)
      insideA = f64x2.sub(insideA, v128.load(at))
      insideB = f64x2.sub(insideB, v128.load(at, 16))
    } else {
      const at = sums + (which << 6)
      insideA = f64x2.add(insideA, v128.load(at))
      insideB = f64x2.add(insideB, v128.load(at, 16))
    }
    varianceA = f64x2.add(varianceA, f64x2.mul(f64x2.mul(length, insideA), insideA))
    varianceB = f64x2.add(varianceB, f64x2.mul(f64x2.mul(length, insideB), insideB))
  }
  v128.store(ts, quotient(sumA, squaresA, f64x2.div(varianceA, f64x2.splat(horizon)), nothing))
  v128.store(ts, quotient(sumB, squaresB, f64x2.div(varianceB, f64x2.splat(horizon)), nothing), 16)
}

/** NaN where the variance is rounding, and where nothing landed. */
function quotient(sum: v128, squares: v128, variance: v128, nothing: f64): v128 {
  const varies = f64x2.gt(variance, f64x2.mul(f64x2.splat(nothing), squares))
  return v128.bitselect(f64x2.div(sum, f64x2.sqrt(variance)), f64x2.splat(NaN), varies)
}
