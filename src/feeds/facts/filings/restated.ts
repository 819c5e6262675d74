import { type Entry, type Item, isOther } from './entry.js'

/** An item and what was stated in its place before. */
export interface Posted {
  item: Item
  before: Entry | undefined
}

/** Beyond it a change is no split but a change of unit, such as to thousands. */
const MOST = 60

/**
 * How many shares there are now for each one then, as told by a figure that another filing stated before: 1 when the
 * figure is the same, null when it tells nothing. Share counts tell it best; earnings a share are asked where the
 * filing has no count of that period, and believed when nothing else explains the change.
 */
export function sharesRatio({ item, before }: Posted, filing: readonly Posted[]): number | null {
  if (before === undefined || (item.figure !== 'diluted' && item.figure !== 'eps')) return null
  if (item.figure === 'diluted') return ratioOfCounts(before.value, item.value)
  const ofPeriod = filing.filter(({ item: { term, end } }) => term === item.term && end === item.end)
  if (ofPeriod.some(other => other.item.figure === 'diluted' && other.before !== undefined)) return null
  const ratio = ratioOfEarnings(before.value, item.value)
  return ratio !== null && ratio !== 1 && ofPeriod.some(isRestatedRevenue) ? null : ratio
}

function ratioOfCounts(then: number, now: number): number | null {
  const ratio = now / then
  if (Math.abs(ratio - 1) < 0.02) return 1
  return Math.abs(ratio - 1) < 0.05 || ratio > MOST || ratio < 1 / MOST ? null : ratio
}

/** Earnings a share are rounded to cents, so that their ratio lies in a span; a split's is a simple fraction. */
function ratioOfEarnings(then: number, now: number): number | null {
  if (then * now <= 0) return null
  const [old, fresh] = [Math.abs(then), Math.abs(now)]
  const [low, high] = [(old - 0.005) / (fresh + 0.005), (old + 0.005) / (fresh - 0.005)]
  if (!(low > 0) || !(high / low < 1.3)) return null
  if (low <= 1 && high >= 1) return 1
  return isSimple(low, high) || isSimple(1 / high, 1 / low) ? old / fresh : null
}

/** Whether a span has a fraction such as 3/2, 4 or 20 in it. */
function isSimple(low: number, high: number): boolean {
  return [1, 2, 3, 4].some(below => {
    const above = Math.ceil(low * below)
    return above <= high * below && above / below >= 1.2 && above / below <= MOST
  })
}

function isRestatedRevenue({ item, before }: Posted): boolean {
  return item.figure === 'revenue' && before !== undefined && isOther(item, before.value)
}
