import { formatDay } from '../../model/day.js'
import { STABILITIES, UNDEFINED } from '../../model/record.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import { excursions } from '../cell/excursions.js'
import { forwardReturns } from '../forward.js'
import type { Occurrence } from './result.js'
import type { Subject } from './subject.js'

/** Every event with what followed it, by date and then by ticker. */
export function occurrencesOf(subjects: readonly Subject[], horizons: readonly number[]): Occurrence[] {
  const dated = subjects.flatMap(subject => {
    const returns = horizons.map(horizon => forwardReturns(subject.prices, horizon))
    return Array.from(subject.signals.bars, (bar, i) => ({
      day: subject.prices.series.days[bar]!,
      occurrence: occurrenceOf(subject, i, horizons, returns),
    }))
  })
  return dated.sort((a, b) => a.day - b.day).map(({ occurrence }) => occurrence)
}

function occurrenceOf(
  { ticker, prices, states, signals }: Subject,
  i: number,
  horizons: readonly number[],
  returns: readonly Float64Array[],
): Occurrence {
  const bar = signals.bars[i]!
  const { unit } = TIMEFRAMES[prices.series.timeframe]
  const told = (code: number): number | null => (code === UNDEFINED ? null : code)
  const stability = told(signals.stability[i]!)
  const found: Occurrence = {
    ticker,
    date: formatDay(prices.series.days[bar]!),
    prev_band: states.bands[signals.left[i]!]!,
    band: states.bands[signals.entered[i]!]!,
    stability: stability === null ? null : STABILITIES[stability]!,
    flips: told(signals.flips[i]!),
    context_band: signals.contextBands?.[i] ?? null,
    close: prices.series.close[bar]!,
    returns: {},
    mfe: {},
    mae: {},
  }
  horizons.forEach((horizon, h) => {
    const window = `${horizon}${unit}`
    const followed = returns[h]![bar]!
    const elapsed = !Number.isNaN(followed)
    const { mfe, mae } = excursions(prices, bar, horizon)
    found.returns[window] = elapsed ? followed : null
    found.mfe[window] = elapsed ? mfe : null
    found.mae[window] = elapsed ? mae : null
  })
  return found
}
