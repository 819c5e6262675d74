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
    const bar = counting(claim.at, shelves, asked, t).at(-1)
    const wanted = claim.for ?? 1
    const tests: Truth[] = []
    for (let back = 0; back < wanted; back += 1) {
      const band = bar === undefined || bar - back < 0 ? null : bands[bar - back]!
      tests.push(band === null ? null : claim.in.includes(band) !== claim.isNot)
    }
    return both(tests)
  }
  const tests: Truth[] = []
  for (let back = 0; back < (claim.within ?? 1); back += 1) {
    const own = t - back
    if (own < 0) {
      tests.push(null)
      continue
    }
    const counted = counting(claim.at, shelves, asked, own)
    const before = own === 0 ? counted.slice(0, -1) : counting(claim.at, shelves, asked, own - 1)
    const fresh = counted.filter(bar => !before.includes(bar))
    if (!counted.some(bar => bands[bar] !== null)) tests.push(null)
    else tests.push(fresh.some(bar => isTransition(bands, bar, claim.outOf, claim.into)))
  }
  return either(tests)
}

/** The bars of the subject that count on own bar t, looking `lag` of them earlier where the subject has a ticker. */
function counting(at: Looked, shelves: Shelves, asked: Asked, t: number): number[] {
  const own = shelves[asked.ticker]![asked.timeframe]
  const subject = shelfOf(at, shelves, asked)
  const bars: number[] = []
  subject.dates.forEach((date, bar) => {
    const isOwnField = at.ticker === undefined && at.timeframe === undefined
    const counts = isOwnField ? bar <= t : date <= own.dates[t]! && subject.finals[bar]! <= own.finals[t]!
    if (counts) bars.push(bar)
  })
  return at.ticker === undefined || asked.lag === 0 ? bars : bars.slice(0, -asked.lag)
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
