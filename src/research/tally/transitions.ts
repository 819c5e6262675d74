import { InvalidParameter } from '../../core/errors.js'
import type { Context, PoolQuery } from '../../core/model/event.js'
import { TIMEFRAMES, type Timeframe } from '../../core/model/terms.js'
import type { RunContext, Source } from '../../core/source.js'
import type { ShareInterval } from '../../core/statistics/shares.js'
import { type CausedSpell, cumulativeIncidence, stepAt, totalCount } from '../../core/statistics/survival.js'
import { TESTS_CHECKED_IN } from '../../core/statistics/verdict.js'
import type { ContextTests } from './by-context.js'
import { type BandPeriod, type Change, CollectedChanges, countByDay, type Dwell, dwell, shareAmong } from './dwell.js'
import { type AnsweredRange, byVocabulary, fieldAndContextBands, type Scope, scopeOf, tickersInOrder } from './pool.js'

/** Each ticker counts once, in any order. The context splits the result; its band is not part of the query. */
export type TransitionsQuery = Pick<PoolQuery, 'tickers' | 'field' | 'timeframe' | 'after' | 'before'> & {
  context?: Omit<Context, 'band'>
}

/** The next band after each band, and how long each lasts, in bars. */
export interface Transitions extends Scope, Figures {
  schema: 'bands.transitions/2'
  tickers: string[]
  field: string
  timeframe: Timeframe
  context: { ticker: string; field: string } | null
  bands: string[]
  /** These figures for each band of the context, and whether the context matters; null without a context. */
  by_context: { groups: ({ context: string | null } & Figures)[]; tests: ContextTests } | null
  /** Notes on the numbers, in sentences. */
  notes: string[]
}

interface Figures {
  /** Events; each is one transition and begins one period. */
  events: number
  matrix: FollowingRow[]
  per_bar: TransitionRow[]
  dwell: Dwell[]
  /** By band, window by window. */
  incidence: Leaving[]
}

/**
 * Counts transitions and periods of several tickers together. Throws NotFound for an unknown ticker, TierRestricted for
 * a field or a context above the tier, InvalidParameter for no ticker, or for a query with bands.
 */
export async function transitionsOf(
  source: Source,
  { tickers, ...query }: TransitionsQuery,
  { step }: RunContext = {},
): Promise<Transitions> {
  const names = tickersInOrder(tickers, 'transitions need')
  refuseBands(query)
  const answers: AnsweredRange[] = []
  const collected = new CollectedChanges()
  const { field, ...filter } = query
  for await (const answer of source.bandPeriods({ ...filter, fields: [field], tickers: names })) {
    step?.(() => `transitions  ${answer.ticker}  ${answers.length + 1} questions`)
    answers.push({ query_range: answer.query_range, after: answer.after, as_of: answer.as_of })
    collected.add(answer)
  }
  const { changes, periods } = collected
  const [vocabulary, contexts] = await fieldAndContextBands(source, query)
  const order = bandsOf(changes, vocabulary)
  const { timeframe, context = null } = query
  return {
    schema: 'bands.transitions/2',
    tickers: names,
    field,
    timeframe,
    context,
    ...scopeOf(answers, query),
    bands: order,
    ...figuresOf(order, changes, periods, timeframe),
    by_context: context === null ? null : await byContext(order, changes, periods, timeframe, contexts),
    notes: notesOf(names, context !== null),
  }
}

/** The figures for each band of the context, and the tests. @param vocabulary of the context's field */
async function byContext(
  bands: readonly string[],
  changes: readonly Change[],
  periods: readonly BandPeriod[],
  timeframe: Timeframe,
  vocabulary: readonly string[],
): Promise<Transitions['by_context']> {
  // Loaded on demand: the distributions take longer to load than the query to answer.
  const { contextsOf, contextTests } = await import('./by-context.js')
  const contexts = contextsOf(changes, vocabulary)
  const groups = contexts.map(context => {
    const entered = changes.filter(change => (change.context_band ?? null) === context)
    const begun = periods.filter(period => period.context === context)
    return { context, ...figuresOf(bands, entered, begun, timeframe) }
  })
  return { groups, tests: contextTests(bands, contexts, changes, periods) }
}

/** Throws InvalidParameter for a filter on bands, also of the context: its gaps would look like long periods. */
function refuseBands({ bands, context }: Partial<PoolQuery>): void {
  const [param, value] = bands === undefined ? ['context_band', context?.band] : ['band', bands.join(',')]
  if (value === undefined) return
  throw new InvalidParameter(`transitions count every band; ${param} is none of their parameters.`, { param, value })
}

/** The bands of the vocabulary in its order, then other bands of the changes ascending. */
function bandsOf(changes: readonly Change[], vocabulary: readonly string[]): string[] {
  const bands = new Set(vocabulary)
  for (const { band, prev_band } of changes) bands.add(prev_band).add(band)
  return [...bands].sort(byVocabulary(vocabulary))
}

/** The figures of some changes and of the periods that they began. */
function figuresOf(
  bands: readonly string[],
  changes: readonly Change[],
  periods: readonly BandPeriod[],
  timeframe: Timeframe,
): Figures {
  const periodsByBand = bands.map(band => ({ band, periods: periods.filter(period => period.band === band) }))
  return {
    events: totalCount(changes),
    matrix: transitionMatrix(bands, changes),
    per_bar: perBarMatrix(bands, periods),
    dwell: periodsByBand.map(({ band, periods }) => dwell(band, periods)),
    incidence: periodsByBand.flatMap(({ band, periods }) => leavingShares(band, bands, periods, timeframe)),
  }
}

/** How to read the figures, in sentences. */
function notesOf(tickers: readonly string[], hasContext: boolean): string[] {
  const contextNotes = [
    `A transition counts in the context of its day, a stay in that of the day it began. The tests are chi-square tests, and each row and band is one of its own: of twenty, one finds something by chance. They treat consecutive periods as independent, and find too much. ${TESTS_CHECKED_IN}`,
    ...(tickers.length > 1 ? ['They take stays as independent; tickers that move together make p too small.'] : []),
  ]
  return [
    'First stay left out: the day on which it began is not known.',
    'Active stays count as longer than their bars so far (Kaplan-Meier estimates of the median and of P90, the 90th percentile). The interval of the median is wide, because stays last whole bars.',
    'Intervals of shares and medians count independent cases: stays that begin within a month may have one cause. Those of the shares are in JSON and CSV.',
    ...(hasContext ? contextNotes : []),
  ]
}

/** The 95 % interval of a share, on its effective number of independent cases. */
export type Interval = Pick<ShareInterval, 'low' | 'high' | 'independent'>

/** A row of the transition matrix, event by event. */
export interface FollowingRow extends TransitionRow {
  /** Interval of each share; null where the share is null or 0. */
  intervals: Record<string, Interval | null>
}

export interface TransitionRow {
  from: string
  /** Transitions out of the band; bar by bar: bars in the band whose next bar is known. */
  n: number
  /** By next band; null for the band itself where it cannot follow itself. */
  counts: Record<string, number | null>
  /** counts / n */
  shares: Record<string, number | null>
  /** Why shares off the diagonal are null; null when they are not. */
  reason: string | null
}

/**
 * How often each band was followed by each other one: a row for every band. The intervals are those of the shares. One
 * is null without a change into its band, or if the days of the changes are unknown.
 */
export function transitionMatrix(bands: readonly string[], changes: readonly Change[]): FollowingRow[] {
  const pairs = pairCounter(bands)
  for (const { band, prev_band, times = 1 } of changes) pairs.add(prev_band, band, times)
  return bands.map((from): FollowingRow => {
    const changesFrom = changes.filter(({ prev_band }) => prev_band === from)
    const countsByDay = countByDay(changesFrom)
    const intervals: FollowingRow['intervals'] = {}
    for (const to of bands) {
      intervals[to] = null
      const changesTo = changesFrom.filter(({ band }) => band === to)
      if (changesTo.length === 0 || countsByDay === null) continue
      const { low, high, independent } = shareAmong(changesTo, countsByDay)
      intervals[to] = { low, high, independent }
    }
    const countTo = (to: string): number | null => (to === from ? null : pairs.count(from, to))
    return { ...matrixRow(from, bands, countTo, 'never left in range'), intervals }
  })
}

/**
 * How often each band, itself included, was that of the next bar: a row for every band. In an ended period of L bars
 * the band follows itself L - 1 times. Then the next band follows, if it is in the range. In an active period the band
 * follows itself on each bar after the first. Periods of unknown length are left out.
 */
function perBarMatrix(bands: readonly string[], periods: readonly BandPeriod[]): TransitionRow[] {
  const pairs = pairCounter(bands)
  for (const { band, ended, bars, next, times = 1 } of periods) {
    if (bars === null) continue
    // The bars so far of an active period leave out its first.
    pairs.add(band, band, times * (ended ? bars - 1 : bars))
    if (next !== null) pairs.add(band, next, times)
  }
  const reason = 'no bar in this band has a next bar in the range'
  return bands.map(from => matrixRow(from, bands, to => pairs.count(from, to), reason))
}

/**
 * The row of one band: counts and shares by next band.
 * @param countTo the number of transitions to a band; null for a band that cannot follow
 * @param reason why the shares are null, if there is no transition
 */
function matrixRow(
  from: string,
  bands: readonly string[],
  countTo: (to: string) => number | null,
  reason: string,
): TransitionRow {
  const counts: TransitionRow['counts'] = {}
  const shares: TransitionRow['shares'] = {}
  const n = bands.reduce((sum, to) => sum + (countTo(to) ?? 0), 0)
  for (const to of bands) {
    const count = countTo(to)
    counts[to] = count
    shares[to] = count === null || n === 0 ? null : count / n
  }
  return { from, n, counts, shares, reason: n === 0 ? reason : null }
}

/** Counts how often one band followed another. */
function pairCounter(bands: readonly string[]) {
  const indices = new Map(bands.map((band, i) => [band, i]))
  const counts = new Int32Array(bands.length * bands.length)
  const index = (from: string, to: string): number => indices.get(from)! * bands.length + indices.get(to)!
  return {
    add: (from: string, to: string, times: number): void => {
      counts[index(from, to)]! += times
    },
    count: (from: string, to: string): number => counts[index(from, to)]!,
  }
}

/** Shares of all periods in one band after some bars; with `staying` they add up to 1. */
export interface Leaving {
  band: string
  bars: number
  /** Share that lasts longer (Kaplan-Meier). */
  staying: number | null
  /** By next band: cumulative incidence (Aalen-Johansen); null for the band itself. */
  to: Record<string, number | null>
  /** Ended, but the next band lies outside the query's dates. */
  unknown: number | null
  /** Why the shares are null; null when they are not. */
  reason: string | null
}

/**
 * For each window of the timeframe: which share of the periods have ended by then, by next band (cumulative incidence).
 * The rest last longer. Active periods are censored at their bars so far. Unknown lengths are left out.
 * @param periods the periods in `band`
 * @param bands all bands
 */
export function leavingShares(
  band: string,
  bands: readonly string[],
  periods: readonly BandPeriod[],
  timeframe: Timeframe,
): Leaving[] {
  // The cause of an end is the index of the next band, or this number if the next band is unknown.
  const unknownNext = bands.length
  const spells: CausedSpell[] = []
  for (const { bars, ended, next, times = 1 } of periods) {
    if (bars === null) continue
    const cause = next === null ? unknownNext : bands.indexOf(next)
    spells.push({ length: bars, cause: ended ? cause : null, times })
  }
  const steps = cumulativeIncidence(spells, bands.length + 1)
  const longest = spells.reduce((most, { length }) => Math.max(most, length), 0)
  return TIMEFRAMES[timeframe].windows.map(bars => {
    // Beyond the longest period the shares are known only if all have ended.
    const isTooLong = bars > longest && steps.at(-1)?.survival !== 0
    const reason = whyNoShares(totalCount(periods), totalCount(spells), isTooLong)
    // Before the first step no period has ended.
    const step = stepAt(steps, bars)
    const share = (cause: number): number | null => (reason === null ? (step?.incidence[cause] ?? 0) : null)
    return {
      band,
      bars,
      staying: reason === null ? (step?.survival ?? 1) : null,
      to: Object.fromEntries(bands.map((to, i) => [to, to === band ? null : share(i)])),
      unknown: share(unknownNext),
      reason,
    }
  })
}

/** Why shares are null; null when they are not. @param knownLengths the number of periods of known length */
function whyNoShares(periods: number, knownLengths: number, isTooLong: boolean): string | null {
  if (periods === 0) return 'never entered in range'
  if (knownLengths === 0) return 'how long its stays have lasted is not known'
  return isTooLong ? 'no stay was seen for so long' : null
}
