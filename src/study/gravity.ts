/**
 * What a reader must be wary of, the gravest first: a page and a terminal show the first two at once. Warnings of one
 * kind keep the order in which they were found.
 */
export const GRAVITY = [
  /** There is nothing to read. */
  'nothing',
  /** Nobody could have done that, or lived through it. */
  'impossible',
  /** Too few cases to say anything. */
  'few',
  /** Tests disagree, or one of them finds too much. */
  'disputed',
  /** Something was asked of all that only a part of it answers, or that a choice decided. */
  'partial',
  /** It looks better than it would have been. */
  'flattering',
  /** The tests allow for it, plain numbers beside them do not. */
  'allowed',
  /** More was looked at than one thing. */
  'looks',
  /** What counts nowhere. */
  'left_out',
  /** What the prices lack. */
  'prices',
  /** What was asked for has no effect. */
  'settings',
  /** What the source says of itself. */
  'source',
] as const

export type Gravity = (typeof GRAVITY)[number]

/** A sentence and what kind it is of; null where there is nothing to say. */
export type Warning = readonly [Gravity, string | null]

/** The sentences alone, of any study, backtest or sweep. */
export function gravestFirst(warnings: readonly Warning[]): string[] {
  return GRAVITY.flatMap(kind => warnings.flatMap(([own, sentence]) => (own === kind ? (sentence ?? []) : [])))
}
