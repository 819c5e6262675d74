import { isDeepStrictEqual } from 'node:util'
import { recordSeries } from '../../core/engine/record.js'
import { remedy } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../../core/model/terms.js'
import { type Damage, Damaged, type Store, UNDERIVED } from '../store/store.js'
import { type Cache, Pending } from './cache.js'
import { type Company, companyAsOf, companyOf, Sectors } from './sectors.js'

/**
 * Checks the content hashes of a store. `deep` also derives every ticker again from its bars and facts, and compares
 * event by event. An empty list means no damage.
 */
export async function verify({ store }: Pick<Cache, 'store'>, { deep = false } = {}): Promise<Damage[]> {
  const damages = await store.verify()
  const definitions = await store.definitions().catch(error => {
    // `damages` already has this damage.
    if (error instanceof Damaged) return ''
    throw error
  })
  if (definitions === UNDERIVED)
    damages.push({ ticker: '', what: 'its events are not made yet; a rebuild makes them', mend: remedy('rebuild') })
  if (!deep || damages.length > 0) return damages
  const unfinished = (await Pending.read(store)).steps
  if (unfinished > 0) {
    const what = `an import is not finished (${unfinished} steps), so nothing can be compared; a rebuild finishes it`
    return [{ ticker: '', what, mend: remedy('rebuild') }]
  }
  const sectors = new Sectors(store)
  for (const entry of await store.tickers()) {
    const company = await companyOf(store, entry, BUILT_IN_FIELDS.all)
    for (const timeframe of TIMEFRAME_NAMES)
      damages.push(...(await differencesFromDerived(store, company, timeframe, sectors)))
  }
  return damages
}

/** Differences between the stored and the newly derived data of a ticker. */
async function differencesFromDerived(
  store: Store,
  company: Company,
  timeframe: Timeframe,
  sectors: Sectors,
): Promise<Damage[]> {
  const { ticker } = company.entry
  const { series, facts } = companyAsOf(company, timeframe)
  const sector = facts === null ? null : await sectors.viewOf(ticker, timeframe)
  const { fields, outcomes } = recordSeries(series, facts, sector)
  const damages: Damage[] = []
  for (const { name: field } of BUILT_IN_FIELDS.all) {
    const stored = await store.recorded(ticker, timeframe, field)
    const derivedAgain = { field: fields.get(field) ?? null, outcomes }
    if (stored !== null && isDeepStrictEqual({ field: stored.field, outcomes: stored.outcomes }, derivedAgain)) continue
    const what = `its ${timeframe} ${field} events are not what its bars and facts give`
    damages.push({ ticker, what, mend: remedy('rebuild') })
  }
  return damages
}
