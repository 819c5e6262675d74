import { countBelow, countUpTo, type Day } from '../../core/model/day.js'
import type { Split } from '../../core/model/facts.js'
import { type Adjustment, gapBetween, isJump, jumpBetween, type Series, usualGap } from '../../core/model/series.js'
import { median, sum } from '../../core/statistics/moments.js'
import { PRICES } from '../feeds/names.js'
import type { AcceptedJump } from '../store/store.js'

/** Whether a file's bars of a ticker fit the stored ones: one scale, one instrument. */

/** A day of stored bars or of a file's bars, and its index in both series; -1 in the one that does not have it. */
interface SeamDay {
  day: Day
  storedIndex: number
  incomingIndex: number
}

/**
 * The days of both series where they meet, in order: from the stored bar before the file's first bar to the one after
 * its last.
 */
function daysAtSeam(stored: Series, incoming: Series): SeamDay[] {
  const seamDays: SeamDay[] = []
  let nextStored = Math.max(0, countBelow(stored.days, incoming.days[0]!) - 1)
  const storedEnd = Math.min(stored.days.length, countUpTo(stored.days, incoming.days.at(-1)!) + 1)
  let nextIncoming = 0
  while (nextStored < storedEnd || nextIncoming < incoming.days.length) {
    const storedDay = nextStored < storedEnd ? stored.days[nextStored]! : Number.POSITIVE_INFINITY
    const incomingDay = incoming.days[nextIncoming] ?? Number.POSITIVE_INFINITY
    const day = Math.min(storedDay, incomingDay)
    const storedIndex = storedDay === day ? nextStored++ : -1
    const incomingIndex = incomingDay === day ? nextIncoming++ : -1
    seamDays.push({ day, storedIndex, incomingIndex })
  }
  return seamDays
}

/** Prices are multiplied by `by` and divided by `over`: exact for a split. */
export interface Scale {
  by: number
  over: number
}

/** Data about a ticker besides its bars. */
export interface SeamContext {
  prices: Adjustment
  splits: readonly Split[]
  jumps: readonly AcceptedJump[]
}

/** Brings stored bars to the scale of a file. */
export interface Rescaling {
  scale: Scale
  /** Whether shares change as well, not only prices: volumes are divided by it. */
  changesShares: boolean
  /** The first stored day that is already on the file's scale (default: none). */
  fitsFrom?: Day
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

/**
 * Checks whether a file's bars of a ticker fit the stored ones: `mismatch` is null if they do. Then `oddities` lists
 * gaps and jumps between neighbouring bars.
 */
export function judgeSeam(
  stored: Series,
  incoming: Series,
  known: SeamContext,
): { mismatch: SeamMismatch | null; oddities: SeamWarning[] } {
  const seamDays = daysAtSeam(stored, incoming)
  const mismatch = mismatchOfCommonDays(stored, incoming, seamDays)
  return mismatch === null ? judgeNeighbours(stored, incoming, seamDays, known) : { mismatch, oddities: [] }
}

/**
 * The mismatch that closes of common days show; null if they fit, or the file replaces all bars of another scale. Looks
 * for one factor up to a day, then on all days, then at the prices of a single day, then for any other differences.
 */
function mismatchOfCommonDays(stored: Series, incoming: Series, seamDays: readonly SeamDay[]): SeamMismatch | null {
  const closes = commonCloses(stored, incoming, seamDays)
  // If so, the file replaces all stored bars, and none of another scale remains.
  const hasEveryDay = closes.length === stored.days.length
  const change = hasEveryDay ? null : leadingScaleChange(closes)
  if (change !== null) {
    // Bars before the change are on another scale; if the file has all of them, it replaces them.
    const oldScaleRemains = seamDays.some(seamDay => !isInFile(seamDay) && seamDay.day < change.until)
    return oldScaleRemains ? factorMismatch(ratioOfSums(change.closes), seamDays, change.closes, change.until) : null
  }
  const factor = commonFactor(closes)
  if (factor !== null) return hasEveryDay ? null : factorMismatch(factor, seamDays, closes)
  if (closes.length === 1) return hasEveryDay ? null : oneDayMismatch(stored, incoming, seamDays)
  const differing = closes.filter(({ ratio }) => Math.abs(ratio - 1) > MAX_CORRECTION).length
  // At most half of the closes were corrected by more.
  if (2 * differing <= closes.length) return null
  if (!moveTogether(closes)) return { reason: 'another_instrument', differing, common: closes.length }
  return hasEveryDay ? null : factorMismatch(medianRatio(closes), seamDays, closes)
}

/** Corrections move a close by at most this fraction; closes further apart are of another scale or instrument. */
const MAX_CORRECTION = 0.01
/** Rounding error of a number that was calculated twice. */
const ROUNDING_ERROR = 1e-5

/** Whether all closes but a few are alike. A few may be corrected: one in ten, at least one of three or more. */
function areNearlyAll(alike: number, total: number): boolean {
  const maxCorrected = total < 3 ? 0 : Math.max(1, Math.floor(total / 10))
  return total - alike <= maxCorrected
}

interface CommonClose {
  day: Day
  /** The stored price, that of the file, and the file's relative to the stored one. */
  storedPrice: number
  filePrice: number
  ratio: number
  /** How far rounding moves the ratio. */
  rounding: number
  /** Ratio of the volumes; NaN if one is unknown or 0. */
  volumes: number
}

type Ratio = Omit<CommonClose, 'day' | 'volumes'>

const isInFile = ({ incomingIndex }: SeamDay): boolean => incomingIndex >= 0

const isCommonDay = (seamDay: SeamDay): boolean => seamDay.storedIndex >= 0 && isInFile(seamDay)

/** The stored close and the file's of each day that both series have. */
function commonCloses(stored: Series, incoming: Series, seamDays: readonly SeamDay[]): CommonClose[] {
  const common = seamDays.filter(isCommonDay)
  const ratios = priceRatios(
    common.map(seamDay => stored.close[seamDay.storedIndex]!),
    common.map(seamDay => incoming.close[seamDay.incomingIndex]!),
  )
  return common.map((seamDay, i) => {
    const volumes = incoming.volume[seamDay.incomingIndex]! / stored.volume[seamDay.storedIndex]!
    const isKnown = volumes > 0 && volumes < Number.POSITIVE_INFINITY
    return { day: seamDay.day, ...ratios[i]!, volumes: isKnown ? volumes : Number.NaN }
  })
}

/** The ratio of each price of a file to the stored one at the same index, and how far rounding moves it. */
function priceRatios(stored: readonly number[], incoming: readonly number[]): Ratio[] {
  const storedStep = priceStep(stored)
  const incomingStep = priceStep(incoming)
  return stored.map((storedPrice, i) => {
    const filePrice = incoming[i]!
    // Each price was rounded by at most half a step.
    const rounding = ROUNDING_ERROR + storedStep / storedPrice / 2 + incomingStep / filePrice / 2
    return { storedPrice, filePrice, ratio: filePrice / storedPrice, rounding }
  })
}

const isSamePrice = ({ ratio, rounding }: Ratio): boolean => Math.abs(ratio - 1) <= rounding

/** Returns a test whether prices differ by this factor, within the rounding of price and factor. */
function hasFactor(factor: number): (prices: Ratio) => boolean {
  return ({ ratio, rounding }) => Math.abs(ratio / factor - 1) <= 2 * rounding
}

/** The mismatch that the four prices of the only common day show; null where a bar may be corrected or unfinished. */
function oneDayMismatch(stored: Series, incoming: Series, seamDays: readonly SeamDay[]): SeamMismatch | null {
  const day = seamDays.find(isCommonDay)!
  const storedPrices = PRICES.map(name => stored[name][day.storedIndex]!)
  const filePrices = PRICES.map(name => incoming[name][day.incomingIndex]!)
  const ratios = priceRatios(storedPrices, filePrices)
  const [_open, high, low, close] = ratios
  // A day on one price shows no ratio: it may as well be corrected.
  if (high!.storedPrice === low!.storedPrice && high!.filePrice === low!.filePrice) return null
  const hasOneFactor = ratios.every(hasFactor(medianRatio(ratios)))
  if (hasOneFactor && !ratios.some(isSamePrice))
    return factorMismatch(ratioOfSums(ratios), seamDays, commonCloses(stored, incoming, [day]))
  const isFar = ({ ratio }: Ratio): boolean => Math.abs(ratio - 1) > MAX_CORRECTION
  const areRangesApart = low!.filePrice > high!.storedPrice || high!.filePrice < low!.storedPrice
  const isAnotherInstrument = ratios.every(isFar) || (areRangesApart && isFar(close!))
  return isAnotherInstrument ? { reason: 'another_instrument', differing: 1, common: 1 } : null
}

/** The smallest step of prices, such as 0.01; 0 where they have more digits than a vendor writes. */
function priceStep(prices: readonly number[]): number {
  for (let digits = 0; digits <= 6; digits++) {
    const stepsPerUnit = 10 ** digits
    const isWholeSteps = (price: number): boolean => {
      const steps = price * stepsPerUnit
      return Math.abs(steps - Math.round(steps)) < 1e-9 * (steps + 1)
    }
    if (prices.every(isWholeSteps)) return 1 / stepsPerUnit
  }
  return 0
}

/** The single factor, not 1, between nearly all closes of two or more common days; null if there is none. */
function commonFactor(closes: readonly CommonClose[]): number | null {
  if (closes.length < 2) return null
  const withFactor = closes.filter(hasFactor(medianRatio(closes)))
  if (!areNearlyAll(withFactor.length, closes.length)) return null
  // A factor within the rounding of most closes is 1.
  const differing = withFactor.filter(close => !isSamePrice(close))
  return 2 * differing.length <= withFactor.length ? null : ratioOfSums(withFactor)
}

function medianRatio(prices: readonly Ratio[]): number {
  return median(prices.map(({ ratio }) => ratio))!
}

function ratioOfSums(prices: readonly Ratio[]): number {
  return sum(prices.map(({ filePrice }) => filePrice)) / sum(prices.map(({ storedPrice }) => storedPrice))
}

/**
 * The first common closes, if at least two differ by one factor, and nearly all later ones are equal; otherwise null.
 * `until` is the first day with equal closes.
 */
function leadingScaleChange(closes: readonly CommonClose[]): { closes: readonly CommonClose[]; until: Day } | null {
  const firstSame = closes.findIndex(isSamePrice)
  const leading = closes.slice(0, firstSame)
  const rest = closes.slice(firstSame)
  if (firstSame < 2 || !areNearlyAll(rest.filter(isSamePrice).length, rest.length)) return null
  const hasOneFactor = leading.every(hasFactor(ratioOfSums(leading)))
  return hasOneFactor ? { closes: leading, until: closes[firstSame]!.day } : null
}

/** Whether closes rise and fall together despite changing factors: an instrument that was rescaled several times. */
function moveTogether(closes: readonly CommonClose[]): boolean {
  let commonMoves = 0
  for (let i = 1; i < closes.length; i++) {
    const previous = closes[i - 1]!
    const { ratio, rounding } = closes[i]!
    if (Math.abs(ratio / previous.ratio - 1) <= rounding + previous.rounding) commonMoves++
  }
  return 2 * commonMoves > closes.length - 1
}

/**
 * The mismatch of closes that differ by one factor. `jumps` are those that remain if it is accepted: one at each seam,
 * which is a stored day next to a day of the file.
 * @param fitsFrom the first stored day that is already on the file's scale (default: none)
 */
function factorMismatch(
  factor: number,
  seamDays: readonly SeamDay[],
  closes: readonly CommonClose[],
  fitsFrom?: Day,
): SeamMismatch {
  const split = usualSplit(factor, FACTOR_MARGIN)
  const scale = split ?? { by: factor, over: 1 }
  const volumeRatio = median(closes.map(({ volumes }) => volumes).filter(volumes => !Number.isNaN(volumes)))
  let changesShares = split !== null
  if (volumeRatio !== null) {
    // Volumes change by the inverse of the factor if shares were divided, and stay the same if only prices were.
    const distanceFromInverse = Math.abs(Math.log(volumeRatio * factor))
    const distanceFromSame = Math.abs(Math.log(volumeRatio))
    changesShares = distanceFromInverse < distanceFromSame
  }
  const storedDayOf = ([earlier, later]: Seam): Day => (isInFile(earlier) ? later : earlier).day
  const seams = seamsBetween(seamDays).filter(seam => fitsFrom === undefined || storedDayOf(seam) < fitsFrom)
  const jumps = seams.map(([earlier, later]) => jumpAt(earlier, later, scale))
  const mismatch: SeamMismatch = { reason: 'factor', scale, changesShares, jumps, common: closes.length }
  return fitsFrom === undefined ? mismatch : { ...mismatch, fitsFrom }
}

const USUAL_RATIOS = [2, 3, 4, 5, 7, 10, 20]
const USUAL_SPLITS: readonly Scale[] = [
  ...USUAL_RATIOS.flatMap(ratio => [
    { by: 1, over: ratio },
    { by: ratio, over: 1 },
  ]),
  { by: 2, over: 3 },
  { by: 3, over: 2 },
]
/** How far outside a bar's range the price that a split implies may be, as a fraction. */
const RANGE_MARGIN = 0.02
/** How far the factor of many closes may be from that of a usual split, as a fraction. */
const FACTOR_MARGIN = 0.001
/** The same for a factor that was calculated from whole numbers. */
const EXACT_MARGIN = 1e-9

/** The usual split that scales prices by a factor; null if none is within the margin, a fraction. */
function usualSplit(factor: number, margin: number): Scale | null {
  const distance = ({ by, over }: Scale): number => Math.abs((factor * over) / by - 1)
  const nearest = USUAL_SPLITS.reduce((best, scale) => (distance(scale) < distance(best) ? scale : best))
  return distance(nearest) <= margin ? nearest : null
}

/**
 * The usual split that brings the previous close nearest to the close of a bar. It is null if none brings it into the
 * range of that bar, or near it.
 */
function likelySplitOnDay(previousClose: number, series: Series, bar: number): Scale | null {
  const low = series.low[bar]! * (1 - RANGE_MARGIN)
  const high = series.high[bar]! * (1 + RANGE_MARGIN)
  let best: Scale | null = null
  let leastDistance = Number.POSITIVE_INFINITY
  for (const scale of USUAL_SPLITS) {
    const expected = (previousClose * scale.by) / scale.over
    const distance = Math.abs(Math.log(series.close[bar]! / expected))
    if (expected < low || expected > high || distance >= leastDistance) continue
    best = scale
    leastDistance = distance
  }
  return best
}

/** The factor of a split on prices, exactly: 10/1 for 0.1 new shares per old one. */
function scaleOf({ ratio }: Split): Scale {
  return usualSplit(1 / ratio, EXACT_MARGIN) ?? { by: 1, over: ratio }
}

/** Two neighbouring days, one in the file, and the other only stored. */
type Seam = readonly [earlier: SeamDay, later: SeamDay]

/** All seams, in order. */
function seamsBetween(seamDays: readonly SeamDay[]): Seam[] {
  const seams: Seam[] = []
  for (let i = 1; i < seamDays.length; i++) {
    const earlier = seamDays[i - 1]!
    const later = seamDays[i]!
    if (isInFile(earlier) !== isInFile(later)) seams.push([earlier, later])
  }
  return seams
}

/** The jump between two neighbouring days, if prices of the file are `scale` times the stored ones. */
function jumpAt(earlier: SeamDay, later: SeamDay, { by, over }: Scale): AcceptedJump {
  return { from: earlier.day, day: later.day, factor: isInFile(later) ? by / over : over / by }
}

/**
 * Checks the step from each stored bar to a neighbouring bar of the file, and back, as between two bars of one file. A
 * jump by a split is a mismatch; another jump, or a long gap, is only reported.
 * @param seamDays the days where the two meet
 */
function judgeNeighbours(
  stored: Series,
  incoming: Series,
  seamDays: readonly SeamDay[],
  context: SeamContext,
): { mismatch: SeamMismatch | null; oddities: SeamWarning[] } {
  const oddities: SeamWarning[] = []
  const jumps: AcceptedJump[] = []
  let firstJump: { scale: Scale; split?: Split } | null = null
  let longestUsualGap: number | null = null
  const closeOn = (day: SeamDay): number =>
    isInFile(day) ? incoming.close[day.incomingIndex]! : stored.close[day.storedIndex]!
  for (const [earlier, later] of seamsBetween(seamDays)) {
    const dayInFile = isInFile(later) ? later : earlier
    // A file that repeats the stored close does not change the step.
    const isUnchanged = dayInFile.storedIndex >= 0 && closeOn(dayInFile) === stored.close[dayInFile.storedIndex]
    if (isUnchanged) continue
    if (dayInFile.storedIndex < 0 && later.day - earlier.day > 1) {
      longestUsualGap ??= usualGap(allDaysOf(stored, incoming))
      const gap = gapBetween(earlier.day, later.day, longestUsualGap)
      if (gap !== null) oddities.push({ kind: 'gap', day: later.day, detail: gap })
    }
    const previousClose = closeOn(earlier)
    const ratio = closeOn(later) / previousClose
    const jump = jumpBetween(previousClose, closeOn(later))
    if (jump === null || isAccepted(context.jumps, earlier, later, ratio)) continue
    // A stored split explains a jump to about the price that the split would give.
    const explainsJump = ({ ex_date, ratio: newShares }: Split): boolean =>
      ex_date > earlier.day && ex_date <= later.day && !isJump(1 / newShares, ratio)
    const split = context.splits.find(explainsJump)
    const [series, bar] = later === dayInFile ? [incoming, later.incomingIndex] : [stored, later.storedIndex]
    const step = split === undefined ? likelySplitOnDay(previousClose, series, bar) : scaleOf(split)
    if (step === null) {
      oddities.push({ kind: 'jump', day: later.day, detail: `${jump}, which is stored` })
      continue
    }
    // Raw prices fall on the day of a split.
    if (split !== undefined && context.prices === 'raw') continue
    // The scale is that of the file, relative to the stored bars.
    const scale = later === dayInFile ? step : { by: step.over, over: step.by }
    firstJump ??= split === undefined ? { scale } : { scale, split }
    jumps.push(jumpAt(earlier, later, scale))
  }
  if (firstJump === null) return { mismatch: null, oddities }
  // A split changes shares as well. No closes of the same days were compared.
  return { mismatch: { reason: 'split', ...firstJump, changesShares: true, jumps, common: 0 }, oddities }
}

/** All days of two series, ascending, each once. */
function allDaysOf(stored: Series, incoming: Series): Int32Array {
  const days = Int32Array.from([...stored.days, ...incoming.days]).sort()
  return days.filter((day, t) => day !== days[t - 1])
}

/** Whether a step of about this factor was accepted between days that overlap these two. */
function isAccepted(jumps: readonly AcceptedJump[], earlier: SeamDay, later: SeamDay, factor: number): boolean {
  return jumps.some(jump => jump.from < later.day && earlier.day < jump.day && !isJump(jump.factor, factor))
}

/**
 * The jumps between bars of two files that the user accepted, after a merge. New bars may lie between the two bars of a
 * jump: it moves to the neighbours whose ratio is nearest to its factor. Within one file no jump needs to be accepted,
 * so one whose bars are both in the new file is dropped.
 */
export function jumpsAfter(jumps: readonly AcceptedJump[], merged: Series, incoming: Series): AcceptedJump[] {
  if (jumps.length === 0) return []
  const inFile = new Set(incoming.days)
  return jumps.flatMap(({ from, day, factor }) => {
    const first = merged.days.indexOf(from) + 1
    const last = merged.days.indexOf(day)
    // How far the step to a bar is from the factor of the jump.
    const distance = (bar: number): number => Math.abs(Math.log(merged.close[bar]! / merged.close[bar - 1]! / factor))
    let nearest = first
    for (let bar = first + 1; bar <= last; bar++) if (distance(bar) < distance(nearest)) nearest = bar
    const moved = { from: merged.days[nearest - 1]!, day: merged.days[nearest]!, factor }
    return inFile.has(moved.from) && inFile.has(moved.day) ? [] : [moved]
  })
}

/** Returns stored bars on the scale of a file: those before the day from which on they already are. */
export function rescale(series: Series, rescaling: Rescaling): Series {
  const { scale, changesShares } = rescaling
  const count = rescaledCount(series, rescaling)
  const scaleColumn = (column: Float64Array, { by, over }: Scale): Float64Array =>
    column.map((value, bar) => (bar < count ? (value * by) / over : value))
  const rescaled = { ...series }
  for (const name of PRICES) rescaled[name] = scaleColumn(series[name], scale)
  if (!changesShares) return rescaled
  rescaled.volume = scaleColumn(series.volume, { by: scale.over, over: scale.by })
  if (series.unadjustedClose !== undefined) rescaled.unadjustedClose = scaleColumn(series.unadjustedClose, scale)
  return rescaled
}

/** How many bars of a series are brought to another scale. */
export function rescaledCount({ days }: Series, { fitsFrom }: Rescaling): number {
  return fitsFrom === undefined ? days.length : countUpTo(days, fitsFrom - 1)
}

/** `4:1`, the common split that multiplies a price by this factor; null if none does. */
export function splitName(factor: number): string | null {
  const scale = usualSplit(factor, EXACT_MARGIN)
  return scale === null ? null : `${scale.over}:${scale.by}`
}
