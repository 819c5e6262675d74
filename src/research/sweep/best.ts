import { numberText } from '../../core/errors.js'
import { windowName } from '../../core/model/terms.js'
import type { SweepQuery } from '../../core/params/studies.js'
import { median, variance } from '../../core/statistics/moments.js'
import { type Column, pbo, type SuperiorAbility, superiorAbility } from '../../core/statistics/selection.js'
import { deflatedSharpe, sampleOf } from '../../core/statistics/sharpe.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import { formatProbability } from '../study/words.js'
import { type CellDetails, type CellResult, detailsOf, type Resamples, type SweepRun } from './cells.js'
import type { Sums } from './pool.js'
import type { BestOfMany, KnownSweep, SweepCell } from './result.js'
import { type Checkpoint, filterOf, namedStream } from './ticker-data.js'

/** Limit on the returns in memory (cells times days): 16 MB, and a few seconds of work. */
const MAX_RETURNS = 2_000_000

/** Collects what the tests of the best cell need, with a limit on memory. */
export class Contest {
  readonly #days: number
  readonly #names: string[] = []
  readonly #columns: Column[] = []
  /** Mean block of each cell's interval. */
  readonly #blocks: number[] = []
  #returns: Float64Array[] | null = []
  #bestBySharpe: { name: string; sharpe: number; returns: Float64Array } | null = null

  /** @param days of the timeline */
  constructor(days: number) {
    this.#days = days
  }

  /** Adds a tested cell to the contest. Forgets the returns of all cells once they are too many. */
  enter(name: string, details: CellDetails): void {
    this.#names.push(name)
    this.#columns.push(details.column)
    this.#blocks.push(details.block)
    this.#returns?.push(details.returns)
    if ((this.#returns?.length ?? 0) * this.#days > MAX_RETURNS) this.#returns = null
    const { sharpe, returns, span } = details
    if (sharpe === null || !isBetter({ name, sharpe }, this.#bestBySharpe)) return
    this.#bestBySharpe = { name, sharpe, returns: returns.slice(span.from, span.to) }
  }

  /** Tests the best cell. @param trials number of trials, and the Sharpe ratios of those that have one */
  async judge(
    query: Pick<SweepQuery, 'resamples' | 'pbo_blocks' | 'seed'>,
    trials: { tried: number; sharpes: readonly number[] },
    checkpoint: Checkpoint,
  ): Promise<BestOfMany> {
    const reasons: Record<string, string> = {}
    await checkpoint(() => `testing the best of ${numberText(this.#names.length)}`)
    const ability = await this.#superiorAbility(query, reasons, checkpoint)
    await checkpoint(() => `probability of overfitting, ${numberText(this.#names.length)} combinations`)
    return {
      cells: this.#names.length,
      resamples: query.resamples,
      ...ability,
      ...this.#deflatedSharpe(trials, reasons),
      pbo: this.#overfitting(query.pbo_blocks, reasons),
      reasons,
    }
  }

  /** The reality check and SPA of all cells, each with both signs. @param reasons gets the reason for each null */
  async #superiorAbility(
    { resamples, seed }: Pick<SweepQuery, 'resamples' | 'seed'>,
    reasons: Record<string, string>,
    checkpoint: Checkpoint,
  ): Promise<Pick<BestOfMany, 'block' | 'reality_check' | 'spa' | 'best_cell'>> {
    const block = median(this.#blocks)
    const testResamples =
      block === null ? null : superiorAbility(this.#columns, this.#days, { block, eitherSign: true })
    if (testResamples === null) {
      reasons.reality_check = reasons.spa = whyNoneTested(this.#names.length)
      return { block, reality_check: null, spa: null, best_cell: null }
    }
    const repsByPart = resamplesByPart(resamples, this.#columns)
    const parts: { reps: number; ability: SuperiorAbility }[] = []
    for (const [i, reps] of repsByPart.entries()) {
      parts.push({ reps, ability: testResamples(reps, namedStream(seed, `best of many, part ${i}`)) })
      await checkpoint(() => `best of ${numberText(this.#names.length)}, ${i + 1} of ${repsByPart.length}`)
    }
    const p = (name: 'realityCheck' | 'lower' | 'consistent' | 'upper'): number =>
      combinedP(parts.map(({ reps, ability }) => ({ reps, p: ability[name] })))
    return {
      block,
      reality_check: p('realityCheck'),
      spa: { lower: p('lower'), consistent: p('consistent'), upper: p('upper') },
      best_cell: this.#names[parts[0]!.ability.best]!,
    }
  }

  /** The deflated Sharpe ratio of the cell with the best ratio. @param reasons gets the reason for each null */
  #deflatedSharpe(
    { tried, sharpes }: { tried: number; sharpes: readonly number[] },
    reasons: Record<string, string>,
  ): Pick<BestOfMany, 'deflated_sharpe' | 'best_sharpe' | 'best_sharpe_cell'> {
    const best = this.#bestBySharpe
    if (best === null) {
      reasons.best_sharpe = reasons.deflated_sharpe = whyNoneTested(this.#names.length)
      return { deflated_sharpe: null, best_sharpe: null, best_sharpe_cell: null }
    }
    const { name, sharpe, returns } = best
    const ratioVariance = variance(sharpes)
    const sample = sampleOf(sharpe, returns, 1)!
    const deflated = deflatedSharpe({ ...sample, trials: tried, variance: ratioVariance })
    if (ratioVariance === null) reasons.deflated_sharpe = 'a single Sharpe ratio has no variance to deflate by'
    else if (deflated === null) reasons.deflated_sharpe = 'the moments of its returns give no standard error'
    return { deflated_sharpe: deflated, best_sharpe: sharpe, best_sharpe_cell: name }
  }

  /** The probability of overfitting; null with its reason in `reasons`. */
  #overfitting(blocks: number, reasons: Record<string, string>): BestOfMany['pbo'] {
    if (this.#returns === null) {
      const [cells, days] = [this.#names.length, this.#days].map(numberText)
      reasons.pbo = `the returns of ${cells} combinations over ${days} days are too many to hold at once`
      return null
    }
    const estimate = pbo(this.#returns, blocks)
    if ('reason' in estimate) {
      reasons.pbo = estimate.reason
      return null
    }
    return estimate.overfitting
  }
}

/** Products of a day and a resample in one part: less than a second of work, then other work gets its turn. */
const MAX_PRODUCTS_A_PART = 200_000_000

/** The number of resamples in each part, about equal: as many as MAX_PRODUCTS_A_PART allows, at least one. */
function resamplesByPart(resamples: number, columns: readonly Column[]): number[] {
  // A column is tested once with each sign.
  const products = 2 * resamples * columns.reduce((sum, { indices }) => sum + indices.length, 0)
  const parts = Math.min(resamples, Math.max(1, Math.ceil(products / MAX_PRODUCTS_A_PART)))
  const endOfPart = (part: number): number => Math.floor(((part + 1) * resamples) / parts)
  return Array.from({ length: parts }, (_, part) => endOfPart(part) - endOfPart(part - 1))
}

/** The p of all resamples from the p of their parts. A p is (1 + resamples at least as great) / (1 + resamples). */
function combinedP(parts: readonly { reps: number; p: number }[]): number {
  let asGreat = 0
  let resamples = 0
  for (const { reps, p } of parts) {
    asGreat += Math.round(p * (1 + reps)) - 1
    resamples += reps
  }
  return (1 + asGreat) / (1 + resamples)
}

/** Whether a cell has a higher Sharpe ratio than the best one so far. Of equal ratios, the first name is better. */
function isBetter(cell: { name: string; sharpe: number }, best: { name: string; sharpe: number } | null): boolean {
  if (best === null) return true
  return cell.sharpe > best.sharpe || (cell.sharpe === best.sharpe && cell.name < best.name)
}

function whyNoneTested(cells: number): string {
  return cells === 0 ? 'no combination has enough events to be tested' : 'no combination varies'
}

/** The advice to believe SPA, where it finds nothing and the deflated Sharpe ratio does; otherwise empty. */
export function disagreements({ spa, deflated_sharpe: deflated }: BestOfMany): string[] {
  const ability = spa?.consistent ?? null
  if (ability === null || ability < LEVEL || deflated === null || 1 - deflated >= LEVEL) return []
  return [
    `SPA finds nothing (p ${formatProbability(ability)}), the deflated Sharpe ratio does (${formatProbability(deflated)}): believe SPA. The ratio is that of holding, the rise of the market included; SPA asks what the events add to any bar.`,
  ]
}

/** The stored part of a cell's result. */
export interface CellSummary
  extends Omit<CellResult, 'cell' | 'pool'>,
    Omit<CellDetails, 'returns' | 'span' | 'block' | 'column'> {}

const UNTESTED = { low: null, high: null, sharpe: null }

/** A stored result, and its entry for the contest; `details` is null without a test or a contest. */
export interface CellOutcome {
  summary: CellSummary
  details: CellDetails | null
}

/** The stored part of a result, with the details of a tested cell. @param resamples null: only p is needed */
export function outcomeOf(result: CellResult, run: SweepRun, resamples: Resamples | null): CellOutcome {
  const { cell, pool: _, ...stored } = result
  if (cell === null || resamples === null) return { summary: { ...stored, ...UNTESTED }, details: null }
  const tested = detailsOf({ ...result, cell }, run, resamples)
  const { low, high, sharpe } = tested
  return { summary: { ...stored, low, high, sharpe }, details: tested }
}

/** A cell (a condition, a horizon, and one ticker or all) as the result lists it; grey if untested. */
export function sweepCell(
  summary: CellSummary & { q: number | null },
  query: KnownSweep,
): Omit<SweepCell, 'log_q' | 'verdict'> {
  const { key, events, sums, baseHit, nonOverlapping, hit, p, q, low, high, t, sharpe, reason } = summary
  const { field, bands, prev_bands, context } = filterOf(key.condition, query)
  return {
    ticker: key.ticker,
    field,
    band: bands![0]!,
    prev_band: prev_bands?.[0] ?? null,
    context: context && { ticker: context.ticker, field: context.field, band: context.bands![0]! },
    window: windowName(key.horizon, query.timeframe),
    horizon: key.horizon,
    events,
    n: sums.n,
    // The first counts events whose windows share no bar; the second is the effective number for the hit interval.
    n_indep: nonOverlapping,
    n_independent: hit.independent,
    lost: events - sums.n,
    ...meansOf(sums),
    hit: hit.share,
    hit_low: hit.low,
    hit_high: hit.high,
    base_hit: baseHit,
    low,
    high,
    p,
    q,
    t,
    sharpe,
    grey: p === null,
    reason,
  }
}

/** Mean return of the events, of their base, and the difference; null without events. */
function meansOf({ n, returns, base }: Sums) {
  if (n === 0) return { mean: null, base: null, diff: null }
  return { mean: returns / n, base: base / n, diff: returns / n - base / n }
}
