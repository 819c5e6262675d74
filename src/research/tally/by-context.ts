import { andersonGoodman, type ChiSquare, logRank } from '../../core/statistics/chi-square.js'
import { totalCount } from '../../core/statistics/survival.js'
import { type BandPeriod, type Change, spellsOf } from './dwell.js'
import { byVocabulary } from './pool.js'

/** Tests whether the band of the context matters. */
export interface ContextTests {
  /** For the next band: every row has the same shares in all contexts (Anderson & Goodman). */
  equal_rows: TestOf & { rows: ({ from: string } & TestOf)[] }
  /** For the length: periods in the band last equally long in all contexts (log-rank). */
  log_rank: ({ band: string } & Omit<TestOf, 'least_expected'> & { groups: LogRankRow[] })[]
}

/** Chi-square; all null, with the reason, where there is no test. */
type TestOf = { [Name in keyof ChiSquare]: number | null } & { reason: string | null }

/** Periods that began in one context, how many ended, and the expected number if all contexts were equal. */
interface LogRankRow {
  context: string
  stays: number
  ended: number
  expected: number | null
}

/** The bands of the context, in the order of the vocabulary; null (no band yet) last. */
export function contextsOf(changes: readonly Change[], vocabulary: readonly string[]): (string | null)[] {
  return [...new Set(changes.map(change => change.context_band ?? null))].sort(byVocabulary(vocabulary))
}

/**
 * Tests whether the next band, and the length of periods, depend on the context. A transition counts in the context of
 * its day, a period in the context of its first day. Those before the context's first band are left out.
 * @param contexts each band of the context once; null: before its first band
 */
export function contextTests(
  bands: readonly string[],
  contexts: readonly (string | null)[],
  changes: readonly Change[],
  periods: readonly BandPeriod[],
): ContextTests {
  const knownContexts = contexts.filter(context => context !== null)
  return {
    equal_rows: testEqualRows(bands, knownContexts, changes),
    log_rank: bands.map(band => {
      const inBand = periods.filter(period => period.band === band)
      return { band, ...testEqualLengths(knownContexts, inBand) }
    }),
  }
}

/** Tests whether the next band depends on the context: for each band that is left, and for all of them together. */
function testEqualRows(
  bands: readonly string[],
  contexts: readonly string[],
  changes: readonly Change[],
): ContextTests['equal_rows'] {
  // Numbers of changes by the band that is left, then by context, then by the next band.
  const counts = bands.map(() => contexts.map(() => bands.map(() => 0)))
  const indexOf = new Map(bands.map((band, i) => [band, i]))
  for (const { band, prev_band, context_band, times = 1 } of changes) {
    const from = indexOf.get(prev_band)!
    const context = contexts.indexOf(context_band ?? '')
    if (context !== -1) counts[from]![context]![indexOf.get(band)!]! += times
  }
  const { total, reason, rows } = andersonGoodman(counts)
  const whyUntested = 'not left for different bands in different contexts'
  return {
    ...testResult(total, reason),
    rows: bands.map((from, i) => ({ from, ...testResult(rows[i]!, rows[i] === null ? whyUntested : null) })),
  }
}

/** A test as the answer shows it. @param test null if there is no test, for the `reason` */
function testResult(test: ChiSquare | null, reason: string | null): TestOf {
  return { ...(test ?? { chi2: null, df: null, p: null, least_expected: null }), reason }
}

/** Tests whether the periods that began in each context are equally long. */
function testEqualLengths(
  contexts: readonly string[],
  periods: readonly BandPeriod[],
): Omit<ContextTests['log_rank'][number], 'band'> {
  const periodsByContext = contexts.map(context => periods.filter(period => period.context === context))
  const spellsByContext = periodsByContext.map(spellsOf)
  const test = logRank(spellsByContext)
  const rows = contexts.map((context, i) => ({
    context,
    stays: totalCount(periodsByContext[i]!),
    ended: totalCount(spellsByContext[i]!.filter(spell => spell.ended)),
    expected: 'reason' in test ? null : test.groups[i]!.expected,
  }))
  if ('reason' in test) return { chi2: null, df: null, p: null, reason: test.reason, groups: rows }
  return { chi2: test.chi2, df: test.df, p: test.p, reason: null, groups: rows }
}
