/**
 * The trial ledger: every distinct cell or strategy that was ever looked at, known by the hash of what was asked and of
 * the range of data that answered. The number of looks is what a best result has to be deflated by.
 */
export interface Trials {
  /** Adds those that are new. The answer: how many distinct ones there are now, of the kind and of all kinds. */
  note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }>
  /** All of a kind, in the order in which they came. */
  of(kind: TrialKind): Promise<readonly Trial[]>
  close(): Promise<void>
}

export type TrialKind = 'cell' | 'strategy'

export interface Trial {
  /** Hex SHA-256 of the spec and the data range, canonical JSON. */
  hash: string
  /** The same for people: `rsi_zone = oversold, 20d, 505 tickers, 2013-02-08 to 2018-02-07`. */
  spec: string
  /** Two-sided p of a cell; null where it has none. */
  p: number | null
  /** Sharpe ratio per bar, of a strategy or of a cell's calendar-time portfolio; null where it has none. */
  sharpe: number | null
}
