import type { StudyWindow } from './result.js'

/** How many shifts the default test of the windows looked at, the fewest and the most; null where none was tested. */
export function shiftsUsed(windows: readonly Pick<StudyWindow, 'tests'>[]): { least: number; most: number } | null {
  const used = windows.flatMap(({ tests }) => (tests[0]?.p == null ? [] : [tests[0].shifts ?? 0]))
  return used.length === 0 ? null : { least: Math.min(...used), most: Math.max(...used) }
}
