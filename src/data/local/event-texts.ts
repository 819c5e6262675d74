import { type Day, formatDay } from '../../core/model/day.js'
import { NOT_ENDED } from '../../core/model/history.js'
import { PERFORMANCES, STABILITIES, UNDEFINED } from '../../core/model/series.js'
import { TIMEFRAMES, windowNames } from '../../core/model/terms.js'
import { Bytes } from './bytes.js'
import { eventColumnsOf, eventIndexes, outcomesAfter, type View } from './view.js'

/** Enough bytes for the events of a ticker: a buffer that grows step by step leaves as much garbage as it holds. */
export const TICKER_TEXT_BYTES = 2 ** 21

/**
 * Events as JSON, series by series. The text equals that of event objects, whose creation and formatting would take
 * most of the time. Dates and returns are formatted once per bar, regardless of the number of fields with events on it;
 * bands and stabilities are few.
 */
export class EventTexts {
  readonly #separator: string
  #days: Int32Array | null = null
  /** The returns after each bar as JSON; `#starts` and `#ends` say where a bar's text begins and ends. */
  readonly #returnTexts = new Bytes(TICKER_TEXT_BYTES)
  #dates: string[] = []
  #starts: number[] = []
  #ends: number[] = []

  /** @param separator separator of two events */
  constructor(separator: string) {
    this.#separator = separator
  }

  /**
   * Writes the events of a field, and returns their number.
   * @param view the view of the field. Calls for fields of the same series follow one another, with views of one read.
   * @param events the events to write, by number
   */
  add(out: Bytes, field: string, view: View, events: Int32Array = eventIndexes(view)): number {
    const { ticker, timeframe, bands, record } = view
    if (record === null || events.length === 0) return 0
    if (view.days !== this.#days) this.#beginSeries(view)
    const { days, entered, left, stability, flips, lasted } = eventColumnsOf(view, events)
    this.#formatReturns(view, events)
    const { duration: durationName, flipsLookback, unit } = TIMEFRAMES[timeframe]
    // An event is these pieces one after the other. Each ends with the key of the value that follows it.
    const head = `${JSON.stringify({ ticker, field, timeframe }).slice(0, -1)},"date":"`
    const enteredTexts = bands.map(band => `","band":${JSON.stringify(band)},"prev_band":`)
    const leftTexts = bands.map(band => `${JSON.stringify(band)},"stability_at_entry":`)
    const stabilityTexts = STABILITIES.map(word => `${JSON.stringify(word)},"flips_recent_at_entry":`)
    const durationKey = `,"flips_lookback":"${flipsLookback}${unit}","${durationName}":`
    for (const [row, event] of events.entries()) {
      const bar = record.bars[event]!
      const date = this.#dateText(bar, days[row]!)
      const duration = lasted[row] === NOT_ENDED ? 'null' : lasted[row]
      const separator = out.length === 0 ? '' : this.#separator
      const bandTexts = enteredTexts[entered[row]!]! + leftTexts[left[row]!]!
      const stabilityText = `${stabilityTexts[stability[row]!]!}${flips[row]}`
      out.writeText(`${separator}${head}${date}${bandTexts}${stabilityText}${durationKey}${duration},`)
      out.copy(this.#returnTexts, this.#starts[bar]!, this.#ends[bar]!)
    }
    return events.length
  }

  /** Forgets the texts of the previous series. */
  #beginSeries({ days }: View): void {
    this.#days = days
    this.#returnTexts.length = 0
    this.#dates = []
    this.#starts = []
    this.#ends = []
  }

  #dateText(bar: number, day: Day): string {
    this.#dates[bar] ??= formatDay(day)
    return this.#dates[bar]!
  }

  /** Formats the returns of some events' bars, unless already done. */
  #formatReturns(view: View, events: Int32Array): void {
    const { bars } = view.record!
    const unformatted = events.filter(i => this.#starts[bars[i]!] === undefined)
    // The name of each window, after a comma but for the first.
    const names = windowNames(view.timeframe).map((name, w) => `${w === 0 ? '' : ','}${JSON.stringify(name)}:`)
    const windows = outcomesAfter(view, unformatted)
    for (const [row, event] of unformatted.entries()) {
      let aftermath = '"aftermath":{'
      let returns = '},"returns":{'
      let percentiles = '},"percentiles":{'
      for (let w = 0; w < names.length; w++) {
        const { ended, performances, unrounded } = windows[w]!
        const code = performances[row]!
        aftermath += names[w]! + (code === UNDEFINED ? 'null' : PERFORMANCE_TEXTS[code]!)
        returns += names[w]! + (ended[row] === 1 ? jsonNumber(unrounded.returns[row]!) : 'null')
        percentiles += names[w]! + (code === UNDEFINED ? 'null' : jsonNumber(unrounded.percentiles[row]!))
      }
      const bar = bars[event]!
      this.#starts[bar] = this.#returnTexts.length
      this.#returnTexts.writeText(`${aftermath}${returns}${percentiles}}}`)
      this.#ends[bar] = this.#returnTexts.length
    }
  }
}

const PERFORMANCE_TEXTS = PERFORMANCES.map(performance => JSON.stringify({ performance }))

function jsonNumber(value: number): string {
  return Number.isFinite(value) ? `${value}` : 'null'
}
