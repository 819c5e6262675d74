import { emptyScanNote } from '../../../core/empty.js'
import { type Day, formatDay } from '../../../core/model/day.js'
import type { OversoldPage } from '../../../core/model/event.js'
import { firstNames, numberText } from '../../../core/numbers.js'
import { MAX_LIMIT, OVERSOLD, parseOversold, UNLIMITED_OVERSOLD } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import type { Local } from '../../../data/local/local.js'
import { describeOversold } from '../../present/events.js'
import type { Command } from '../command.js'
import { nextLine } from '../command-line.js'
import type { Context } from '../context.js'
import { largestLimit, WIDE, withoutDefaultLimit } from '../options.js'

const scanCommand: Command = {
  options: [...optionsOf(UNLIMITED_OVERSOLD), WIDE],
  examples: [
    'bands scan oversold',
    'bands scan oversold --date 2018-02-08 --sort days_oversold',
    "bands scan oversold --filter 'min size large, severity deep_oversold' --json",
  ],
  notes: [
    'A ticker is looked at on its last bar that is final on the date, if that is at most seven days older (weekly: its Sunday). DAYS are bars since it became oversold; RARITY is how seldom its RSI was as low in its own history; SUPPORT how far below the close the support level lies.',
    `CSV and NDJSON have all matches; --limit cuts them. With --tier, and at a server, there are at most ${MAX_LIMIT}.`,
  ],
  /** Shows the oversold tickers of a day; without any, says why. */
  async run(context, args) {
    const hasMaxLimit = await context.hasMaxLimit()
    const table = hasMaxLimit ? OVERSOLD : UNLIMITED_OVERSOLD
    const typedQuery = withoutDefaultLimit(context, args, parseOversold(args.params(Object.keys(table)), table))
    // A scan has no second page, so MAX_LIMIT is all that a key can get, also as CSV.
    const query = hasMaxLimit ? { ...typedQuery, limit: Math.min(typedQuery.limit, MAX_LIMIT) } : typedQuery
    const source = await context.source()
    const page = await source.oversold(query)
    const { matches, match_count } = page
    // Null if it is today at a server, which does not report the present day.
    const day = query.date ?? (await context.opened?.local.today()) ?? null
    await context.show(describeOversold(query, page, day), { wide: args.flag('wide') })
    if (day !== null && context.opened !== null) await noticeStaleTickers(context, context.opened.local, day)
    if (match_count === 0) {
      const note = source.server?.note ?? emptyScanNote(query, page, day === null ? null : formatDay(day))
      return context.remark(`No match: ${note}`)
    }
    // JSON has the number of all matches.
    if (match_count > matches.length && context.format !== 'json')
      await context.remark(await notShownText(context, page))
    await context.hint(...hintsFor(page, context))
  },
}

/** Names the tickers that have no bar in the week before the day: a scan leaves them out. */
async function noticeStaleTickers(context: Context, { store }: Local, day: Day): Promise<void> {
  const { OVERSOLD_RULES } = await import('../../../data/local/scan-states.js')
  const oldest = day - OVERSOLD_RULES.maxAge
  const stale = (await store.tickers()).filter(({ first, last }) => first <= day && last < oldest)
  if (stale.length === 0) return
  const names = stale.map(({ ticker, last }) => `${ticker} (${formatDay(last)})`)
  await context.remark(`left out, because no bar is in the week before ${formatDay(day)}: ${firstNames(names, 3)}`)
}

/** The number of matches that are not shown, and how to see them. */
async function notShownText(context: Context, { matches, match_count }: OversoldPage): Promise<string> {
  const more = `${numberText(match_count - matches.length)} more match`
  const maxLimit = await largestLimit(context, match_count)
  return matches.length < maxLimit
    ? `${more}: --limit ${maxLimit}`
    : `${more}, and ${maxLimit} is the most that is shown: narrow it with --filter`
}

/** Hints about the values of a higher tier, and the next command. */
function hintsFor({ matches }: OversoldPage, { argv: typed, config: { upgrade_url: url } }: Context): string[] {
  const [first] = matches
  if (first === undefined) return []
  // The commands in the hints have --as-of for the --date of a scan.
  const argv = typed.map(word => word.replace(/^--date(?==|$)/, '--as-of'))
  const tallyHint = `next: ${nextLine(argv, 'tally', [first.ticker], ['rsi_zone', '--band', first.rsi_zone])}`
  const screenHint = `the same as a screen: ${nextLine(argv, 'screen', [], ['rsi_zone in (oversold, deep_oversold)'])}`
  // Only Plus and Pro have these days.
  if (first.days_in_oversold !== undefined) return [tallyHint, screenHint]
  const upgrade = url === undefined ? '' : `: ${url}`
  return [`Days, trend, volume, support and how the sector stands come with the Plus tier${upgrade}`, tallyHint]
}

export const commands = { 'scan oversold': scanCommand }
