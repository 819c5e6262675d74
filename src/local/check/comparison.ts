import { entries } from '../../engine/stability.js'
import { transitions } from '../../engine/transitions.js'
import type { Field } from '../../fields/field.js'
import { type Day, formatDay } from '../../model/day.js'
import { type Outcomes, STABILITIES, UNDEFINED } from '../../model/record.js'
import { TIMEFRAMES, windowNames } from '../../model/timeframe.js'
import type { View } from '../view.js'
import type { CheckLookahead, FieldLookahead, LookaheadDifference, Skipped } from './result.js'

/** Differences that are told one by one. */
const MOST_TOLD = 100

interface Place {
  ticker: string
  cut: Day
}

/** What the store shows of a day beside what the data up to that day give. */
export class Comparison {
  readonly #fields: Map<string, FieldLookahead>
  readonly #aftermath = { compared: 0, differences: 0 }
  readonly #differences: LookaheadDifference[] = []
  readonly #skipped: Skipped[] = []

  constructor(fields: readonly Field[]) {
    this.#fields = new Map(
      fields.map(({ name: field }) => [field, { field, series: 0, bars: 0, events: 0, differences: 0 }]),
    )
  }

  skip(ticker: string, reason: string): void {
    this.#skipped.push({ ticker, reason })
  }

  /** @param codes bands by bar of the same bars, from the data up to the cut */
  field(place: Place, view: View, whole: { field: Field; codes: Uint8Array }, codes: Uint8Array): void {
    const { name: field, bands } = whole.field
    const tally = this.#fields.get(field)!
    tally.series++
    tally.bars += view.bars
    const differ = (what: LookaheadDifference['what'], bar: number, one: string | null, other: string | null): void => {
      tally.differences++
      this.#tell({ ...place, field, what, date: view.days[bar]!, whole: one, cutOff: other })
    }
    const band = (code: number | undefined): string | null => bands[code ?? UNDEFINED] ?? null
    for (let t = 0; t < Math.max(view.bars, codes.length); t++)
      if (whole.codes[t] !== codes[t]) differ('band', t, band(whole.codes[t]), band(codes[t]))
    const [shown, anew] = [shownEvents(view), derivedEvents(codes, view)]
    tally.events += shown.size
    for (const bar of new Set([...shown.keys(), ...anew.keys()])) {
      const [one, other] = [shown.get(bar), anew.get(bar)]
      if (one?.event !== other?.event) differ('event', bar, one?.event ?? null, other?.event ?? null)
      else if (one!.entry !== other!.entry) differ('stability', bar, one!.entry, other!.entry)
    }
  }

  /** Windows that end by the last bar of the view, and how they rank in their past. */
  aftermath(place: Place, view: View, cut: Outcomes): void {
    const { windows } = TIMEFRAMES[view.timeframe]
    for (const [w, name] of windowNames(view.timeframe).entries()) {
      const [returns, ranks] = [view.outcomes.returns[w]!, view.outcomes.ranks[w]!]
      for (let t = 0; t + windows[w]! < view.bars; t++) {
        this.#aftermath.compared++
        if (Object.is(returns[t], cut.returns[w]![t]) && ranks[t] === cut.ranks[w]![t]) continue
        this.#aftermath.differences++
        const words = (of: Outcomes): string => `${name}: return ${of.returns[w]![t]}, rank ${of.ranks[w]![t]}`
        const told = { what: 'aftermath' as const, whole: words(view.outcomes), cutOff: words(cut) }
        this.#tell({ ...place, field: null, date: view.days[t]!, ...told })
      }
    }
  }

  result(): Pick<CheckLookahead, 'fields' | 'aftermath' | 'passed' | 'differences' | 'skipped'> {
    const fields = [...this.#fields.values()]
    return {
      fields,
      aftermath: this.#aftermath,
      passed: this.#differences.length === 0 && fields.some(({ bars }) => bars > 0),
      differences: this.#differences,
      skipped: this.#skipped,
    }
  }

  #tell({ ticker, field, cut, what, date, whole, cutOff }: Told): void {
    if (this.#differences.length >= MOST_TOLD) return
    const dates = { cut: formatDay(cut), date: formatDay(date) }
    this.#differences.push({ ticker, field, cut: dates.cut, what, date: dates.date, whole, cut_off: cutOff })
  }
}

interface Told extends Place, Pick<LookaheadDifference, 'field' | 'what' | 'whole'> {
  date: Day
  cutOff: string | null
}

/** By bar. */
type Events = Map<number, { event: string; entry: string }>

function shownEvents({ record, events, bands }: View): Events {
  return record === null ? new Map() : inWords(record, events, bands)
}

function derivedEvents(codes: Uint8Array, { timeframe, bands }: View): Events {
  const changes = transitions(codes)
  const recorded = { ...changes, ...entries(changes, TIMEFRAMES[timeframe].flipsLookback) }
  return inWords(recorded, changes.bars.length, bands)
}

function inWords(record: NonNullable<View['record']>, events: number, bands: readonly string[]): Events {
  const found: Events = new Map()
  for (let i = 0; i < events; i++) {
    const left = i === 0 ? record.initialBand : record.bands[i - 1]!
    found.set(record.bars[i]!, {
      event: `${bands[left]} → ${bands[record.bands[i]!]}`,
      entry: `${STABILITIES[record.stability[i]!]}, flips ${record.flips[i]}`,
    })
  }
  return found
}
