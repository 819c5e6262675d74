import { type Transitions, UNDEFINED } from '../model/series.js'
import { type ChangeTest, type Condition, printSubject, type StateTest, type Subject, type Test } from './condition.js'

/** The dates of bars, and the first day on which each is final. */
export interface Bars {
  days: Int32Array
  known: Int32Array
}

/** The bands of a subject by its own bars. */
export interface Column extends Bars {
  bands: readonly string[]
  /** Code of the band of each bar, UNDEFINED without one. */
  codes: Uint8Array
  transitions: Transitions
}

/** The data on which a condition is evaluated. */
export interface ConditionData {
  /** The bars of the query. */
  on: Bars
  /** The bands of a subject. Without ticker and timeframe it has the bars of the query. */
  columnOf: (subject: Subject) => Column
  /** Another ticker is read this number of its own bars earlier (default 0). */
  lag?: number
}

/** Three-valued logic (Kleene 1938) in bits, so that `and` is & and `or` is |, over columns without a branch. */
const FALSE = 0b00
const UNKNOWN = 0b01
const TRUE = 0b11

/** The negation of each value; no value has the bits 0b10. */
const NEGATED = Uint8Array.of(TRUE, UNKNOWN, 0, FALSE)

/** The code of the band `false` or `true` for each of these values. */
const CODE_OF_TRUTH = Uint8Array.of(0, UNDEFINED, 0, 1)

/** The truth of a condition on each bar: 1, 0, or UNDEFINED where unknown. A bar never uses later ones. */
export function truthOf(condition: Condition, data: ConditionData): Uint8Array {
  return new Evaluation(data).codesOf(condition)
}

/** The truth of a test on one bar, for explanations. */
export interface TestReading {
  test: Test
  /** The index of the subject's bar that counted on this one; null without one. */
  bar: number | null
  /** The date of that bar; null without one. */
  day: number | null
  /** The band on that bar; null without one. */
  band: string | null
  /** null: unknown */
  holds: boolean | null
}

/** Each test of a condition with its band and its truth on bar `t`, in the order of `tests`. */
export function testReadings(tests: readonly Test[], data: ConditionData, t: number): TestReading[] {
  const evaluation = new Evaluation(data)
  return tests.map(test => {
    const { column, lastBars } = evaluation.viewOf(test.subject)
    const bar = lastBars === null ? t : lastBars[t]!
    const hasBar = bar >= 0
    const code = hasBar ? column.codes[bar]! : UNDEFINED
    const truthCode = evaluation.codesOf(test)[t]!
    return {
      test,
      bar: hasBar ? bar : null,
      day: hasBar ? column.days[bar]! : null,
      band: code === UNDEFINED ? null : column.bands[code]!,
      holds: truthCode === UNDEFINED ? null : truthCode === CODE_OF_TRUTH[TRUE],
    }
  })
}

/** A subject as seen from the bars of the query. */
interface SubjectView {
  column: Column
  /** For each bar of the query, the subject's last bar that counts; -1 without one. null: the bars of the query. */
  lastBars: Int32Array | null
}

class Evaluation {
  readonly #data: ConditionData
  readonly #length: number
  readonly #views = new Map<string, SubjectView>()

  constructor(data: ConditionData) {
    this.#data = data
    this.#length = data.on.days.length
  }

  /** The truth on each bar of the query: 1, 0, or UNDEFINED where unknown. */
  codesOf(condition: Condition): Uint8Array {
    const truth = this.#evaluate(condition)
    for (let t = 0; t < truth.length; t++) truth[t] = CODE_OF_TRUTH[truth[t]!]!
    return truth
  }

  /** A subject as seen from the bars of the query; each is made once. Only a named ticker is read with the lag. */
  viewOf(subject: Subject): SubjectView {
    const name = printSubject(subject)
    let view = this.#views.get(name)
    if (view === undefined) {
      const { on, columnOf, lag = 0 } = this.#data
      const column = columnOf(subject)
      const hasBarsOfQuery = subject.ticker === null && subject.timeframe === null
      const subjectLag = subject.ticker === null ? 0 : lag
      view = { column, lastBars: hasBarsOfQuery ? null : lastCountingBars(column, on, subjectLag) }
      this.#views.set(name, view)
    }
    return view
  }

  /** FALSE, UNKNOWN or TRUE on each bar of the query. The caller may change the array. */
  #evaluate(condition: Condition): Uint8Array {
    switch (condition.is) {
      case 'state':
        return this.#evaluateState(condition)
      case 'change':
        return this.#evaluateChange(condition)
      case 'not': {
        const truth = this.#evaluate(condition.part)
        for (let t = 0; t < truth.length; t++) truth[t] = NEGATED[truth[t]!]!
        return truth
      }
      default: {
        const [first, ...others] = condition.parts
        const truth = this.#evaluate(first!)
        const join = condition.is === 'and' ? andInto : orInto
        for (const part of others) join(truth, this.#evaluate(part))
        return truth
      }
    }
  }

  /** The truth of `=`, `!=`, `in` or `not in`, on each bar of the query. @param bars how many in a row must meet it */
  #evaluateState({ subject, negated, bands, bars: barsInARow }: StateTest): Uint8Array {
    const { column, lastBars } = this.viewOf(subject)
    const truthOfCode = new Uint8Array(256).fill(negated ? TRUE : FALSE)
    for (const band of bands) truthOfCode[codeOf(column, band)] = negated ? FALSE : TRUE
    truthOfCode[UNDEFINED] = UNKNOWN
    const length = lastBars === null ? this.#length : column.codes.length
    const truth = new Uint8Array(length)
    for (let t = 0; t < length; t++) truth[t] = truthOfCode[column.codes[t]!]!
    const truthOfRow = trueOnAll(truth, barsInARow)
    return lastBars === null ? truthOfRow : alignToQuery(lastBars, truthOfRow)
  }

  /** The truth of `enters` or `leaves`: whether such a change came with a new bar of the subject. */
  #evaluateChange(test: ChangeTest): Uint8Array {
    const { column, lastBars } = this.viewOf(test.subject)
    const { initialBar } = column.transitions
    const changes = countChangesBefore(test, column)
    const truth = new Uint8Array(this.#length).fill(UNKNOWN)
    // On each bar of the query, the subject's bars after `previousLast` up to `last` are new. On the first one only
    // `last` is.
    let previousLast = lastBars === null ? -1 : Math.max(-1, (lastBars[0] ?? 0) - 1)
    for (let t = 0; initialBar >= 0 && t < truth.length; t++) {
      const last = lastBars === null ? t : lastBars[t]!
      if (last >= initialBar) truth[t] = changes[last + 1]! > changes[previousLast + 1]! ? TRUE : FALSE
      previousLast = last
    }
    return trueOnAny(truth, test.within)
  }
}

function andInto(truth: Uint8Array, other: Uint8Array): void {
  for (let t = 0; t < truth.length; t++) truth[t]! &= other[t]!
}

function orInto(truth: Uint8Array, other: Uint8Array): void {
  for (let t = 0; t < truth.length; t++) truth[t]! |= other[t]!
}

/** For each bar, whether `truth` is TRUE on all of the last `count` bars. */
function trueOnAll(truth: Uint8Array, count: number): Uint8Array {
  return combineOverBars(truth, count, FALSE)
}

/** For each bar, whether `truth` is TRUE on at least one of the last `count` bars. */
function trueOnAny(truth: Uint8Array, count: number): Uint8Array {
  return combineOverBars(truth, count, TRUE)
}

/**
 * Combines the truth of the last `count` bars, for each bar: by `and` if FALSE is the deciding value, by `or` if TRUE
 * is. The other value needs all bars known; bars before the first are unknown.
 */
function combineOverBars(truth: Uint8Array, count: number, deciding: typeof FALSE | typeof TRUE): Uint8Array {
  if (count === 1) return truth
  const combined = new Uint8Array(truth.length)
  let lastDeciding = Number.NEGATIVE_INFINITY
  let lastUnknown = -1
  for (let t = 0; t < truth.length; t++) {
    const truthHere = truth[t]!
    if (truthHere === deciding) lastDeciding = t
    else if (truthHere === UNKNOWN) lastUnknown = t
    if (t - lastDeciding < count) combined[t] = deciding
    else if (t - lastUnknown < count) combined[t] = UNKNOWN
    else combined[t] = TRUE - deciding
  }
  return combined
}

/** The truth on the subject's last counting bar, for each bar of the query; UNKNOWN without one. */
function alignToQuery(bars: Int32Array, truth: Uint8Array): Uint8Array {
  const aligned = new Uint8Array(bars.length)
  for (let t = 0; t < aligned.length; t++) aligned[t] = bars[t]! < 0 ? UNKNOWN : truth[bars[t]!]!
  return aligned
}

/**
 * For each bar of the query, the index of a column's last bar that counts on it, less `lag`; -1 without one. A bar
 * counts if it is dated not after the query's bar, and final by the day on which that bar is. `barsCountingOn` does the
 * same for one bar.
 */
function lastCountingBars({ days, known }: Bars, on: Bars, lag: number): Int32Array {
  const last = new Int32Array(on.days.length)
  let count = 0
  for (let t = 0; t < last.length; t++) {
    while (count < days.length && days[count]! <= on.days[t]! && known[count]! <= on.known[t]!) count++
    last[t] = Math.max(-1, count - 1 - lag)
  }
  return last
}

/** For each bar the number of matching changes on earlier bars; one entry more has the number of all of them. */
function countChangesBefore({ entered, left }: ChangeTest, column: Column): Int32Array {
  const { bars, bands, initialBand } = column.transitions
  const mayBeEntered = maskOfBands(entered, column)
  const mayBeLeft = maskOfBands(left, column)
  const changes = new Int32Array(column.codes.length + 1)
  let previousBand = initialBand
  for (let i = 0; i < bars.length; i++) {
    const band = bands[i]!
    if (mayBeEntered[band]! && mayBeLeft[previousBand]!) changes[bars[i]! + 1] = 1
    previousBand = band
  }
  // So far 1 after each matching change; now running totals.
  for (let bar = 0; bar < column.codes.length; bar++) changes[bar + 1]! += changes[bar]!
  return changes
}

/** By code, 1 for each of these bands; null: for every code. */
function maskOfBands(bands: readonly string[] | null, column: Column): Uint8Array {
  const mask = new Uint8Array(256).fill(bands === null ? 1 : 0)
  for (const band of bands ?? []) mask[codeOf(column, band)] = 1
  return mask
}

/** The code of a band; UNDEFINED for a band that the column does not have. */
function codeOf({ bands }: Column, band: string): number {
  const code = bands.indexOf(band)
  return code < 0 ? UNDEFINED : code
}
