import type { TickerSource } from './tally-source.js'
import type { TallyWindow } from './tally-window.js'

/** Fewer complete windows than this say little as percentages. */
const FEW = 10

/** As many tickers as a sentence names. */
const NAMED = 5

export function groupWarnings(events: number, windows: readonly TallyWindow[]): string[] {
  if (events === 0) return []
  const few = windows.filter(({ n }) => n < FEW)
  const overlapping = windows.filter(({ overlapping }) => overlapping > 0)
  const warnings: string[] = []
  if (few.length > 0) {
    const list = few.map(({ window, n }) => `${window}: ${n}`).join(', ')
    warnings.push(`Fewer than ${FEW} complete windows (${list}): read the counts, not the shares.`)
  }
  if (overlapping.length > 0) {
    const list = overlapping.map(row => `${row.window}: ${row.overlapping} of ${row.n + row.no_history}`).join(', ')
    warnings.push(
      `Windows of neighbouring events of one ticker overlap (${list}), so the true uncertainty is larger than shown.`,
    )
  }
  return warnings
}

export function tallyWarnings(sources: readonly TickerSource[]): string[] {
  if (sources.length === 1) return []
  const empty = sources.filter(source => source.values.length === 0).map(source => source.ticker)
  const warnings = [
    'Tickers move together: events of several tickers on the same dates are not independent, so the true uncertainty is larger than shown.',
    'The tickers are those that were asked for; ones that no longer trade may be missing among them.',
  ]
  if (empty.length > 0) {
    const names = empty.slice(0, NAMED).join(', ')
    const more = empty.length > NAMED ? ` and ${empty.length - NAMED} more` : ''
    warnings.push(`${empty.length} of ${sources.length} tickers have no such event: ${names}${more}.`)
  }
  return warnings
}
