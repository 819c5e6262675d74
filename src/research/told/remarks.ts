import type { EventHistory } from '../../model/event.js'
import type { LeftOut } from './placed.js'

/** What must be said of bands and events that another told, once for all tickers together. */
export class ToldRemarks {
  readonly #after = new Set<string>()
  readonly #upTo = new Set<string>()
  readonly #left: LeftOut = { before: 0, after: 0, between: 0 }
  readonly #lacking = new Set<string>()
  #events = 0
  #heard = false
  #unstable = false

  heard({ ticker, after, as_of, events }: EventHistory, left: LeftOut): void {
    this.#heard = true
    this.#events += events.length
    this.#after.add(after ?? '')
    this.#upTo.add(as_of ?? '')
    if (events.some(event => event.stability_at_entry === undefined)) this.#unstable = true
    for (const kind of ['before', 'after', 'between'] as const) {
      this.#left[kind] += left[kind]
      if (left[kind] > 0) this.#lacking.add(ticker)
    }
  }

  sentences(): string[] {
    if (!this.#heard) return []
    return [this.#range(), BETWEEN, ...this.#leftOut(), ...(this.#unstable ? [UNSTABLE] : [])]
  }

  #range(): string {
    const from = least(this.#after)
    const to = most(this.#upTo)
    const after = from === '' ? 'from the first event on' : `after ${from}`
    const until = to === '' ? 'to the last event' : `up to ${to}`
    const differ = this.#after.size > 1 || this.#upTo.size > 1 ? ', at the widest; that differs by ticker or field' : ''
    return `Bands and events are as they were told, of dates ${after} ${until}${differ}; bars are from here.`
  }

  #leftOut(): string[] {
    const { before, after, between } = this.#left
    const left = before + after + between
    if (left === 0) return []
    const names = [...this.#lacking].sort()
    const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
    const where = [
      [before, 'before the first bar'],
      [after, 'after the last'],
      [between, 'between two'],
    ].flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`))
    return [
      `${left} of ${this.#events} told events are left out, because there is no bar here on their date (${where.join(', ')}): ${shown}.`,
    ]
  }
}

const BETWEEN =
  'A band is taken to last until the next event, and the one that the first event left to reach back to the begin of that range: bars without a band are not told.'
const UNSTABLE = 'Stability and flips of events are not told to this key.'

/** An empty text, where nobody told, is the widest. */
function least(texts: ReadonlySet<string>): string {
  return [...texts].sort()[0] ?? ''
}

function most(texts: ReadonlySet<string>): string {
  return texts.has('') ? '' : ([...texts].sort().at(-1) ?? '')
}
