import { formatDay, weekdayOf } from '../model/day.js'
import type { Series } from '../model/series.js'
import type { Oddity, Warning, WarningKind } from './feed.js'

/** More days without a bar than any holiday explains; a ticker that trades at weekends knows no holiday. */
const GAP_DAYS = 5
/** A close this far from the one before is a split, a slip or a day to remember. */
const JUMP = 0.3
const SHOWN = 3
const KINDS: readonly WarningKind[] = ['not_daily', 'outside_range', 'zero_volume', 'gap', 'jump']

/** Gathers what looks odd in a file and stays: counts, and the first few of each kind. */
export class Oddities {
  readonly #found = new Map<WarningKind, Warning>()
  readonly #placeOf: (row: number) => string

  constructor(placeOf: (row: number) => string) {
    this.#placeOf = placeOf
  }

  /** In a fixed order of kinds. */
  get warnings(): Warning[] {
    return KINDS.flatMap(kind => this.#found.get(kind) ?? [])
  }

  /** Looks through the bars of one ticker; `rows` tells where each stands in the file. */
  inspect(ticker: string, bars: Series, rows: Int32Array): void {
    const spacing = middleSpacing(bars.days)
    const note = (kind: WarningKind, i: number, detail: () => string) =>
      this.#note(kind, () => {
        return { ticker, date: formatDay(bars.days[i]!), place: this.#placeOf(rows[i]!), detail: detail() }
      })
    if (spacing > 4) note('not_daily', 0, () => `bars are mostly ${spacing} days apart: not daily bars?`)
    const gap = spacing > 4 ? Number.POSITIVE_INFINITY : tradesAtWeekends(bars.days) ? 1 : GAP_DAYS
    for (let i = 0; i < bars.days.length; i++) {
      const outside = outsideRange(bars, i)
      if (outside !== null) note('outside_range', i, () => outside)
      if (bars.volume[i] === 0) note('zero_volume', i, () => 'volume 0')
      if (i === 0) continue
      const days = bars.days[i]! - bars.days[i - 1]!
      if (days > gap) note('gap', i, () => `${days} days after the bar before`)
      const move = bars.close[i]! / bars.close[i - 1]! - 1
      if (Math.abs(move) > JUMP) note('jump', i, () => `close ${percent(move)} from the bar before`)
    }
  }

  #note(kind: WarningKind, describe: () => Oddity): void {
    const warning = this.#found.get(kind) ?? { kind, count: 0, first: [] }
    this.#found.set(kind, warning)
    warning.count++
    if (warning.first.length < SHOWN) warning.first.push(describe())
  }
}

function outsideRange({ open, high, low, close }: Series, i: number): string | null {
  for (const [name, price] of [
    ['open', open[i]!],
    ['close', close[i]!],
  ] as const) {
    if (price > high[i]!) return `${name} ${price} is above high ${high[i]}`
    if (price < low[i]!) return `${name} ${price} is below low ${low[i]}`
  }
  return null
}

/** The middle number of days from bar to bar; 1 when there are too few to tell. */
function middleSpacing(days: Int32Array): number {
  if (days.length < 11) return 1
  const spacings = days.subarray(1).map((day, i) => day - days[i]!)
  return spacings.sort()[spacings.length >> 1]!
}

function tradesAtWeekends(days: Int32Array): boolean {
  let count = 0
  for (const day of days) if (weekdayOf(day) > 4) count++
  return count > days.length / 7
}

function percent(move: number): string {
  return `${move > 0 ? '+' : '-'}${(Math.abs(move) * 100).toFixed(0)} %`
}
