import { barsAt } from '../../core/engine/record.js'
import type { Field } from '../../core/fields/field.js'
import { cachedByName, Sector, type SectorView } from '../../core/fields/fundamentals.js'
import { Panel } from '../../core/fields/panel.js'
import { SplitBasis } from '../../core/fields/quarters.js'
import { countUpTo, type Day } from '../../core/model/day.js'
import { type Facts, factsKnownBy, type Report } from '../../core/model/facts.js'
import { barsKnownBy, firstBars, type Series } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { Store, TickerEntry } from '../store/store.js'
import { sectorKey, usableFacts } from './view.js'

/** A ticker with its bars and the facts that fields may use; null: none. */
export interface Company {
  entry: TickerEntry
  daily: Series
  facts: Facts | null
}

type CompanyWithFacts = Company & { facts: Facts }

/** Reads the sectors of a store, now or as of a day. It caches its reads, so use it for one run only. */
export class Sectors {
  readonly #store: Store
  readonly #once = cachedByName()

  constructor(store: Store) {
    this.#store = store
  }

  /** A ticker's view of its sector; null if it has none. */
  async viewOf(ticker: string, timeframe: Timeframe, day: Day | null = null): Promise<SectorView | null> {
    const key = sectorKey((await this.#securities()).get(ticker))
    return key === null ? null : (await this.sectorOf(key, timeframe, day)).seenFrom(ticker)
  }

  /** A sector by its key. @param day null: with all data */
  sectorOf(key: string, timeframe: Timeframe, day: Day | null = null): Promise<Sector> {
    return this.#once(`sector ${timeframe} ${day} ${key}`, async () => {
      const members = (await this.members(key)).map(member => {
        return { ticker: member.entry.ticker, ...companyAsOf(member, timeframe, day) }
      })
      return new Sector(members)
    })
  }

  /** The companies of a sector that have facts, in the order of their tickers. */
  members(key: string): Promise<CompanyWithFacts[]> {
    return this.#once(`members ${key}`, () => this.#readMembers(key))
  }

  #securities(): ReturnType<Store['securities']> {
    return this.#once('securities', () => this.#store.securities())
  }

  /** Reads the companies of a sector that have facts, in the order of their tickers. */
  async #readMembers(key: string): Promise<CompanyWithFacts[]> {
    const members: CompanyWithFacts[] = []
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
  const facts = needsFacts ? usableFacts(await store.sheets(entry.ticker)) : null
  return { entry, daily: (await store.bars(entry.ticker))!, facts }
}

/** The inputs of some fields on a company. @param day only data known by this day; null: all data */
export async function panelOf(
  company: Company,
  timeframe: Timeframe,
  fields: readonly Field[],
  sectors: Sectors,
  day: Day | null = null,
): Promise<Panel> {
  const { series, facts } = companyAsOf(company, timeframe, day)
  const needsSector = facts !== null && fields.some(({ needs }) => needs === 'sector')
  const sector = needsSector ? await sectors.viewOf(company.entry.ticker, timeframe, day) : null
  return new Panel(series, facts, sector)
}

/** A company's final bars and known facts as of a day, as if nothing later had been loaded; null: all data. */
export function companyAsOf(
  { entry, daily, facts }: Company,
  timeframe: Timeframe,
  day: Day | null = null,
): { series: Series; facts: Facts | null } {
  const allBars = barsAt(timeframe, daily, entry.assetClass)
  if (day === null) return { series: allBars, facts }
  const barsUpToDay = barsAt(timeframe, firstBars(daily, countUpTo(daily.days, day)), entry.assetClass)
  const series = firstBars(barsUpToDay, barsKnownBy(barsUpToDay, day))
  if (facts === null) return { series, facts }
  // `allBars`: these prices may already be adjusted for a later split, and only the bars around it show that.
  return { series, facts: factsKnownOn(facts, new SplitBasis(allBars, facts.splits), day, series.days.at(-1) ?? day) }
}

/**
 * The facts known by a day. If bars are adjusted for a later split, all their prices are. That is only a unit of the
 * prices and reveals nothing of the future, so filed figures are converted to the same unit.
 *
 * @param last date of the last bar: splits count up to it
 */
function factsKnownOn(facts: Facts, basis: SplitBasis, day: Day, last: Day): Facts {
  const known = factsKnownBy(facts, day)
  const splits = known.splits.filter(({ ex_date }) => ex_date <= last)
  return { ...known, splits, reports: known.reports.map(report => divideByLaterSplits(report, basis, last)) }
}

/** Divides the values per share by the splits after `last` that the bars are adjusted for. */
function divideByLaterSplits(report: Report, basis: SplitBasis, last: Day): Report {
  const laterSplits = basis.splitsDividing(report, last).filter(({ ex_date }) => ex_date > last)
  const divide = (figure: number | null): number | null =>
    figure === null ? null : laterSplits.reduce((value, { ratio }) => value / ratio, figure)
  return { ...report, eps: divide(report.eps), book_value_ps: divide(report.book_value_ps) }
}
