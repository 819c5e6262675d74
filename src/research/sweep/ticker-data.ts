import { setImmediate } from 'node:timers/promises'
import { InvalidParameter } from '../../core/errors.js'
import { daysAt, indicesIn, isConsecutive, rangeOf, unionCalendar } from '../../core/model/calendar.js'
import { numbersBetween, type Series } from '../../core/model/series.js'
import { windowName } from '../../core/model/terms.js'
import { ANY_EVENT, type EventFilter, type SweepQuery } from '../../core/params/studies.js'
import type { BarStates, MarketBars, PricedSource, Step } from '../../core/source.js'
import { type BarRange, cpcv, type Fold, indicesToTrainOn, kFolds } from '../../core/statistics/folds.js'
import { Random } from '../../core/statistics/random.js'
import { splitIndex, walkForwardFolds } from '../parts.js'
import { contextOn, eligibleBars, MarketColumns, type Signals, signalsIn } from '../study/signals.js'
import { filterWords } from '../trials.js'
import type { KnownSweep, SweepValidation } from './result.js'

/** 1 for each index of the timeline that counts; null: all. */
export type BarMask = Uint8Array | null

/** The days of all tickers from the first on which a field has a band, and the indices of each ticker's bars on it. */
export interface Timeline {
  days: Int32Array
  /** Index after the last day on which a field has a band: only days before it have events. */
  end: number
  /** For each ticker; -1 for a bar before the first day. */
  indices: ReadonlyMap<TickerData, Int32Array>
}

/** The timeline of some tickers, from the first day with a band; it has no days if no field has a band. */
export function timelineOf(tickerData: readonly TickerData[]): Timeline {
  const bandDays: Int32Array[] = []
  for (const data of tickerData) {
    // `firstRun` has one entry a field and a last one, the number of runs.
    const fields = data.firstRun.length - 1
    for (let field = 0; field < fields; field++) bandDays.push(daysWithBand(data, field))
  }
  const { first, last } = rangeOf(bandDays)
  const days = unionCalendar(tickerData.map(data => data.days)).filter(day => first !== null && day >= first)
  const end = last === null ? 0 : days.indexOf(last) + 1
  // Tickers with the same days share one column of indices.
  const calendars = [...new Set(tickerData.map(data => data.days))]
  const indicesByCalendar = new Map(calendars.map(calendar => [calendar, indicesIn(days, calendar)]))
  return { days, end, indices: new Map(tickerData.map(data => [data, indicesByCalendar.get(data.days)!])) }
}

/** The bars on which a field of a ticker has a band, ascending. */
export function barsWithBand({ firstRun, runs }: TickerData, field: number): Int32Array {
  const [from, to] = [firstRun[field]!, firstRun[field + 1]!]
  const firstBar = (run: number): number => runs[2 * run]!
  const endBar = (run: number): number => runs[2 * run + 1]!
  if (to - from === 1) return numbersBetween(firstBar(from), endBar(from))
  let count = 0
  for (let run = from; run < to; run++) count += endBar(run) - firstBar(run)
  const bars = new Int32Array(count)
  let n = 0
  for (let run = from; run < to; run++) for (let bar = firstBar(run); bar < endBar(run); bar++) bars[n++] = bar
  return bars
}

export function daysWithBand(data: TickerData, field: number): Int32Array {
  return daysAt(data.days, barsWithBand(data, field))
}

/** Ascending numbers as runs of consecutive ones. Each run is two numbers: its first, and the one after its last. */
function consecutiveRuns(ascending: Int32Array): number[] {
  if (ascending.length === 0) return []
  const runs = [ascending[0]!]
  if (!isConsecutive(ascending)) {
    for (let i = 1; i < ascending.length; i++)
      if (ascending[i] !== ascending[i - 1]! + 1) runs.push(ascending[i - 1]! + 1, ascending[i]!)
  }
  runs.push(ascending.at(-1)! + 1)
  return runs
}

/** How the days are split: parts to choose on, parts to check on, and the folds. */
export interface ValidationPlan {
  kind: SweepValidation['kind']
  embargo: number
  folds: (Fold & { name: string })[]
  /** Combinatorial: by path and group, the fold that checks the group for the path; and the groups of each fold. */
  paths: { folds: number[][]; groups: number[][] } | null
}

export function hasValidation({ split, walk_forward, cv, cpcv }: SweepQuery): boolean {
  return [split, walk_forward, cv, cpcv].some(kind => kind !== null)
}

/** How the query splits the days; null without validation or bars. Throws InvalidParameter for parts without days. */
export function validationPlanOf(query: SweepQuery, timeline: Timeline): ValidationPlan | null {
  const { split, walk_forward, cv, cpcv } = query
  if (timeline.end === 0) return null
  if (split !== null) return splitPlan(split, timeline)
  if (walk_forward !== null) return walkForwardPlan(walk_forward, timeline)
  if (cv !== null) return cvPlan(cv, timeline)
  return cpcv === null ? null : cpcvPlan(cpcv, timeline)
}

function splitPlan(split: string, { days, end }: Timeline): ValidationPlan {
  const at = splitIndex(days.subarray(0, end), split)
  const folds = [{ name: 'split', train: [{ from: 0, to: at }], test: [{ from: at, to: end }] }]
  return { kind: 'split', embargo: 0, folds, paths: null }
}

function walkForwardPlan(walkForward: NonNullable<SweepQuery['walk_forward']>, { end }: Timeline): ValidationPlan {
  const folds = withNames(walkForwardFolds(end, walkForward), (_, i) => `part ${i + 1}`)
  return { kind: 'walk_forward', embargo: walkForward.embargo, folds, paths: null }
}

function cvPlan({ k, embargo }: NonNullable<SweepQuery['cv']>, { end }: Timeline): ValidationPlan {
  if (k > end) throw tooFew('cv', end, `at least one bar for each of ${k} folds`)
  const folds = withNames(kFolds(end, k, embargo), (_, i) => `fold ${i + 1} of ${k}`)
  return { kind: 'cv', embargo, folds, paths: null }
}

/** The folds of a plan with their names, and without other keys. */
function withNames<One extends Fold>(
  folds: readonly One[],
  name: (fold: One, i: number) => string,
): ValidationPlan['folds'] {
  return folds.map((fold, i) => ({ name: name(fold, i), train: fold.train, test: fold.test }))
}

/** Combinatorial purged cross-validation: every choice of k of the n groups of bars is tested once. */
function cpcvPlan({ n, k }: NonNullable<SweepQuery['cpcv']>, { end }: Timeline): ValidationPlan {
  if (n > end) throw tooFew('cpcv', end, `at least one bar for each of ${n} groups`)
  const { splits, paths } = cpcv(end, n, k)
  const folds = withNames(splits, ({ groups }) => `groups ${groups.map(group => group + 1).join(', ')}`)
  return { kind: 'cpcv', embargo: 0, folds, paths: { folds: paths, groups: splits.map(split => split.groups) } }
}

function tooFew(param: string, bars: number, allowed: string): InvalidParameter {
  return new InvalidParameter(`${param} needs ${allowed}; there are ${bars}.`, { param, value: bars, allowed })
}

/**
 * The bars on which a fold may choose, for one horizon. Windows in the training part must not meet a test part, the
 * windows that begin in one, or the embargo after it (López de Prado 2018, ch. 7).
 * @param ends for each index of the timeline, the end of the last window that begins there
 */
export function trainMask(fold: ValidationPlan['folds'][number], embargo: number, ends: Int32Array): Uint8Array {
  const windows = Array.from(ends, (end, start) => ({ start, end }))
  const train = rangeMask(fold.train, ends.length)
  const mask = new Uint8Array(ends.length)
  for (const index of indicesToTrainOn(windows, fold.test, embargo)) mask[index] = train[index]!
  return mask
}

/** A mask of `length` bars that counts those in some ranges. */
export function rangeMask(ranges: readonly BarRange[], length: number): Uint8Array {
  const mask = new Uint8Array(length)
  for (const { from, to } of ranges) mask.fill(1, from, to)
  return mask
}

/** For each index of the timeline: the end of the last window that begins there, over all tickers. */
export function lastWindowEnds({ days, indices }: Timeline, horizon: number): Int32Array {
  const ends = Int32Array.from(days.keys())
  for (const indicesOfTicker of indices.values()) {
    const last = indicesOfTicker.length - 1
    for (let bar = 0; bar <= last; bar++) {
      const index = indicesOfTicker[bar]!
      if (index >= 0) ends[index] = Math.max(ends[index]!, indicesOfTicker[Math.min(last, bar + horizon)]!)
    }
  }
  return ends
}

/**
 * A sweep's data of one ticker, read once. Columns hold all fields, one after the other, in the order of the query. An
 * object for each field would take more memory than the events in it. The events of a field are grouped by the band
 * that they enter.
 */
export interface TickerData {
  ticker: string
  days: Int32Array
  prices: { series: Pick<Series, 'close'>; delisting: MarketBars['delisting'] }
  /** The number of each field's first run of bars with a band, and the number of runs. Most fields have one run. */
  firstRun: Int32Array
  /** The first bar of each run, and the one after its last. */
  runs: Int32Array
  /** Row of the first event of each group, and the number of rows. */
  groupStart: Int32Array
  bars: Uint16Array | Int32Array
  /** Code of the band that each event leaves; empty unless the query asks for it. */
  leftBand: Uint8Array
  /** Code of the band of each context in the query. */
  contexts: Uint8Array[]
}

/** Reads the data of the tickers, ascending and each once, so that the order of the query does not matter. */
export async function readTickers(
  source: PricedSource,
  query: KnownSweep,
  checkpoint: Checkpoint,
): Promise<TickerData[]> {
  const tickers = [...new Set(query.tickers)].sort()
  const { fields, timeframe, when, lag } = query
  const contexts = await contextsOf(source, query)
  // Memory for the columns of all tickers; equal columns of days are stored once.
  const columns = new MarketColumns()
  const tickerData: TickerData[] = []
  const allFields = when === undefined ? fields : [...fields, when]
  for await (const barStates of source.states({ tickers, fields: allFields, timeframe, lag, copiesBars: true })) {
    tickerData.push(tickerDataOf(barStates, query, contexts, columns))
    await checkpoint(() => `reading ${barStates.prices.ticker}, ${tickerData.length} of ${tickers.length}`)
  }
  return tickerData
}

type ContextCodes = Awaited<ReturnType<typeof contextOn>>['codesOn']

/** For each context of the query, a function for the codes of its bands on the bars of a ticker. */
async function contextsOf(source: PricedSource, { contexts, timeframe }: SweepQuery): Promise<ContextCodes[]> {
  return Promise.all(contexts.map(async context => (await contextOn(source, context, timeframe)).codesOn))
}

/** The data of one ticker, from its bars and the states of all fields. @param columns memory that all tickers share */
function tickerDataOf(
  { prices, states }: BarStates,
  query: KnownSweep,
  contexts: readonly ContextCodes[],
  columns: MarketColumns,
): TickerData {
  const { timeframe, after, before, when } = query
  const { ticker, series, delisting } = prices
  const truths = when === undefined ? null : states.at(-1)!.codes
  const fieldStates = states.slice(0, query.fields.length)
  const runs = fieldStates.map(states => consecutiveRuns(eligibleBars(prices, states, query)))
  const firstRun = new Int32Array(runs.length + 1)
  runs.forEach(({ length: numbers }, field) => {
    // A run is two numbers.
    firstRun[field + 1] = firstRun[field]! + numbers / 2
  })
  const anyContext = null
  const signals = fieldStates.map(states => {
    const anyEvent = { ...ANY_EVENT, field: states.field, timeframe, after, before }
    return signalsIn(prices, states, anyEvent, anyContext, truths)
  })
  const { groupStart, bars, leftBand } = groupByBand(signals, query, series.days.length)
  return {
    ticker,
    days: columns.ascending(series.days),
    prices: { series: { close: columns.copy(series.close) }, delisting },
    firstRun: columns.copy(firstRun),
    runs: columns.copy(Int32Array.from(runs.flat())),
    groupStart: columns.copy(groupStart),
    bars: columns.copy(bars),
    leftBand: columns.copy(leftBand),
    contexts: contexts.map(codes => columns.copy(codes(series, bars))),
  }
}

/** The columns of a ticker's events, grouped by field and entered band, by a counting sort. */
function groupByBand(
  signals: readonly Signals[],
  query: KnownSweep,
  barCount: number,
): Pick<TickerData, 'groupStart' | 'bars' | 'leftBand'> {
  const firstOfField = query.fields.map((_, field) => firstGroup(query, field))
  const groupStart = new Int32Array(firstGroup(query, query.fields.length) + 1)
  // First the number of events of the group before, then the sum of all groups before.
  signals.forEach(({ entered }, field) => {
    for (const band of entered) groupStart[firstOfField[field]! + band + 1]!++
  })
  for (let group = 1; group < groupStart.length; group++) groupStart[group]! += groupStart[group - 1]!
  const rows = groupStart.at(-1)!
  const bars = barCount > 2 ** 16 ? new Int32Array(rows) : new Uint16Array(rows)
  const leftBand = new Uint8Array(query.prev_band ? rows : 0)
  const nextRow = groupStart.slice()
  signals.forEach((events, field) => {
    for (let i = 0; i < events.bars.length; i++) {
      const row = nextRow[firstOfField[field]! + events.entered[i]!]!++
      bars[row] = events.bars[i]!
      // Without the query's `prev_band` the column is empty and ignores this.
      leftBand[row] = events.left[i]!
    }
  })
  return { groupStart, bars, leftBand }
}

/** The number of a field's first group of events: each band of the fields before it has a group. */
function firstGroup(query: ConditionQuery, field: number): number {
  return query.fields.slice(0, field).reduce((sum, name) => sum + vocabulary(query, name).length, 0)
}

/** The events of a cell, without window and ticker: indices into the query's lists, and codes of the vocabularies. */
export interface Condition {
  field: number
  band: number
  /** The number of the group of events that enter the band. */
  bandGroup: number
  prev_band: number | null
  context: { contextIndex: number; band: number } | null
}

export interface Combination {
  condition: Condition
  horizon: number
  /** null: all tickers together */
  ticker: string | null
}

type ConditionQuery = Pick<
  KnownSweep,
  'fields' | 'bands' | 'when' | 'lag' | 'contexts' | 'prev_band' | 'timeframe' | 'after' | 'before' | 'vocabularies'
>

/** The conditions of one field: each queried band, split by previous band and context band if the query says so. */
export function conditionsOf(query: ConditionQuery, field: number): Condition[] {
  const bandNames = vocabulary(query, query.fields[field]!)
  const bands = [...bandNames.keys()]
  const contextBands = query.contexts.flatMap((context, contextIndex) =>
    vocabulary(query, context.field).map((_, band) => ({ contextIndex, band })),
  )
  const contexts = contextBands.length === 0 ? [null] : contextBands
  const entered = bands.filter(band => query.bands?.includes(bandNames[band]!) ?? true)
  const firstOfField = firstGroup(query, field)
  const conditions: Condition[] = []
  for (const band of entered) {
    const prevBands = query.prev_band ? bands.filter(left => left !== band) : [null]
    for (const prev_band of prevBands)
      for (const context of contexts)
        conditions.push({ field, band, bandGroup: firstOfField + band, prev_band, context })
  }
  return conditions
}

/** The name of a cell. It depends only on the cell itself, not on the other cells of the query. */
export function nameOf({ condition, horizon, ticker }: Combination, query: ConditionQuery): string {
  const words = [...filterWords(filterOf(condition, query)), windowName(horizon, query.timeframe)]
  if (ticker !== null) words.push(ticker)
  return words.join('; ')
}

/** The condition as the filter of an event study. */
export function filterOf({ field, band, prev_band, context }: Condition, query: ConditionQuery): EventFilter {
  const { timeframe, after, before, when, lag } = query
  const name = query.fields[field]!
  const bands = vocabulary(query, name)
  const contextOfQuery = context === null ? null : query.contexts[context.contextIndex]!
  return {
    ...ANY_EVENT,
    field: name,
    timeframe,
    after,
    before,
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    bands: [bands[band]!],
    prev_bands: prev_band === null ? null : [bands[prev_band]!],
    context: contextOfQuery && { ...contextOfQuery, bands: [vocabulary(query, contextOfQuery.field)[context!.band]!] },
  }
}

function vocabulary({ vocabularies }: ConditionQuery, field: string): readonly string[] {
  return vocabularies.get(field) ?? []
}

/** Milliseconds of work without a pause. */
const WORK_MS = 40

/** Reports progress of long work, and lets other work run now and then. Cheap to await often. */
export type Checkpoint = (text: () => string) => Promise<void>

/** Makes a checkpoint. It does nothing until WORK_MS have passed since the last pause. */
export function checkpointOf(step: Step | undefined): Checkpoint {
  let nextPause = performance.now() + WORK_MS
  return async text => {
    if (performance.now() < nextPause) return
    step?.(text)
    await setImmediate()
    nextPause = performance.now() + WORK_MS
  }
}

/** A generator whose stream is the FNV-1a hash of a name, so that other cells never change a cell's draws. */
export function namedStream(seed: number, name: string): Random {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return Random.stream(new Random(seed).word(), hash)
}
