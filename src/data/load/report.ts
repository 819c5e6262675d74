import { type BadData, counted, parameter, type Remedy, sentence, type Words } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { FactKind } from '../../core/model/facts.js'
import type { Adjustment } from '../../core/model/series.js'
import { MAX_WARNINGS_SHOWN } from '../feeds/bars.js'
import type {
  FactsResult,
  Input,
  ReadOptions,
  ReadResult,
  Remark,
  TickerBars,
  Warning,
  WarningKind,
} from '../feeds/feed.js'
import type { Counts } from './merge.js'
import { type SeamMismatch, splitName } from './seam.js'

export interface ImportProgress {
  /** The file, as shown to people; empty while a store is rebuilt, the sector while one is settled. */
  file: string
  stage: 'reading' | 'merging' | 'deriving' | 'settling'
  /** Bytes while reading, steps while settling, otherwise tickers; `of` is null where the whole is not known. */
  done: number
  of: number | null
  rows: number
}

export interface ImportOptions extends Omit<ReadOptions, 'onProgress'> {
  /** Replace each ticker by the file's bars; of facts, the kinds that the file has. */
  replace?: boolean
  /** Bring stored bars to the scale of the file, if they differ by a split or another single factor. */
  rescale?: boolean
  /** Store such bars unchanged; the jump stays visible. */
  acceptJump?: boolean
  /** Handles a refused file or ticker; without it, the run ends there. @param reason of a refused ticker */
  onRefused?(error: BadData, reason?: RefusedTicker['reason']): void | Promise<void>
  onProgress?(progress: ImportProgress): void
}

export interface TickerReport extends Counts {
  ticker: string
  prices: Adjustment
  /** The whole series afterwards. */
  bars: number
  first: string
  last: string
  /** The factor that stored bars were multiplied by. */
  rescaled?: number
  /** What the user ought to know, a sentence. */
  note?: string
}

/** A ticker whose bars do not fit the stored ones, and were not loaded. */
export interface RefusedTicker {
  ticker: string
  /**
   * `split`: the price jumps by the ratio of a split. `factor`: the closes of the same days differ by one factor. In
   * both cases the stored prices are on another scale. `another_instrument`: most of those closes differ, and by no
   * single factor. `adjustment`: the stored prices are of the other kind. `pulled`: the store has its events
   * from a server.
   * `refused_before`: an earlier file of the run did not fit.
   */
  reason: SeamMismatch['reason'] | 'adjustment' | 'pulled' | 'refused_before'
  /** The factor that would make the stored prices fit; null if none does. */
  factor: number | null
  /** The first day on which the file and the store part; null where it is not one of a jump or factor. */
  date: string | null
  message: Words
  /** The options with which the import loads the ticker and loses no stored bar; absent without such options. */
  loadsWith?: Remedy['params']
}

export interface BarsReport extends Omit<ReadResult, 'tickers' | 'withoutVolume' | 'release'> {
  tickers: TickerReport[]
  refused: RefusedTicker[]
  /** Number of tickers that a stopped import of the same file had finished; here they count as unchanged. */
  resumed?: number
}

/** One kind of a ticker's facts after an import. */
export interface SheetReport extends Counts {
  ticker: string
  kind: FactKind
  /** All stored records, with their first and last dates; null for undated kinds. */
  records: number
  first: string | null
  last: string | null
}

export interface FactsReport extends Omit<FactsResult, 'facts'> {
  facts: SheetReport[]
  /** Tickers that have no bars yet, so that no field uses their facts. */
  without_bars: number
  /** Records that are hardly meant so, in words for people. */
  doubts: Words[]
}

/** What became of one file. */
export type FileReport = BarsReport | FactsReport

export interface SourcedBars extends TickerBars {
  source: string
  format: string
}

export type ReadFile = (input: Input, options: ReadOptions) => Promise<ReadResult | FactsResult>

/**
 * The refusal of a ticker whose bars do not fit the stored ones, with the remedies.
 * @param bars number of bars of the ticker
 * @param canRescale whether rescaled stored bars would fit
 */
export function seamRefusal(
  ticker: string,
  mismatch: SeamMismatch,
  bars: { stored: number; incoming: number },
  { canRescale = false }: { canRescale?: boolean } = {},
): RefusedTicker {
  const { reason } = mismatch
  if (reason === 'another_instrument') {
    let differing = 'the prices of the one day that is stored too'
    if (mismatch.common !== 1)
      differing = `${mismatch.differing} of ${mismatch.common} closes of days that are stored too`
    const message = sentence`${ticker}: ${differing} differ by more than 1 %, and by no common factor, so these are prices of another instrument; check which it is (${parameter('ticker')} names it), or import the whole history of ${ticker}; ${parameter('replace')} starts ${ticker} again from this file, and leaves ${bars.incoming} bars instead of ${bars.stored}`
    return { ticker, reason, factor: null, date: null, message }
  }
  const factor = mismatch.scale.by / mismatch.scale.over
  const remedies = sentence`import the whole history${canRescale ? sentence`, or ${parameter('rescale')} multiplies what is stored by it` : ''}, or ${parameter('accept_jump')} stores the bars as they are`
  const message = sentence`${ticker}: ${mismatchInWords(mismatch, factor)}; ${remedies}`
  const refusal = { ticker, reason, factor, date: formatDay(mismatch.jumps[0]!.day), message }
  // The factor of a dividend must not be multiplied, so the user has to choose.
  return reason === 'split' && canRescale ? { ...refusal, loadsWith: { rescale: true } } : refusal
}

/** The factor between the prices of a file and the stored ones in words, with the likely cause. */
function mismatchInWords(mismatch: Exclude<SeamMismatch, { reason: 'another_instrument' }>, factor: number): string {
  const times = `${Number(factor.toPrecision(6))} times`
  const jump = mismatch.jumps[0]!
  const split = splitName(jump.factor)
  if (mismatch.reason === 'factor') {
    const cause = split === null ? 'a dividend or split' : `a ${split} split`
    if (mismatch.common === 1)
      return `the four prices of the day that is stored too are ${times} the stored ones in this file, as after ${cause}`
    return `closes in this file are ${times} those that are stored of the same ${mismatch.common} days, as after ${cause}`
  }
  const prices = `prices in this file are ${times} those that are stored`
  if (mismatch.split !== undefined)
    return `${prices}, as by the split of ${formatDay(mismatch.split.ex_date)} that is stored`
  return `${prices}, as by a ${split} split between ${formatDay(jump.from)} and ${formatDay(jump.day)}`
}

/** An oddity where bars of a file meet stored ones. */
export interface SourcedOddity {
  kind: WarningKind
  ticker: string
  day: Day
  detail: Words
}

/** A file's warnings, with the oddities counted under their kinds; of each kind the first ones are listed. */
export function withOddities(
  { file, warnings }: Pick<ReadResult, 'file' | 'warnings'>,
  oddities: readonly SourcedOddity[],
): Warning[] {
  const byKind = new Map(warnings.map(warning => [warning.kind, { ...warning, first: [...warning.first] }]))
  for (const { kind, ticker, day, detail } of oddities) {
    const warning = byKind.get(kind) ?? { kind, count: 0, first: [] }
    byKind.set(kind, warning)
    if (warning.count++ < MAX_WARNINGS_SHOWN) warning.first.push({ ticker, date: formatDay(day), place: file, detail })
  }
  return [...byKind.values()]
}

/** The remark that some fields stay empty for tickers without volume; an empty list if all of a file have volume. */
export function volumeRemarks(withoutVolume: readonly string[], tickers: number): Remark[] {
  const count = withoutVolume.length
  if (count === 0) return []
  const fields = FIELDS.filter(field => field.usesVolume).map(({ name }) => name)
  const isEveryTicker = count === tickers
  const ofTickers = tickers === 1 ? '' : ` of ${isEveryTicker ? 'any ticker' : counted(count, 'ticker')}`
  const what = `no volume${ofTickers}: ${fields.join(' and ')} stay empty`
  return [{ what, count: 1, first: isEveryTicker ? [] : withoutVolume.slice(0, MAX_WARNINGS_SHOWN) }]
}
