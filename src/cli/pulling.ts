import { BandsError } from '../errors.js'
import { type PullPlan, type PullRequest, planOf, planOfNothing } from '../local/pull/plan.js'
import type { PullOptions } from '../local/pull/puller.js'
import type { PullReport, SeriesReport } from '../local/pull/report.js'
import type { CreditsLeft, PageSource } from '../local/pull/source.js'
import type { Tier } from '../model/tier.js'
import { openForPlan } from '../open.js'
import { grantedFields } from '../policy/entitle.js'
import type { Credits, Remote } from '../remote/index.js'
import { leftWords, planSentence, priceWords } from './answers/pull.js'
import { type Config, isRemoteTyped } from './config.js'
import type { Context } from './context.js'
import { whole } from './render/amounts.js'

/** A server as a pull needs it. */
export function pageSource(remote: Remote): PageSource {
  return {
    url: remote.url,
    async page(query, { name, etag }) {
      const { credits, ...answer } = await remote.newPage(query, { id: name, etag })
      return { ...answer, left: leftOf(credits) }
    },
  }
}

function leftOf(credits: Credits | null): CreditsLeft {
  return { day: credits?.day?.remaining ?? null, hour: credits?.hour?.remaining ?? null }
}

/** Only fields that the key may ask for, where the server tells of its tier. */
export function withinTier({ series, ...request }: PullRequest, tier: Tier | null): PullRequest {
  const granted = tier === null ? null : new Set(grantedFields(tier).map(({ name }) => name))
  return { ...request, series: series.filter(({ field }) => granted?.has(field) ?? true) }
}

/** A command line that what was pulled answers, whatever server is chosen otherwise. */
export function questionOf({ series: [first] }: PullRequest, config: Config): string {
  const { ticker, field, timeframe } = first!
  const words = [`bands events ${ticker} ${field}`]
  if (timeframe !== 'daily') words.push(`--timeframe ${timeframe}`)
  if (config.from.db === '--db') words.push(`--db ${config.db}`)
  else if (!isRemoteTyped(config)) words.push('--remote local')
  return words.join(' ')
}

/** What a pull would do, as far as that can be told without asking. */
export async function dryPlan(context: Context, request: PullRequest): Promise<PullPlan> {
  const url = await context.originUrl()
  const store = openForPlan({ db: context.config.db, env: context.world.env })
  if (store === null) return planOfNothing(url, request)
  try {
    return await planOf(store, url, request, context.world.now())
  } finally {
    await store.close()
  }
}

/** Says beforehand what a pull costs, as soon as it is known, and shows how far it is. */
export function told(context: Context, remote: Remote): PullOptions {
  const tell = async (text: string): Promise<void> => {
    if (!context.config.quiet) await context.notice(text)
  }
  return {
    onPlan: plan => tell(planSentence(plan, leftOf(remote.credits))),
    onPriced: (price, left) =>
      tell(`the first page of each is there; the others take ${priceWords(price)} more${leftWords(left)}.`),
    onPage: ({ ticker, field, done, of, credits }) =>
      context.step(() => `pull  ${ticker} ${field}  ${done}/${of} series  ${whole(credits)} credits`),
  }
}

/**
 * Why a pull is not what was asked for; null where it is.
 * @param all every field was asked for, and those above the tier of the key are no failure
 */
export function pullFailure({ series, stopped, error, price, credits }: PullReport, all: boolean): unknown {
  if (stopped === 'error') return error
  const open = series.filter(({ outcome }) => outcome === 'unfinished').length
  const rest = `${whole(open)} of ${whole(series.length)} series are not at their end, for ${priceWords(price)} more`
  if (stopped === 'credits')
    return new BandsError(
      'rate_limit_exceeded',
      `${whole(credits)} credits are spent, as many as may be: ${rest}; ${ON}.`,
    )
  if (open > 0) return new BandsError('busy', `the server changed while it was asked: ${rest}; ${ON}.`)
  const refused = series.filter(one => one.refusal !== null && !(all && isAbove(one)))
  const [first] = refused
  if (first === undefined) return null
  if (series.length === 1) return first.refusal
  const { code, message } = first.refusal!
  const number = refused.length === 1 ? 'One' : whole(refused.length)
  return new BandsError(code, `${number} of ${whole(series.length)} series could not be pulled: ${message}`)
}

const ON = 'the same command goes on'

function isAbove({ refusal, pulled_at }: SeriesReport): boolean {
  return refusal?.code === 'tier_restricted' && pulled_at === null
}
