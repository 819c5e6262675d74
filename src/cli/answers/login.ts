import type { Answer } from '../output.js'
import type { Login } from '../profiles/login.js'
import { whole } from '../render/amounts.js'

/** What is kept, and whether it counts; of the key only its end. */
export function loginAnswer({ credits, ...kept }: Login): Answer {
  const row = {
    ...kept,
    credits_limit: credits?.day?.limit ?? null,
    credits_remaining: credits?.day?.remaining ?? null,
  }
  const { profile, url, tier, key } = kept
  const plan = tier === null ? '' : `, tier ${tier}`
  const day = credits?.day
  const left = day == null ? '' : `, ${whole(day.remaining)} of ${whole(day.limit)} credits left today`
  return {
    document: () => ({ schema: 'bands.login/1', ...kept, credits }),
    columns: Object.keys(row),
    rows: () => [row],
    blocks: () => [{ notes: [`profile ${profile}: ${url}${plan}, key ${key}${left}`] }],
  }
}
