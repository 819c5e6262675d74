import { barsAt } from '../../core/engine/record.js'
import type { Field } from '../../core/fields/field.js'
import { once, Sector, type SectorView } from '../../core/fields/fundamentals.js'
import { Panel } from '../../core/fields/panel.js'
import { SplitBasis } from '../../core/fields/quarters.js'
import { countUpTo, type Day } from '../../core/model/day.js'
import { type Facts, factsKnownBy, type Report } from '../../core/model/facts.js'
import { barsKnownBy, head, type Series } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { Store, TickerEntry } from '../store/store.js'
import { countedFacts, sectorKey } from './view.js'

/** A ticker with bars, and the facts of it that count. */
export interface Company {
  entry: TickerEntry
  daily: Series
  facts: Facts | null
}

/** One that has such facts. */
type Member = Company & { facts: Facts }

/** The tickers of a store, sector by sector, now or as of a day. It caches its reads, so use it for one run only. */
export class Sectors {
  readonly #store: Store
  readonly #once = once()

  constructor(store: Store) {
    this.#store = store
  }

  /** A ticker's view of its sector; null if it has none. */
  async seenFrom(ticker: string, timeframe: Timeframe, day: Day | null = null): Promise<SectorView | null> {
    const key = sectorKey((await this.#securities()).get(ticker))
    return key === null ? null : (await this.of(key, timeframe, day)).seenFrom(ticker)
  }

  of(key: string, timeframe: Timeframe, day: Day | null = null): Promise<Sector> {
    return this.#once(`sector ${timeframe} ${day} ${key}`, async () => {
      const members = await this.members(key)
      return new Sector(
        members.map(member => ({ ticker: member.entry.ticker, ...companyAsOf(member, timeframe, day) })),
      )
    })
  }

  /** In the order of their tickers. */
  members(key: string): Promise<Member[]> {
    return this.#once(`members ${key}`, () => this.#read(key))
  }

  #securities(): ReturnType<Store['securities']> {
    return this.#once('securities', () => this.#store.securities())
  }

  async #read(key: string): Promise<Member[]> {
    const members: Member[] = []
    const securities = await this.#securities()
    for (const ticker of [...securities.keys()].sort()) {
      if (sectorKey(securities.get(ticker)) !== key) continue
      const entry = await this.#store.ticker(ticker)
      const company = entry && (await companyOf(this.#store, entry))
      if (company?.facts) members.push({ ...company, facts: company.facts })
    }
    return members
  }
}

/** A ticker with bars and its facts; with `fields`, facts are read only if one of them uses any. */
export async function companyOf(store: Store, entry: TickerEntry, fields?: readonly Field[]): Promise<Company> {
  const needsFacts = fields?.some(({ needs }) => needs !== 'bars') ?? true
  const facts = needsFacts ? countedFacts(await store.sheets(entry.ticker)) : null
  return { entry, daily: (await store.bars(entry.ticker))!, facts }
}

/** The inputs of fields: all data, or those known by a day. */
export async function panelOf(
  company: Company,
  timeframe: Timeframe,
  fields: readonly Field[],
  sectors: Sectors,
  day: Day | null = null,
): Promise<Panel> {
  const { series, facts } = companyAsOf(company, timeframe, day)
  const isCompared = facts !== null && fields.some(({ needs }) => needs === 'sector')
  const sector = isCompared ? await sectors.seenFrom(company.entry.ticker, timeframe, day) : null
  return new Panel(series, facts, sector)
}

/** A company's bars that were final by a day, and the facts known by it, as if nothing later had been loaded. */
export function companyAsOf(
  { entry, daily, facts }: Company,
  timeframe: Timeframe,
  day: Day | null = null,
): { series: Series; facts: Facts | null } {
  const whole = barsAt(timeframe, daily, entry.assetClass)
  if (day === null) return { series: whole, facts }
  const upTo = barsAt(timeframe, head(daily, countUpTo(daily.days, day)), entry.assetClass)
  const series = head(upTo, barsKnownBy(upTo, day))
  if (facts === null) return { series, facts }
  return { series, facts: factsBy(facts, new SplitBasis(whole, facts.splits), day, series.days.at(-1) ?? day) }
}

/**
 * The facts known by a day. If bars are adjusted for a later split, all their prices are. This is a unit and no
 * knowledge of the future, so filed figures are converted to it, as they were with all bars.
 *
 * @param last date of the last bar: splits count up to it
 */
function factsBy(facts: Facts, basis: SplitBasis, day: Day, last: Day): Facts {
  const found = factsKnownBy(facts, day)
  const splits = found.splits.filter(({ ex_date }) => ex_date <= last)
  return { ...found, splits, reports: found.reports.map(report => dividedByLaterSplits(report, basis, last)) }
}

/** Divides the values per share by the splits after `last` that the bars are adjusted for. */
function dividedByLaterSplits(report: Report, basis: SplitBasis, last: Day): Report {
  const later = basis.dividing(report, last).filter(({ ex_date }) => ex_date > last)
  const divided = (figure: number | null): number | null =>
    figure === null ? null : later.reduce((value, { ratio }) => value / ratio, figure)
  return { ...report, eps: divided(report.eps), book_value_ps: divided(report.book_value_ps) }
}
