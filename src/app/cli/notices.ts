import { emptyNote, emptyPoolNote, noBarNote, type PoolAnswer } from '../../core/empty.js'
import { isCondition, lagInWords } from '../../core/language/as-field.js'
import { parseDay } from '../../core/model/day.js'
import type { HistoryQuery, PoolQuery } from '../../core/model/event.js'
import type { Source } from '../../core/source.js'
import type { EventStudy } from '../../research/study/result.js'
import { withOptions } from './command-line.js'
import type { Context } from './context.js'

/** Says on stderr why a question about one ticker has no event to show. */
export async function noticeNoEvent(context: Context, source: Source, query: HistoryQuery): Promise<void> {
  if (context.config.quiet) return
  const why = await source.whyEmpty(query)
  if (why === null) return
  const { reason, advice } = emptyNote(why, query)
  await context.notice(`No event: ${[reason, ...(advice === null ? [] : [advice])].map(withOptions).join(' ')}`)
}

/** Says on stderr why a question about several tickers has no event to show. */
export async function noticeNoEventOfAny(
  context: Context,
  source: Source,
  query: PoolQuery,
  found: PoolAnswer,
): Promise<void> {
  if (context.config.quiet) return
  const reason = await whyNoFactsOfAny(source, found.tickers, query.field)
  const note = reason === null ? emptyPoolNote(query, found, await source.known(found.tickers)) : `${reason}.`
  await context.notice(`No event: ${note}`)
}

/** Says on stderr why a study has no event. */
export async function noticeEmptyStudy(context: Context, source: Source, found: EventStudy): Promise<void> {
  const { tickers, field, bands, when, lag, first, last, after, before, first_bar, last_bar } = found
  if (context.config.quiet) return
  const one = tickers.length === 1
  const who = one ? tickers[0]! : `none of ${tickers.length} tickers`
  const became = `became ${bands?.join(' or ')}`
  const what = [
    bands === null ? `changed its ${field}` : became,
    ...(when === undefined ? [] : [`when ${when}`, ...lagInWords(lag)]),
  ].join(' ')
  const never = isCondition(field)
    ? `${[field, ...lagInWords(lag)].join(', ')} ${one ? 'never ' : ''}${bands === null ? 'changed' : became} of ${who}`
    : `${who} ${one ? 'never ' : ''}${what}`
  const reason =
    (await whyNoFactsOfAny(source, tickers, field)) ?? (when && (await whyNoFactsOfAny(source, tickers, when)))
  const bounds = { after: parseDay(after ?? '') ?? undefined, before: parseDay(before ?? '') ?? undefined }
  const firstBar = parseDay(first_bar ?? '')
  const lastBar = parseDay(last_bar ?? '')
  const noBar =
    firstBar === null || lastBar === null ? null : noBarNote(bounds, tickers, { first: firstBar, last: lastBar })
  const why =
    noBar !== null
      ? noBar
      : first === null
        ? `there is no bar with a band of ${field}${after === null && before === null ? '' : ` in the dates asked for; the bars go from ${first_bar} to ${last_bar}`}`
        : `${never} as it was asked for, from ${first} to ${last}`
  await context.notice(`No event: ${reason ?? why}.`)
}

/** Why none of some tickers has the facts of a field; null if one of them may have them. */
export async function whyNoFactsOfAny(
  source: Source,
  tickers: readonly string[],
  field: string,
): Promise<string | null> {
  const lacks = (await source.known(tickers, field)).map(({ missing: lack }) =>
    lack === null ? null : withOptions(lack),
  )
  if (lacks.length < tickers.length || lacks.includes(null)) return null
  if (lacks.length === 1) return lacks[0]!
  return `${field} uses dated facts, and none that count are loaded for any of the ${tickers.length} tickers`
}
