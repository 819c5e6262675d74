import { emptyNote, emptyPoolNote, noBandClause, type PoolAnswer } from '../../core/empty.js'
import { isCondition, lagInWords } from '../../core/language/as-field.js'
import { type Day, parseDay } from '../../core/model/day.js'
import type { HistoryQuery, PoolQuery } from '../../core/model/event.js'
import type { Source } from '../../core/source.js'
import type { EventStudy } from '../../research/study/result.js'
import { textWithOptions } from './command-line.js'
import type { Context } from './context.js'

export async function noticeNoEvent(context: Context, source: Source, query: HistoryQuery): Promise<void> {
  if (context.config.quiet) return
  const why = await source.whyEmpty(query)
  if (why === null) return
  const { reason, advice } = emptyNote(why, query)
  const sentences = advice === null ? [reason] : [reason, advice]
  await context.notice(`No event: ${sentences.map(textWithOptions).join(' ')}`)
}

/** Says on stderr why a question about one ticker or several has no event to show. */
export async function noticeNoEventOfPool(context: Context, source: Source, query: PoolQuery, answer: PoolAnswer) {
  const [ticker = '', ...others] = answer.tickers
  if (others.length > 0) await noticeNoEventOfSeveral(context, source, query, answer)
  else await noticeNoEvent(context, source, { ...query, ticker })
}

export async function noticeNoEventOfSeveral(context: Context, source: Source, query: PoolQuery, answer: PoolAnswer) {
  if (context.config.quiet) return
  // A field that is made from facts, such as earnings reports, has no event without them.
  const reason = await noFactsReason(source, answer.tickers, query.field)
  const note = reason === null ? emptyPoolNote(query, answer, await source.known(answer.tickers)) : `${reason}.`
  await context.notice(`No event: ${note}`)
}

export async function noticeEmptyStudy(context: Context, source: Source, study: EventStudy): Promise<void> {
  if (context.config.quiet) return
  const { tickers, field, when } = study
  const noFacts =
    (await noFactsReason(source, tickers, field)) ?? (when && (await noFactsReason(source, tickers, when)))
  const sentence = `No event: ${noFacts ?? noBandReason(study) ?? neverHappenedNote(study)}.`
  // People already read the first warning in the answer.
  if (context.isForPeople && study.warnings[0] === sentence) return
  await context.notice(sentence)
}

function dayOrNull(text: string | null): Day | null {
  return text === null ? null : parseDay(text)
}

/** Why no bar of a study counts; null if one does. */
function noBandReason({ first, first_bar, last_bar, ...study }: EventStudy): string | null {
  if (first !== null) return null
  return noBandClause(study, study.tickers, { first: dayOrNull(first_bar), last: dayOrNull(last_bar) })
}

/** The reason of a study that has bars and bands: what it asks about did not happen. */
function neverHappenedNote({ tickers, field, bands, when, lag, first, last }: EventStudy): string {
  const isOneTicker = tickers.length === 1
  const subject = isOneTicker ? tickers[0]! : `none of ${tickers.length} tickers`
  const never = isOneTicker ? 'never ' : ''
  const dates = `as it was asked for, from ${first} to ${last}`
  if (isCondition(field)) {
    const change = bands === null ? 'changed' : `became ${bands.join(' or ')}`
    return `${[field, ...lagInWords(lag)].join(', ')} ${never}${change} of ${subject} ${dates}`
  }
  const change = bands === null ? `changed its ${field}` : `became ${bands.join(' or ')}`
  const condition = when === undefined ? [] : [`when ${when}`, ...lagInWords(lag)]
  return `${subject} ${never}${[change, ...condition].join(' ')} ${dates}`
}

/** Why no ticker has the facts (such as earnings reports) that a field needs; null if one may have them. */
export async function noFactsReason(source: Source, tickers: readonly string[], field: string): Promise<string | null> {
  const known = await source.known(tickers, field)
  const reasons = known.flatMap(({ missing }) => (missing === null ? [] : [textWithOptions(missing)]))
  if (known.length < tickers.length || reasons.length < known.length) return null
  if (reasons.length === 1) return reasons[0]!
  return `${field} uses dated facts, and none that count are loaded for any of the ${tickers.length} tickers`
}
