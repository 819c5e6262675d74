import { countBelow } from '../../ascending.js'
import { placesIn, unionCalendar } from '../calendar.js'
import type { Member } from './member.js'
import { entryBar } from './path.js'
import type { Strategy } from './strategy.js'

/** A part of the calendar, by its places: from the first up to and without the last. */
export interface Part {
  from: number
  to: number
  /** Signals only up to and without this place; `to` unless given. */
  signalsTo?: number
}

/** The signals of a part by the day on which they would be filled, on each day in the order of members. */
export interface Candidates {
  /** Of each place of the calendar, and one more: where its candidates begin. */
  starts: Int32Array
  /** Of each candidate: place of its member, index of its signal. */
  members: Int32Array
  signals: Int32Array
  /** Of each member: index after its last signal in the part. */
  ends: Int32Array
  /** Without a bar in the part to be filled on: place of the member, index of the signal. */
  unfilled: [member: number, signal: number][]
  /** Of each member: the place of each of its bars; -1 before the calendar begins. */
  places: Int32Array[]
}

/**
 * Days of all members from the first bar on which one of them could have had a signal, and the days on which trading of
 * one ended after the last bar of all.
 */
export function portfolioCalendar(members: readonly Member[]): Int32Array {
  const firsts = members.flatMap(({ bars, eligible }) => (eligible.length > 0 ? [bars.days[eligible[0]!]!] : []))
  if (firsts.length === 0) return new Int32Array()
  const calendar = unionCalendar(members.map(({ bars }) => bars.days))
  const last = calendar.at(-1)!
  const ends = new Set(members.map(({ bars }) => bars.delisting?.day ?? last).filter(day => day > last))
  const from = countBelow(calendar, Math.min(...firsts))
  return Int32Array.from([...calendar.subarray(from), ...[...ends].sort((a, b) => a - b)])
}

export function candidatesOf(
  members: readonly Member[],
  { fill }: Pick<Strategy, 'fill'>,
  calendar: Int32Array,
  { from, to, signalsTo = to }: Part,
): Candidates {
  const places = members.map(({ bars }) => placesIn(calendar, bars.days))
  const starts = new Int32Array(calendar.length + 2)
  const ends = new Int32Array(members.length)
  const unfilled: Candidates['unfilled'] = []
  const each = (visit: (place: number, member: number, signal: number) => void): void =>
    members.forEach(({ signals }, member) => {
      const own = places[member]!
      signals.bars.forEach((bar, signal) => {
        if (own[bar]! < from || own[bar]! >= signalsTo) return
        ends[member] = signal + 1
        const place = own[entryBar(fill, bar)] ?? to
        visit(place, member, signal)
      })
    })
  each((place, member, signal) => {
    if (place < to) starts[place + 2]!++
    else unfilled.push([member, signal])
  })
  // Counted two places ahead and summed up, each start moves to its own place while its candidates are put down.
  for (let place = 2; place < starts.length; place++) starts[place]! += starts[place - 1]!
  const count = starts.at(-1)!
  const [chosen, at] = [new Int32Array(count), new Int32Array(count)]
  each((place, member, signal) => {
    if (place >= to) return
    const next = starts[place + 1]!++
    chosen[next] = member
    at[next] = signal
  })
  return { starts, members: chosen, signals: at, ends, unfilled, places }
}
