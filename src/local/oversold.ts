import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import type { Cache } from './cache.js'

export async function oversold(_cache: Cache, _query: OversoldQuery): Promise<OversoldPage> {
  return { matches: [], total_scanned: 0, match_count: 0, data_status: 'eod' }
}
