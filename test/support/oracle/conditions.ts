/** Conditions (section 1 of questions.md) by brute force: every bar looks at all bars of everyone again. */

/** A ticker at one timeframe: of each bar its date, the day on which it is final, and the bands, null where undefined. */
export interface Shelf {
  dates: string[]
  finals: string[]
  bands: Record<string, (string | null)[]>
}

export type Timeframe = 'daily' | 'weekly'

/** Ticker → timeframe → what an export of its series shows. */
export type Shelves = Record<string, Record<Timeframe, Shelf>>

export interface Looked {
  ticker?: string
  field: string
  timeframe?: Timeframe
}

/** A condition as it is meant, whatever it looks like as a text. */
export type Claim =
  | { all: Claim[] }
  | { any: Claim[] }
  | { no: Claim }
  | { at: Looked; in: string[]; isNot: boolean; for?: number }
  /** null: any band */
  | { at: Looked; into: string[] | null; outOf: string[] | null; within?: number }

/** Who is asked about, and with which lag. */
export interface Asked {
  ticker: string
  timeframe: Timeframe
  lag: number
}

/** null is unknown. */
export type Truth = boolean | null

export function truth(claim: Claim, shelves: Shelves, asked: Asked, t: number): Truth {
  if ('all' in claim) return both(claim.all.map(part => truth(part, shelves, asked, t)))
  if ('any' in claim) return either(claim.any.map(part => truth(part, shelves, asked, t)))
  if ('no' in claim) return opposite(truth(claim.no, shelves, asked, t))
  const subject = shelfOf(claim.at, shelves, asked)
  const bands = subject.bands[claim.at.field]!
  if ('in' in claim) {
    const bar = counting(claim.at, shelves, asked)[t]!.bars.at(-1)
    const tests: Truth[] = []
    for (let back = 0; back < (claim.for ?? 1); back += 1) {
      const band = bar === undefined || bar - back < 0 ? null : bands[bar - back]!
      tests.push(band === null ? null : claim.in.includes(band) !== claim.isNot)
      if (bar === undefined || bar - back < 0) break // All before it are unknown, too.
    }
    return both(tests)
  }
  const tests: Truth[] = []
  for (let back = 0; back < (claim.within ?? 1); back += 1) {
    const own = t - back
    if (own < 0) {
      tests.push(null)
      break // All before it are unknown, too.
    }
    const { bars, fresh } = counting(claim.at, shelves, asked)[own]!
    if (!bars.some(bar => bands[bar] !== null)) tests.push(null)
    else tests.push(fresh.some(bar => isTransition(bands, bar, claim.outOf, claim.into)))
  }
  return either(tests)
}

/** On one own bar: the bars of the subject that count, and those of them that did not yet on the own bar before. */
interface Counting {
  bars: number[]
  fresh: number[]
}

/** By the dates of own bars and of the subject's: what counts depends on no band, and every claim asks for it again. */
const COUNTED = new WeakMap<string[], WeakMap<string[], Map<string, Counting[]>>>()

function counting(at: Looked, shelves: Shelves, asked: Asked): Counting[] {
  const own = shelves[asked.ticker]![asked.timeframe]
  const subject = shelfOf(at, shelves, asked)
  const lag = at.ticker === undefined ? 0 : asked.lag
  const isOwnField = at.ticker === undefined && at.timeframe === undefined
  const ofOwn = COUNTED.get(own.dates) ?? new WeakMap<string[], Map<string, Counting[]>>()
  const ofBoth = ofOwn.get(subject.dates) ?? new Map<string, Counting[]>()
  const key = `${isOwnField} ${lag}`
  const found = ofBoth.get(key) ?? own.dates.map((_, t) => countingOn(own, subject, t, isOwnField, lag))
  COUNTED.set(own.dates, ofOwn.set(subject.dates, ofBoth.set(key, found)))
  return found
}

function countingOn(own: Shelf, subject: Shelf, t: number, isOwnField: boolean, lag: number): Counting {
  const bars = countingBars(own, subject, t, isOwnField, lag)
  const before = new Set(t === 0 ? bars.slice(0, -1) : countingBars(own, subject, t - 1, isOwnField, lag))
  return { bars, fresh: bars.filter(bar => !before.has(bar)) }
}

/** The bars of the subject that count on own bar t, looking `lag` of them earlier. */
function countingBars(own: Shelf, subject: Shelf, t: number, isOwnField: boolean, lag: number): number[] {
  const bars: number[] = []
  subject.dates.forEach((date, bar) => {
    const counts = isOwnField ? bar <= t : date <= own.dates[t]! && subject.finals[bar]! <= own.finals[t]!
    if (counts) bars.push(bar)
  })
  return lag === 0 ? bars : bars.slice(0, -lag)
}

function shelfOf(at: Looked, shelves: Shelves, asked: Asked): Shelf {
  return shelves[at.ticker ?? asked.ticker]![at.timeframe ?? asked.timeframe]
}

/** Whether the bar has a band that differs from the one in force before it, and both are among those that are looked for. */
function isTransition(bands: (string | null)[], bar: number, outOf: string[] | null, into: string[] | null): boolean {
  const band = bands[bar]!
  const inForce = bands.slice(0, bar).findLast(one => one !== null)
  if (band === null || inForce === undefined || inForce === null || inForce === band) return false
  return (outOf === null || outOf.includes(inForce)) && (into === null || into.includes(band))
}

function both(truths: Truth[]): Truth {
  if (truths.includes(false)) return false
  return truths.includes(null) ? null : true
}

function either(truths: Truth[]): Truth {
  if (truths.includes(true)) return true
  return truths.includes(null) ? null : false
}

function opposite(one: Truth): Truth {
  return one === null ? null : !one
}
