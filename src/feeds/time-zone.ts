import { didYouMean, InvalidParameter, quoted, suggest } from '../errors.js'
import { type Day, parseDay } from '../model/day.js'

/** The calendar of a time zone: which day it is there at an instant. */
export class Calendar {
  readonly zone: string
  readonly #format: Intl.DateTimeFormat

  /** Throws RangeError for a name that is no time zone's. */
  constructor(zone: string) {
    // Written as the project writes dates.
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
    this.#format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, ...parts })
    this.zone = this.#format.resolvedOptions().timeZone
  }

  /** The date at an instant in milliseconds since 1970. */
  dateAt(milliseconds: number): string {
    return this.#format.format(milliseconds)
  }

  dayAt(milliseconds: number): Day | null {
    return parseDay(this.dateAt(milliseconds))
  }
}

/** The calendar of the zone that a document names for itself; that of UTC where it names none. */
export function calendarOf(zone: string): Calendar {
  try {
    return new Calendar(zone)
  } catch {
    return new Calendar('UTC')
  }
}

/** The calendar of the zone that a user names; throws InvalidParameter that names the nearest zones. */
export function givenCalendar(zone: string): Calendar {
  try {
    // Some versions take offsets, which know no summer time.
    if (/^[a-z]/i.test(zone)) return new Calendar(zone)
  } catch {}
  const names = Intl.supportedValuesOf('timeZone')
  const cityOf = (name: string) => name.slice(name.lastIndexOf('/') + 1)
  const cities = suggest(cityOf(zone).replaceAll(' ', '_'), names.map(cityOf))
  const near = suggest(zone, names)
  const suggestions = near.length > 0 ? near : names.filter(name => cities.includes(cityOf(name))).slice(0, 3)
  const allowed = 'the name of a time zone (IANA), such as Asia/Tokyo'
  const sentence = `time_zone ${quoted(zone)} is not ${allowed}.${didYouMean(suggestions)}`
  throw new InvalidParameter(sentence, { param: 'time_zone', value: zone, allowed, suggestions })
}
