import { countUpTo } from '../../ascending.js'
import { barsAt } from '../../engine/weekly.js'
import { SplitBasis } from '../../fields/facts/split-basis.js'
import { Sector, type SectorView } from '../../fields/sector.js'
import type { Day } from '../../model/day.js'
import { FACT_KINDS, type FactRecord, type Facts, knownOn, type Report } from '../../model/facts.js'
import { barsKnownBy, head, type Series } from '../../model/series.js'
import type { Timeframe } from '../../model/timeframe.js'
import type { Member, Sectors } from '../sectors.js'

/** A ticker's bars that were final by a day, and the facts known by it, as if nothing later had been loaded. */
export function cutOff(
  { entry, daily, facts }: Omit<Member, 'facts'> & { facts: Facts | null },
  timeframe: Timeframe,
  day: Day,
): { series: Series; facts: Facts | null } {
  const upTo = barsAt(timeframe, head(daily, countUpTo(daily.days, day)), entry.assetClass)
  const series = head(upTo, barsKnownBy(upTo, day))
  if (facts === null) return { series, facts }
  const basis = new SplitBasis(barsAt(timeframe, daily, entry.assetClass), facts.splits)
  return { series, facts: factsBy(facts, basis, day, series.days.at(-1) ?? day) }
}

/** Sectors as they stood on one day; what was made of one serves all of its tickers. */
export class SectorsBy {
  readonly #sectors: Sectors
  readonly #timeframe: Timeframe
  readonly #day: Day
  readonly #made = new Map<string, Promise<Sector>>()

  constructor(sectors: Sectors, timeframe: Timeframe, day: Day) {
    this.#sectors = sectors
    this.#timeframe = timeframe
    this.#day = day
  }

  /** What a ticker of the sector saw of it. */
  async seenFrom(ticker: string, key: string): Promise<SectorView> {
    let sector = this.#made.get(key)
    if (sector === undefined) {
      sector = this.#make(key)
      this.#made.set(key, sector)
    }
    return (await sector).seenFrom(ticker)
  }

  async #make(key: string): Promise<Sector> {
    const members = await this.#sectors.members(key)
    const there = members.filter(({ entry }) => entry.first <= this.#day)
    return new Sector(
      there.map(member => ({ ticker: member.entry.ticker, ...cutOff(member, this.#timeframe, this.#day) })),
    )
  }
}

/**
 * The facts that were known by a day. Bars that are adjusted for a later split have it in all of their prices: that is no
 * knowledge of the future but the unit they are counted in, so figures as filed are brought to it, as they were with all
 * bars there.
 *
 * @param last date of the last bar: splits count up to there
 */
function factsBy(facts: Facts, basis: SplitBasis, day: Day, last: Day): Facts {
  const kinds = FACT_KINDS.filter(kind => kind !== 'securities')
  const known = kinds.map(kind => [
    kind,
    (facts[kind] as readonly FactRecord[]).filter(record => knownOn(kind, record)! <= day),
  ])
  const found = Object.fromEntries(known) as unknown as Facts
  const splits = found.splits.filter(({ ex_date }) => ex_date <= last)
  return { ...found, splits, reports: found.reports.map(report => onBasisOf(basis, report, last)) }
}

function onBasisOf(basis: SplitBasis, report: Report, last: Day): Report {
  const later = basis.dividing(report, last).filter(({ ex_date }) => ex_date > last)
  const divided = (figure: number | null): number | null =>
    figure === null ? null : later.reduce((value, { ratio }) => value / ratio, figure)
  return { ...report, eps: divided(report.eps), book_value_ps: divided(report.book_value_ps) }
}
