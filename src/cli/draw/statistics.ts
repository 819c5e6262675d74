import { type Cell, type Column, share, signed, textOf, toned, whole } from './table.js'

/** Statistics as people read them; what is not known is a dash. */

export const UNKNOWN = '-'

/** A return or a difference of returns, painted by its sign. */
export function returnCell(value: number | null): Cell {
  return value === null ? UNKNOWN : toned(signed(value), Math.sign(value))
}

export function returnText(value: number | null): string {
  return value === null ? UNKNOWN : signed(value)
}

export function shareText(value: number | null): string {
  return value === null ? UNKNOWN : share(value)
}

/** `-1.2 to +4.5%` of returns. */
export function returnRange({ low, high }: { low: number | null; high: number | null }): string {
  return low === null || high === null ? UNKNOWN : `${signed(low).slice(0, -1)} to ${signed(high)}`
}

/** A class of returns: `-4.0..+0.0%`. */
export function classLabel(from: number, to: number): string {
  return `${signed(from).slice(0, -1)}..${signed(to)}`
}

/** `27-65%` of shares. */
export function shareRange({ low, high }: { low: number | null; high: number | null }): string {
  return low === null || high === null ? UNKNOWN : `${share(low).slice(0, -1)}-${share(high)}`
}

/** A probability in three decimals: `.042`, `<.001`. */
export function probability(p: number | null): string {
  if (p === null) return UNKNOWN
  if (p < 0.0005) return '<.001'
  return p.toFixed(3).replace(/^0/, '')
}

/** A ratio in two decimals. */
export function ratio(value: number | null, decimals = 2): string {
  if (value === null) return UNKNOWN
  const text = value.toFixed(decimals)
  return Number(text) === 0 ? text.replace('-', '') : text
}

/** `5%`, `0.25%`, as exact as it was given. */
export function percentage(rate: number): string {
  return `${Number((rate * 100).toFixed(4))}%`
}

/** An amount of money, whether the start was 1 or a hundred thousand. */
export function money(value: number): string {
  return value < 1000 ? value.toFixed(2) : whole(Math.round(value))
}

/** A row of too little to be read as a finding. */
export function greyed(cells: readonly Cell[], grey: boolean): Cell[] {
  return cells.map(cell => (grey ? { text: textOf(cell), tone: 'faint' } : cell))
}

/** A column of numbers. */
export function right(title: string, spare?: number): Column {
  return { title, align: 'right', ...(spare === undefined ? {} : { spare }) }
}

/** `3 tickers`, or their names where they are few. */
export function whoText(tickers: readonly string[]): string {
  return tickers.length <= 3 ? tickers.join(', ') : `${whole(tickers.length)} tickers`
}

/** What an answer was narrowed to beside the bands entered, as documents spell it. */
export interface Conditions {
  prev_bands: readonly string[] | null
  stability: readonly string[] | null
  max_flips: number | null
  context: { ticker: string; field: string; bands: readonly string[] | null; lag: 0 | 1 } | null
}

/** The same in words, one each; the bands left are a part of what the event is called. */
export function conditionTexts({ stability, max_flips, context }: Omit<Conditions, 'prev_bands'>): string[] {
  return [
    ...(context === null ? [] : [contextText(context)]),
    ...(stability === null ? [] : [`stability ${stability.join(' or ')}`]),
    ...(max_flips === null ? [] : [`at most ${max_flips} ${max_flips === 1 ? 'flip' : 'flips'}`]),
  ]
}

/** ` from neutral_low or neutral`. */
export function fromText({ prev_bands }: Pick<Conditions, 'prev_bands'>): string {
  return prev_bands === null ? '' : ` from ${prev_bands.join(' or ')}`
}

function contextText({ ticker, field, bands, lag }: NonNullable<Conditions['context']>): string {
  const state = bands === null ? '' : ` = ${bands.join(' or ')}`
  return `${bands === null ? 'beside' : 'while'} ${ticker} ${field}${state}${lag === 1 ? ' a bar before' : ''}`
}
