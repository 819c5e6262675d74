import type { PulledSource, SeriesKey } from '../model/event.js'
import type { KeptEntry, PageStore } from '../store/pages.js'
import { keyOf, listed } from './pages.js'

/** Whose pulled events are, and since when: said beside the answers that stand on them, and in lists of what there is. */

type Mark = SeriesKey & PulledSource

/** What pulled events have answered so far, in sentences for whoever asked. Each is kept once, however often it answers. */
export class Marks {
  readonly #answered = new Map<string, Mark>()
  readonly #doubts = new Set<string>()

  answered({ url, pulled_at, as_of, ...series }: Mark): void {
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
export function sourceWords({ url, pulled_at, as_of }: PulledSource): string {
  const day = as_of === null ? 'the server did not tell as of which day' : `as of ${as_of}`
  return `pulled from ${url} on ${pulled_at.slice(0, 10)}, ${day}`
}

function subject(keys: readonly SeriesKey[]): string {
  const tickers = [...new Set(keys.map(({ ticker }) => ticker))].sort()
  const fields = [...new Set(keys.map(({ field }) => field))]
  const what = fields.length <= 3 ? fields.join(', ') : `${fields.length} fields`
  return `${listed(tickers)} ${what}`
}

/** What was pulled of one ticker. */
export interface PulledTicker {
  ticker: string
  /** The server that told it. */
  source: string
  /** Of the series that was pulled first, like the day it is as of: nothing here is older. */
  pulled_at: string
  as_of: string | null
  /** Events of all series, and series of which pages are missing. */
  events: number
  unfinished: number
  series: PulledPart[]
}

type PulledPart = Pick<KeptEntry, 'timeframe' | 'field' | 'state' | 'query_range' | 'events' | 'pulled_at' | 'as_of'>

/** Tickers of which a server has told, ascending. */
export async function pulledTickers(pages: PageStore): Promise<PulledTicker[]> {
  const found = new Map<string, KeptEntry[]>()
  for (const entry of await pages.entries()) found.set(entry.ticker, [...(found.get(entry.ticker) ?? []), entry])
  return [...found].map(([ticker, entries]) => {
    const oldest = entries.reduce((a, b) => (b.pulled_at < a.pulled_at ? b : a))
    return {
      ticker,
      source: oldest.url,
      pulled_at: oldest.pulled_at,
      as_of: oldest.as_of,
      events: entries.reduce((sum, entry) => sum + entry.events, 0),
      unfinished: entries.filter(entry => entry.state !== 'complete').length,
      series: entries.map(partOf),
    }
  })
}

function partOf({ timeframe, field, state, query_range, events, pulled_at, as_of }: KeptEntry): PulledPart {
  return { timeframe, field, state, query_range, events, pulled_at, as_of }
}

/**
 * Whether a series cannot be asked for, because of its ticker only others were pulled, or not all of it yet. For who asks
 * about everything that there is: one that was named is asked for, and the refusal says what to do.
 */
export async function lackingIn(pages: PageStore): Promise<(key: SeriesKey) => boolean> {
  const entries = await pages.entries()
  const tickers = new Set(entries.map(entry => entry.ticker))
  const told = new Set(entries.filter(entry => entry.state === 'complete').map(nameOf))
  return key => tickers.has(key.ticker) && !told.has(nameOf(key))
}

function nameOf({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} ${ticker}`
}
