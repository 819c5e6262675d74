import { countBelow, countUpTo, type Day } from '../../core/model/day.js'
import type { Split } from '../../core/model/facts.js'
import { type Adjustment, gapBetween, isJump, jumpBetween, type Series, usualGap } from '../../core/model/series.js'
import { median, sum } from '../../core/statistics/moments.js'
import { PRICES } from '../feeds/names.js'
import type { AcceptedJump } from '../store/store.js'

/** Whether a file's bars of a ticker fit the stored ones: one scale, one instrument. */

/** A day of either series, and its index in each; -1 if it has none. */
interface SeamDay {
  day: Day
  stored: number
  incoming: number
}

/**
 * The days of both series where they meet, in order: from the stored bar before the file's first bar to the one after
 * its last.
 */
function daysAtSeam(stored: Series, incoming: Series): SeamDay[] {
  const all: SeamDay[] = []
  let i = Math.max(0, countBelow(stored.days, incoming.days[0]!) - 1)
  const end = Math.min(stored.days.length, countUpTo(stored.days, incoming.days.at(-1)!) + 1)
  let j = 0
  while (i < end || j < incoming.days.length) {
    const here = i < end ? stored.days[i]! : Number.POSITIVE_INFINITY
    const there = incoming.days[j] ?? Number.POSITIVE_INFINITY
    all.push({ day: Math.min(here, there), stored: here <= there ? i++ : -1, incoming: there <= here ? j++ : -1 })
  }
  return all
}

/** Factor and divisor of prices: exact for a split. */
export interface Scale {
  by: number
  over: number
}

/** Data about a ticker besides its bars. */
export interface SeamContext {
  prices: Adjustment
  splits: readonly Split[]
  /** The accepted jumps. */
  jumps: readonly AcceptedJump[]
}

/** Brings stored bars to the scale of a file. */
export interface Rescaling {
  scale: Scale
  /** Whether shares change as well, not only prices: volumes are divided by it. */
  shares: boolean
  /** The first stored day that is already on the file's scale (default: none). */
  before?: Day
}

/** Why a file's bars and the stored ones do not form one series. */
export type SeamMismatch =
  | (Rescaling & {
      /** `split`: closes side by side; `factor`: closes of the same days. */
      reason: 'split' | 'factor'
      /** The jumps that would remain if they were stored unchanged. */
      jumps: AcceptedJump[]
      /** How many closes of the same days differ by it. */
      common: number
      /** The split that is stored of that day. */
      split?: Split
    })
  | { reason: 'another_instrument'; differing: number; common: number }

/** Not refused, but reported: an odd first bar after a seam. */
export interface SeamWarning {
  kind: 'gap' | 'jump'
  day: Day
  detail: string
}

/** Checks whether a file's bars of a ticker fit the stored ones. */
export function judgeSeam(
  stored: Series,
  incoming: Series,
  known: SeamContext,
): { mismatch: SeamMismatch | null; oddities: SeamWarning[] } {
  const both = daysAtSeam(stored, incoming)
  const mismatch = mismatchOf(stored, incoming, both)
  return mismatch === null ? judgeNeighbours(stored, incoming, both, known) : { mismatch, oddities: [] }
}

/** The mismatch that closes of common days show; null if they fit. */
function mismatchOf(stored: Series, incoming: Series, both: readonly SeamDay[]): SeamMismatch | null {
  const pairs = commonCloses(stored, incoming, both)
  // A file that has every stored day leaves nothing on another scale.
  const isWhole = pairs.length === stored.days.length
  const step = isWhole ? null : leadingScaleChange(pairs)
  if (step !== null) {
    // Bars before the step are on another scale; if the file has all of them, none remains.
    const remains = both.some(({ day, incoming }) => incoming < 0 && day < step.until)
    return remains ? factorMismatch(ratioOfSums(step.pairs), both, step.pairs, step.until) : null
  }
  const factor = commonFactor(pairs)
  if (factor !== null) return isWhole ? null : factorMismatch(factor, both, pairs)
  if (pairs.length === 1) return isWhole ? null : oneDayMismatch(stored, incoming, both)
  const differing = pairs.filter(({ ratio }) => Math.abs(ratio - 1) > MAX_CORRECTION).length
  if (2 * differing <= pairs.length) return null
  if (!moveTogether(pairs)) return { reason: 'another_instrument', differing, common: pairs.length }
  return isWhole ? null : factorMismatch(medianRatio(pairs), both, pairs)
}

/** Corrections move a close by at most this fraction; closes further apart are of another scale or instrument. */
const MAX_CORRECTION = 0.01
/** Rounding error of a number that was calculated twice. */
const ROUNDING_ERROR = 1e-5
/** Among closes that differ by a factor, a few may also be corrected: one in ten, or one of three or more. */
function isNearlyAll(alike: number, all: number): boolean {
  return all - alike <= (all < 3 ? 0 : Math.max(1, Math.floor(all / 10)))
}

/** A day that both have. */
interface Pair {
  day: Day
  before: number
  after: number
  ratio: number
  /** How far rounding moves the ratio. */
  slack: number
  /** Ratio of the volumes; NaN if one is unknown or 0. */
  volumes: number
}

type Ratio = Omit<Pair, 'day' | 'volumes'>

const isCommonDay = (step: SeamDay): boolean => step.stored >= 0 && step.incoming >= 0

function commonCloses(stored: Series, incoming: Series, both: readonly SeamDay[]): Pair[] {
  const common = both.filter(isCommonDay)
  const closes = ratiosOf(
    common.map(step => stored.close[step.stored]!),
    common.map(step => incoming.close[step.incoming]!),
  )
  return common.map((step, i) => {
    const volumes = incoming.volume[step.incoming]! / stored.volume[step.stored]!
    const isKnown = volumes > 0 && volumes < Number.POSITIVE_INFINITY
    return { day: step.day, ...closes[i]!, volumes: isKnown ? volumes : Number.NaN }
  })
}

function ratiosOf(stored: readonly number[], incoming: readonly number[]): Ratio[] {
  const fine = priceStep(stored)
  const fineIncoming = priceStep(incoming)
  return stored.map((before, i) => {
    const after = incoming[i]!
    return {
      before,
      after,
      ratio: after / before,
      slack: ROUNDING_ERROR + fine / before / 2 + fineIncoming / after / 2,
    }
  })
}

const isSamePrice = ({ ratio, slack }: Ratio): boolean => Math.abs(ratio - 1) <= slack

/** Returns a test whether prices differ by this factor, within rounding. */
function hasFactor(factor: number): (one: Ratio) => boolean {
  return ({ ratio, slack }) => Math.abs(ratio / factor - 1) <= 2 * slack
}

/** With one common day its four prices decide. A bar of an unfinished day has the same open, and fits. */
function oneDayMismatch(stored: Series, incoming: Series, both: readonly SeamDay[]): SeamMismatch | null {
  const day = both.find(isCommonDay)!
  const before = PRICES.map(name => stored[name][day.stored]!)
  const after = PRICES.map(name => incoming[name][day.incoming]!)
  const four = ratiosOf(before, after)
  const [, high, low, close] = four
  // A day on one price shows no ratio: it may as well be corrected.
  const isFlat = high!.before === low!.before && high!.after === low!.after
  const isOne = four.every(hasFactor(medianRatio(four)))
  if (!isFlat && isOne && !four.some(isSamePrice))
    return factorMismatch(ratioOfSums(four), both, commonCloses(stored, incoming, [day]))
  const isDisjoint = low!.after > high!.before || high!.after < low!.before
  const far = four.filter(({ ratio }) => Math.abs(ratio - 1) > MAX_CORRECTION).length
  const isAnother = !isFlat && (far === four.length || (isDisjoint && Math.abs(close!.ratio - 1) > MAX_CORRECTION))
  return isAnother ? { reason: 'another_instrument', differing: 1, common: 1 } : null
}

/** The smallest step of prices, such as 0.01; 0 where they have more digits than a vendor writes. */
function priceStep(prices: readonly number[]): number {
  for (let digits = 0; digits <= 6; digits++) {
    const places = 10 ** digits
    if (prices.every(price => Math.abs(price * places - Math.round(price * places)) < 1e-9 * price * places + 1e-9))
      return 1 / places
  }
  return 0
}

/** The single factor between nearly all closes of common days, within rounding; null if there is none. */
function commonFactor(pairs: readonly Pair[]): number | null {
  if (pairs.length < 2) return null
  const withFactor = pairs.filter(hasFactor(medianRatio(pairs)))
  const differing = withFactor.filter(one => !isSamePrice(one))
  if (!isNearlyAll(withFactor.length, pairs.length) || 2 * differing.length <= withFactor.length) return null
  return ratioOfSums(withFactor)
}

function medianRatio(pairs: readonly Ratio[]): number {
  return median(pairs.map(({ ratio }) => ratio))!
}

function ratioOfSums(pairs: readonly Ratio[]): number {
  return sum(pairs.map(({ after }) => after)) / sum(pairs.map(({ before }) => before))
}

/**
 * The first common closes, if they differ by one factor and later closes are equal; otherwise null.
 * `until` is the first day with equal closes.
 */
function leadingScaleChange(pairs: readonly Pair[]): { pairs: readonly Pair[]; until: Day } | null {
  const at = pairs.findIndex(isSamePrice)
  const leading = pairs.slice(0, at)
  const rest = pairs.slice(at)
  if (at < 2 || !isNearlyAll(rest.filter(isSamePrice).length, rest.length)) return null
  const isOne = leading.every(hasFactor(ratioOfSums(leading)))
  return isOne ? { pairs: leading, until: pairs[at]!.day } : null
}

/** Whether closes rise and fall together despite changing factors: an instrument that was rescaled several times. */
function moveTogether(pairs: readonly Pair[]): boolean {
  const steps = pairs.slice(1)
  const alike = steps.filter(({ ratio, slack }, t) => Math.abs(ratio / pairs[t]!.ratio - 1) <= slack + pairs[t]!.slack)
  return 2 * alike.length > steps.length
}

function factorMismatch(factor: number, both: readonly SeamDay[], pairs: readonly Pair[], before?: Day): SeamMismatch {
  const split = usualSplit(factor, FACTOR_MARGIN)
  const scale = split ?? { by: factor, over: 1 }
  const volume = median(pairs.map(({ volumes }) => volumes).filter(volumes => !Number.isNaN(volumes)))
  // Volumes of the same days show whether shares were divided, or only prices.
  const shares = volume === null ? split !== null : Math.abs(Math.log(volume * factor)) < Math.abs(Math.log(volume))
  const seams = seamsOf(both).filter(([a, b]) => before === undefined || (a.incoming < 0 ? a : b).day < before)
  const jumps = seams.map(([a, b]) => jumpAt(a, b, scale))
  return { reason: 'factor', scale, shares, ...(before !== undefined && { before }), jumps, common: pairs.length }
}

/** Ratios of splits that are usual. */
const USUAL_RATIOS = [2, 3, 4, 5, 7, 10, 20]
const USUAL_SPLITS: readonly Scale[] = [
  ...USUAL_RATIOS.flatMap(ratio => [
    { by: 1, over: ratio },
    { by: ratio, over: 1 },
  ]),
  { by: 2, over: 3 },
  { by: 3, over: 2 },
]
/** How far a price may lie outside the range that the split implies. */
const RANGE_MARGIN = 0.02
/** A factor of many closes is known better. */
const FACTOR_MARGIN = 0.001

/** The common split that scaled the prices, if recognisable; otherwise null. */
function usualSplit(factor: number, most: number): Scale | null {
  const off = ({ by, over }: Scale): number => Math.abs((factor * over) / by - 1)
  const nearest = USUAL_SPLITS.reduce((best, scale) => (off(scale) < off(best) ? scale : best))
  return off(nearest) <= most ? nearest : null
}

/** A split on this day: its price lies in or near the day's range. */
function splitOnDay(before: number, series: Series, t: number): Scale | null {
  const close = series.close[t]!
  const expected = ({ by, over }: Scale): number => (before * by) / over
  const off = (scale: Scale): number => Math.abs(Math.log(close / expected(scale)))
  const near = USUAL_SPLITS.filter(scale => {
    return (
      expected(scale) >= series.low[t]! * (1 - RANGE_MARGIN) && expected(scale) <= series.high[t]! * (1 + RANGE_MARGIN)
    )
  })
  return near.reduce<Scale | null>((best, scale) => (best === null || off(scale) < off(best) ? scale : best), null)
}

/** The price factor of a split; 10 for 0.1 new shares, so that no precision is lost. */
function scaleOf({ ratio }: Split): Scale {
  return usualSplit(1 / ratio, 1e-9) ?? { by: 1, over: ratio }
}

type Seam = readonly [a: SeamDay, b: SeamDay]

/** Neighbouring days of which only one is in the file, and the other only stored. */
function seamsOf(both: readonly SeamDay[]): Seam[] {
  return both.slice(1).flatMap((b, t): Seam[] => {
    const a = both[t]!
    return a.incoming >= 0 === b.incoming >= 0 ? [] : [[a, b]]
  })
}

/** A jump where the file's side is `scale` times the stored side. */
function jumpAt(a: SeamDay, b: SeamDay, { by, over }: Scale): AcceptedJump {
  return { from: a.day, day: b.day, factor: b.incoming >= 0 ? by / over : over / by }
}

/** Checks each bar of the file against its stored neighbour, like two neighbours in one file. */
function judgeNeighbours(
  stored: Series,
  incoming: Series,
  both: readonly SeamDay[],
  known: SeamContext,
): { mismatch: SeamMismatch | null; oddities: SeamWarning[] } {
  const oddities: SeamWarning[] = []
  const mismatches: { scale: Scale; jump: AcceptedJump; split?: Split }[] = []
  let most: number | null = null
  const close = (at: SeamDay): number => (at.incoming >= 0 ? incoming.close[at.incoming]! : stored.close[at.stored]!)
  for (const [a, b] of seamsOf(both)) {
    const inFile = b.incoming >= 0 ? b : a
    if (inFile.stored >= 0 && close(inFile) === stored.close[inFile.stored]) continue
    const isNew = inFile.stored < 0 && b.day - a.day > 1
    if (isNew) most ??= usualGap(daysOf(stored, incoming))
    const gap = isNew ? gapBetween(a.day, b.day, most!) : null
    if (gap !== null) oddities.push({ kind: 'gap', day: b.day, detail: gap })
    const before = close(a)
    const after = close(b)
    const jump = jumpBetween(before, after)
    if (jump === null || isAccepted(known.jumps, a, b, after / before)) continue
    const split = known.splits.find(({ ex_date, ratio }) => {
      return ex_date > a.day && ex_date <= b.day && !isJump(1 / ratio, after / before)
    })
    const later = b.incoming >= 0 ? splitOnDay(before, incoming, b.incoming) : splitOnDay(before, stored, b.stored)
    const step = split === undefined ? later : scaleOf(split)
    if (step === null) oddities.push({ kind: 'jump', day: b.day, detail: `${jump}, which is stored` })
    // Raw prices fall on the day of a split.
    else if (split === undefined || known.prices === 'adjusted') {
      const scale = b.incoming >= 0 ? step : { by: step.over, over: step.by }
      mismatches.push({ scale, jump: jumpAt(a, b, scale), ...(split && { split }) })
    }
  }
  const [first] = mismatches
  if (first === undefined) return { mismatch: null, oddities }
  const { jump: _jump, ...about } = first
  const jumps = mismatches.map(({ jump }) => jump)
  return { mismatch: { reason: 'split', ...about, shares: true, jumps, common: 0 }, oddities }
}

/** All days of two series. */
function daysOf(stored: Series, incoming: Series): Int32Array {
  const days = Int32Array.from([...stored.days, ...incoming.days]).sort()
  return days.filter((day, t) => day !== days[t - 1])
}

/** Whether a step was accepted between these days or around them. */
function isAccepted(jumps: readonly AcceptedJump[], a: SeamDay, b: SeamDay, factor: number): boolean {
  return jumps.some(jump => jump.from < b.day && a.day < jump.day && !isJump(jump.factor, factor))
}

/**
 * The accepted jumps after a merge. New bars may lie between the two bars of a jump: it moves to the neighbours among
 * them whose ratio is nearest to its factor. A jump whose bars are both in the file is dropped: the file shows it.
 */
export function jumpsAfter(jumps: readonly AcceptedJump[], merged: Series, incoming: Series): AcceptedJump[] {
  if (jumps.length === 0) return []
  const inFile = new Set(incoming.days)
  return jumps.flatMap(({ from, day, factor }) => {
    const first = merged.days.indexOf(from) + 1
    const last = merged.days.indexOf(day)
    const distance = (t: number): number => Math.abs(Math.log(merged.close[t]! / merged.close[t - 1]! / factor))
    let nearest = first
    for (let t = first + 1; t <= last; t++) if (distance(t) < distance(nearest)) nearest = t
    const moved = { from: merged.days[nearest - 1]!, day: merged.days[nearest]!, factor }
    return inFile.has(moved.from) && inFile.has(moved.day) ? [] : [moved]
  })
}

/** Brings bars to the scale of a file. */
export function rescale(series: Series, rescaling: Rescaling): Series {
  const { scale, shares } = rescaling
  const count = rescaledCount(series, rescaling)
  const scaled = (column: Float64Array, { by, over }: Scale): Float64Array =>
    column.map((value, t) => (t < count ? (value * by) / over : value))
  const times = (column: Float64Array): Float64Array => scaled(column, scale)
  const { open, high, low, close, volume, unadjustedClose } = series
  const prices = { open: times(open), high: times(high), low: times(low), close: times(close) }
  if (!shares) return { ...series, ...prices }
  return {
    ...series,
    ...prices,
    volume: scaled(volume, { by: scale.over, over: scale.by }),
    ...(unadjustedClose === undefined ? {} : { unadjustedClose: times(unadjustedClose) }),
  }
}

/** How many bars of a series are brought to another scale. */
export function rescaledCount({ days }: Series, { before }: Rescaling): number {
  return before === undefined ? days.length : countUpTo(days, before - 1)
}

/** `4:1`, the common split that multiplies a price by this factor; null if none does. */
export function splitName(factor: number): string | null {
  const scale = usualSplit(factor, 1e-9)
  return scale === null ? null : `${scale.over}:${scale.by}`
}
