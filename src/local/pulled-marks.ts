import { type Remedy, remedy } from '../errors.js'
import type { PulledSeries, SeriesKey } from '../model/pulled.js'

type Mark = Pick<PulledSeries, 'ticker' | 'timeframe' | 'field' | 'url' | 'pulled_at' | 'as_of'>

/** What pulled events have answered so far, in sentences for whoever asked. Each is kept once, however often it answers. */
export class Marks {
  readonly #answered = new Map<string, Mark>()
  readonly #doubts = new Set<string>()

  answered({ url, pulled_at, as_of, ...series }: PulledSeries): void {
    const key = keyOf(series)
    this.#answered.set(Object.values(key).join(' '), { ...key, url, pulled_at, as_of })
  }

  doubt(sentence: string): void {
    this.#doubts.add(sentence)
  }

  /** Whose the answers are, a sentence a pull; then what the pulled range could not tell. */
  get sentences(): string[] {
    const pulls = new Map<string, Mark[]>()
    for (const mark of this.#answered.values()) {
      const from = sourceWords(mark)
      pulls.set(from, [...(pulls.get(from) ?? []), mark])
    }
    return [...[...pulls].map(([from, marks]) => `${subject(marks)}: ${from}`), ...this.#doubts]
  }
}

/** `pulled from https://… on 2026-11-21, as of 2018-05-11` */
export function sourceWords({ url, pulled_at, as_of }: Pick<Mark, 'url' | 'pulled_at' | 'as_of'>): string {
  const day = as_of === null ? 'the server did not tell as of which day' : `as of ${as_of}`
  return `pulled from ${url} on ${pulled_at.slice(0, 10)}, ${day}`
}

function subject(keys: readonly SeriesKey[]): string {
  const tickers = [...new Set(keys.map(({ ticker }) => ticker))].sort()
  const fields = [...new Set(keys.map(({ field }) => field))]
  const what = fields.length <= 3 ? fields.join(', ') : `${fields.length} fields`
  return `${listed(tickers)} ${what}`
}

/** The key alone, of whatever has one. */
export function keyOf({ ticker, timeframe, field }: SeriesKey): SeriesKey {
  return { ticker, timeframe, field }
}

/** A series in a sentence. */
export function named({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}

/** What pulls a series. */
export function pullOf({ ticker, timeframe, field }: SeriesKey): Remedy {
  return remedy('pull', [ticker, field], timeframe === 'daily' ? {} : { timeframe })
}

/** `A, B, C and 4 more`. */
export function listed(words: readonly string[], most = 5): string {
  const shown = words.slice(0, most).join(', ')
  return words.length > most ? `${shown} and ${words.length - most} more` : shown
}
