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
  /** A subject without ticker and timeframe has the bars of the query. */
  columnOf: (subject: Subject) => Column
  /** Lag in bars of subjects with a ticker. */
  lag?: number
}

/** Three-valued logic (Kleene 1938) in bits, so that `and` is & and `or` is |, over columns without a branch. */
const FALSE = 0b00
const UNKNOWN = 0b01
const TRUE = 0b11

const NOT = Uint8Array.of(TRUE, UNKNOWN, 0, FALSE)

/** The code of the band `false` or `true` for each of these values. */
const CODES = Uint8Array.of(0, UNDEFINED, 0, 1)

/** The truth of a condition on each bar: 1, 0, or UNDEFINED where unknown. A bar never uses later ones. */
export function truthOf(condition: Condition, ground: ConditionData): Uint8Array {
  return new Evaluation(ground).codesOf(condition)
}

/** The truth of a test on one bar, for explanations. */
export interface TestReading {
  test: Test
  /** Index of the subject's bar that counted on this one; -1 without one. */
  bar: number
  /** The date of that bar; null without one. */
  day: number | null
  /** The band on that bar; null without one. */
  band: string | null
  /** null: unknown */
  holds: boolean | null
}

/** Each test of a condition with its band and its truth on bar `t`, in the order of `tests`. */
export function readingsOf(tests: readonly Test[], ground: ConditionData, t: number): TestReading[] {
  const evaluation = new Evaluation(ground)
  return tests.map(test => {
    const { column, bars } = evaluation.sight(test.subject)
    const bar = bars === null ? t : bars[t]!
    const code = bar < 0 ? UNDEFINED : column.codes[bar]!
    const truth = evaluation.codesOf(test)[t]!
    return {
      test,
      bar,
      day: bar < 0 ? null : column.days[bar]!,
      band: code === UNDEFINED ? null : column.bands[code]!,
      holds: truth === UNDEFINED ? null : truth === 1,
    }
  })
}

/** A subject from the view of the query's bars. */
interface Sight {
  column: Column
  /** The subject's last counting bar on each bar, -1 without one; null: the bar itself. */
  bars: Int32Array | null
}

class Evaluation {
  readonly #ground: ConditionData
  readonly #length: number
  readonly #sights = new Map<string, Sight>()

  constructor(ground: ConditionData) {
    this.#ground = ground
    this.#length = ground.on.days.length
  }

  codesOf(condition: Condition): Uint8Array {
    const truth = this.#truth(condition)
    for (let t = 0; t < truth.length; t++) truth[t] = CODES[truth[t]!]!
    return truth
  }

  sight(subject: Subject): Sight {
    const name = printSubject(subject)
    let sight = this.#sights.get(name)
    if (sight === undefined) {
      const { on, columnOf, lag = 0 } = this.#ground
      const column = columnOf(subject)
      const isOwn = subject.ticker === null && subject.timeframe === null
      sight = { column, bars: isOwn ? null : lastCounting(column, on, subject.ticker === null ? 0 : lag) }
      this.#sights.set(name, sight)
    }
    return sight
  }

  /** A copy that the caller may change. */
  #truth(condition: Condition): Uint8Array {
    switch (condition.is) {
      case 'state':
        return this.#state(condition)
      case 'change':
        return this.#change(condition)
      case 'not': {
        const truth = this.#truth(condition.part)
        for (let t = 0; t < truth.length; t++) truth[t] = NOT[truth[t]!]!
        return truth
      }
      default: {
        const [first, ...others] = condition.parts
        const truth = this.#truth(first!)
        const join = condition.is === 'and' ? and : or
        for (const part of others) join(truth, this.#truth(part))
        return truth
      }
    }
  }

  #state({ subject, negated, bands, bars }: StateTest): Uint8Array {
    const sight = this.sight(subject)
    const { column } = sight
    const truthOfCode = new Uint8Array(256).fill(negated ? TRUE : FALSE)
    for (const band of bands) truthOfCode[codeOf(column, band)] = negated ? FALSE : TRUE
    truthOfCode[UNDEFINED] = UNKNOWN
    const length = sight.bars === null ? this.#length : column.codes.length
    const truth = new Uint8Array(length)
    for (let t = 0; t < length; t++) truth[t] = truthOfCode[column.codes[t]!]!
    const lasting = bars === 1 ? truth : overBars(truth, bars, FALSE)
    return sight.bars === null ? lasting : alignedTo(sight.bars, lasting)
  }

  #change(test: ChangeTest): Uint8Array {
    const { column, bars } = this.sight(test.subject)
    const { initialBar } = column.transitions
    const changes = changesUpTo(test, column)
    const truth = new Uint8Array(this.#length).fill(UNKNOWN)
    // On the first bar only the subject's last bar is new.
    let before = bars === null ? -1 : Math.max(-1, (bars[0] ?? 0) - 1)
    for (let t = 0; initialBar >= 0 && t < truth.length; t++) {
      const last = bars === null ? t : bars[t]!
      if (last >= initialBar) truth[t] = changes[last + 1]! > changes[before + 1]! ? TRUE : FALSE
      before = last
    }
    return test.within === 1 ? truth : overBars(truth, test.within, TRUE)
  }
}

function and(truth: Uint8Array, other: Uint8Array): void {
  for (let t = 0; t < truth.length; t++) truth[t]! &= other[t]!
}

function or(truth: Uint8Array, other: Uint8Array): void {
  for (let t = 0; t < truth.length; t++) truth[t]! |= other[t]!
}

/**
 * Joins each bar with the ones before it, `count` in all: `and` where FALSE decides, `or` where TRUE does. A
 * non-deciding result needs all bars known; bars before the first are unknown.
 */
function overBars(truth: Uint8Array, count: number, deciding: typeof FALSE | typeof TRUE): Uint8Array {
  const joint = new Uint8Array(truth.length)
  let decided = Number.NEGATIVE_INFINITY
  let unknown = -1
  for (let t = 0; t < truth.length; t++) {
    const own = truth[t]!
    if (own === deciding) decided = t
    else if (own === UNKNOWN) unknown = t
    joint[t] = t - decided < count ? deciding : t - unknown < count ? UNKNOWN : TRUE - deciding
  }
  return joint
}

/** The value of the last counting bar, for each bar of the query; unknown without one. */
function alignedTo(bars: Int32Array, truth: Uint8Array): Uint8Array {
  const seen = new Uint8Array(bars.length)
  for (let t = 0; t < seen.length; t++) seen[t] = bars[t]! < 0 ? UNKNOWN : truth[bars[t]!]!
  return seen
}

/**
 * The last counting bar of a column on each bar, `lag` bars earlier. It is dated not after the bar, and final by the
 * day on which the bar is (`barsCountingOn`, here for all bars in one pass); -1 without one.
 */
function lastCounting({ days, known }: Bars, on: Bars, lag: number): Int32Array {
  const last = new Int32Array(on.days.length)
  let count = 0
  for (let t = 0; t < last.length; t++) {
    while (count < days.length && days[count]! <= on.days[t]! && known[count]! <= on.known[t]!) count++
    last[t] = Math.max(-1, count - 1 - lag)
  }
  return last
}

/** Number of matching changes on the bars before each bar, and at last on all bars. */
function changesUpTo({ entered, left }: ChangeTest, column: Column): Int32Array {
  const { bars, bands, initialBand } = column.transitions
  const isEntered = isAmong(entered, column)
  const isLeft = isAmong(left, column)
  const changes = new Int32Array(column.codes.length + 1)
  let before = initialBand
  for (let i = 0; i < bars.length; i++) {
    const band = bands[i]!
    if (isEntered[band]! && isLeft[before]!) changes[bars[i]! + 1] = 1
    before = band
  }
  for (let b = 0; b < column.codes.length; b++) changes[b + 1]! += changes[b]!
  return changes
}

/** 1 for the code of each of these bands. */
function isAmong(bands: readonly string[] | null, column: Column): Uint8Array {
  const among = new Uint8Array(256).fill(bands === null ? 1 : 0)
  for (const band of bands ?? []) among[codeOf(column, band)] = 1
  return among
}

/** A band that the column does not know is on none of its bars. */
function codeOf({ bands }: Column, band: string): number {
  const code = bands.indexOf(band)
  return code < 0 ? UNDEFINED : code
}
