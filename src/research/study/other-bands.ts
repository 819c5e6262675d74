import type { StudyWindow } from './result.js'
import type { Subject } from './subject.js'

/** What followed the events of the same filter that enter another band of the field; of any band asked for: each one. */
export function otherBands(
  subjects: readonly Subject[],
  forwards: readonly Float64Array[],
  asked: readonly string[] | null,
): StudyWindow['other_bands'] {
  const vocabulary = subjects[0]?.states.bands ?? []
  return vocabulary.flatMap((band, code) => (asked?.includes(band) ? [] : [followed(band, code, subjects, forwards)]))
}

function followed(
  band: string,
  code: number,
  subjects: readonly Subject[],
  forwards: readonly Float64Array[],
): StudyWindow['other_bands'][number] {
  let n = 0
  let sum = 0
  let gains = 0
  subjects.forEach(({ byBand }, i) => {
    for (const bar of byBand[code]!) {
      const value = forwards[i]![bar]!
      if (Number.isNaN(value)) continue
      n++
      sum += value
      if (value > 0) gains++
    }
  })
  return n === 0 ? { band, n, mean: null, hit: null } : { band, n, mean: sum / n, hit: gains / n }
}
