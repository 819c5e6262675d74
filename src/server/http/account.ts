import { wrong } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import type { AccountPage } from '../../core/model/pages.js'
import { objectOf } from '../../core/params/arguments.js'
import { MAX_LIMIT, parametersOf } from '../../core/params/questions.js'
import { readParams } from '../../core/params/row.js'
import { PLANS } from '../../core/tiers.js'
import type { UsedCredits } from '../accounts/accounts.js'
import type { CreditLimits } from './options.js'
import type { Caller, Exchange } from './requests.js'

/** A question about the account has neither parameters nor a body. Throws InvalidParameter. */
export function checkAccountQuestion({ search, hasBody }: Pick<Exchange, 'search' | 'hasBody'>): void {
  readParams({}, parametersOf(search))
  if (hasBody) throw wrong('body', 'A question has no body.')
}

/** More than the longest list of tickers has. */
const MAX_BODY_BYTES = 16_384

/** Reads the body of a request as a JSON object. Throws InvalidParameter for anything else. */
export async function readJsonBody(exchange: Exchange): Promise<object> {
  const parts: Buffer[] = []
  let bytes = 0
  // A request that is destroyed has no socket to answer on.
  const received: AsyncIterable<Buffer> = exchange.request.iterator({ destroyOnReturn: false })
  for await (const part of received) {
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw wrong('body', `The body has at most ${MAX_BODY_BYTES} bytes.`)
    parts.push(part)
  }
  exchange.isRead = true
  try {
    return objectOf('body', JSON.parse(Buffer.concat(parts).toString()))
  } catch {
    throw wrong('body', 'The body is a JSON object, such as {"tickers":["AAPL"]}.')
  }
}

/**
 * The page about an account, in the specified shape: what does not exist here is null, 0 or false, and its `requests`
 * are credits. @param today the day that ranges count back from
 */
export function accountPage(
  { name, tier }: Pick<Caller, 'name' | 'tier'>,
  limits: CreditLimits,
  used: UsedCredits,
  today: Day,
): AccountPage {
  const remaining = { day: Math.max(0, limits.day - used.day), hour: Math.max(0, limits.hour - used.hour) }
  return {
    tier,
    tier_full: tier,
    name,
    email: null,
    limits: {
      daily_requests: limits.day,
      hourly_requests: limits.hour,
      monthly_requests: null,
      overage_enabled: false,
      search_results: MAX_LIMIT,
      webhook_urls: 0,
      history_days: today - PLANS[tier].rangeStart(today),
    },
    usage: {
      daily_requests_used: used.day,
      daily_requests_remaining: remaining.day,
      hourly_requests_used: used.hour,
      hourly_requests_remaining: remaining.hour,
      monthly_requests_used: null,
      monthly_requests_remaining: null,
      credit_balance: Math.min(remaining.day, remaining.hour),
    },
    scheduled_tier: null,
    scheduled_change_at: null,
  }
}
