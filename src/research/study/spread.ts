import type { StudyWindow } from './result.js'

/** From so many times the deviation of any bar on, a 5 % test by plain shifts finds something in 14 % of what has nothing. */
const WIDE = 4 / 3

/** Of as much less it finds something in 1 %. */
const NARROW = 3 / 4

/**
 * Whether returns after the events spread much wider, or much less wide, than after any bar of the same tickers, so that
 * the p of the plain shift, which takes their days for days like others, is too small or too large; null where neither,
 * and where it has none.
 */
export function spreadOf({
  deviation,
  base,
  tests,
}: Pick<StudyWindow, 'deviation' | 'base' | 'tests'>): 'wide' | 'narrow' | null {
  if (deviation === null || !base.deviation || tests[0]?.p == null) return null
  const ratio = deviation / base.deviation
  return ratio > WIDE ? 'wide' : ratio < NARROW ? 'narrow' : null
}

/** What to go by in windows whose shift misleads: a sentence for those of either kind. */
export function spreadWarnings(windows: readonly StudyWindow[]): string[] {
  const wide = spreadsOf(windows, 'wide')
  const narrow = spreadsOf(windows, 'narrow')
  return [
    ...(wide === null
      ? []
      : [
          `Returns after the events spread wider than after any bar (deviation ${wide}): they fall in volatile times. The shift takes their days for days like others, so its P, marked !, is too small: go by the studentised one, P(T), and the interval.`,
        ]),
    ...(narrow === null
      ? []
      : [
          `Returns after the events spread less than after any bar (deviation ${narrow}): they fall in calm times. The shift takes their days for days like others, so its P, marked !, is too large; the studentised one, P(T), does not, but finds something in up to one in ten of what has nothing.`,
        ]),
  ]
}

function spreadsOf(windows: readonly StudyWindow[], kind: 'wide' | 'narrow'): string | null {
  const some = windows.filter(window => spreadOf(window) === kind)
  const percent = (value: number | null): string => `${(100 * value!).toFixed(1)} %`
  const each = some.map(
    ({ window, deviation, base }) => `${window}: ${percent(deviation)}, any bar ${percent(base.deviation)}`,
  )
  return each.length === 0 ? null : each.join('; ')
}
