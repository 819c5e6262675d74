import { wordValue } from '../query/values.js'
import type { TallyQuery } from '../study/tally.js'
import { TALLY_GROUPINGS } from '../study/tally-groups.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { pooledQuery } from './pool-query.js'

/** What a tally is asked for; `context` is the second ticker's field. Throws InvalidParameter. */
export async function tallyQuery(
  context: Context,
  given: Given,
): Promise<{ query: TallyQuery; context: string | undefined }> {
  const query: TallyQuery = await pooledQuery(context, given, 'tally')
  const by = given.text('by')
  if (by !== undefined) query.by = wordValue('by', by, TALLY_GROUPINGS)
  return { query, context: query.context?.field }
}
