import { gains } from '../cell/base.js'
import type { MemberBars } from '../cell/member.js'
import type { StudyWindow } from './result.js'
import type { Subject } from './subject.js'

/**
 * What followed the bars of the base on which the context ticker was in a band asked for, each ticker counting as its
 * events do: what is left of the difference is the event's, and not that of the market it fell into.
 *
 * @param members in the order of the subjects
 * @param mean of the returns of the events
 * @returns null where no band of a context was asked for, and without events
 */
export function contextBase(
  subjects: readonly Pick<Subject, 'inContext'>[],
  members: readonly MemberBars[],
  mean: number | null,
): StudyWindow['context_base'] {
  if (mean === null) return null
  let [n, weights, sum, above] = [0, 0, 0, 0]
  for (const [i, { bars, returns, events }] of members.entries()) {
    const inContext = subjects[i]!.inContext
    if (inContext === null) return null
    if (events.length === 0) continue
    const some = returns.filter((_, at) => inContext[bars[at]!] === 1)
    if (some.length === 0) continue
    n += some.length
    weights += events.length
    sum += (events.length * some.reduce((total, value) => total + value, 0)) / some.length
    above += (events.length * gains(some)) / some.length
  }
  if (weights === 0) return null
  return { n, mean: sum / weights, hit: above / weights, diff: mean - sum / weights }
}
