import { type Day, formatDay } from '../../model/day.js'
import type { OversoldPage, OversoldQuery } from '../../model/event.js'
import { MAX_LIMIT, OVERSOLD, OWN_OVERSOLD, parseOversold } from '../../params/questions.js'
import { optionsOf } from '../../params/row.js'
import { describeOversold, emptyScanNote } from '../../present/events.js'
import { whole } from '../../present/numbers.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { allUnlessLimited, isWithinLimit } from '../options.js'

const scanCommand: Command = {
  options: optionsOf(OWN_OVERSOLD),
  examples: [
    'bands scan oversold',
    'bands scan oversold --date 2018-02-08 --sort-by days_oversold',
    'bands scan oversold --timeframe weekly --min-severity deep_oversold --json',
  ],
  notes: [
    'A ticker is looked at on its last bar that is final on the date, if that is at most seven days older (weekly: its Sunday). DAYS are bars since it became oversold; RARITY is how seldom its RSI was as low in its own history; SUPPORT how far below the close the support level lies.',
    `CSV and NDJSON have all matches unless --limit is given. With --tier, and at a server, there are at most ${MAX_LIMIT}.`,
  ],
  async run(context, given) {
    const withholds = await context.withholds()
    const table = withholds ? OVERSOLD : OWN_OVERSOLD
    const asked = allUnlessLimited(context, given, parseOversold(given.params(Object.keys(table)), table))
    // A scan has no second page: a key gets no more, in no form.
    const query = withholds ? { ...asked, limit: Math.min(asked.limit, MAX_LIMIT) } : asked
    const source = await context.bands()
    const page = await source.oversold(query)
    const scan = { query, page, date: query.date ?? (await today(context)), note: source.server?.note ?? null }
    await context.show(describeOversold(query, page, scan.date))
    await tellOversold(context, scan)
  },
}

/** null of a server, which does not tell. */
async function today(context: Context): Promise<number | null> {
  return context.opened === null ? null : context.opened.local.today()
}

/** A scan and its answer. */
interface Scan {
  query: OversoldQuery
  page: OversoldPage
  /** null where the answerer does not tell. */
  date: Day | null
  /** Why it is empty, as a server says it. */
  note: string | null
}

/** On stderr: why there is nothing, what is not shown, what to ask next. */
async function tellOversold(context: Context, scan: Scan): Promise<void> {
  const { matches, match_count } = scan.page
  if (context.config.quiet) return
  if (match_count === 0)
    return context.notice(`No match: ${scan.note ?? emptyScanNote(scan.query, scan.page, dated(scan))}`)
  // The page itself says so.
  if (match_count > matches.length && context.format !== 'json')
    await context.notice(await notShown(context, scan.page))
  await context.hint(...hintsFor(scan, context.config.upgrade_url))
}

function dated({ date }: Scan): string | null {
  return date === null ? null : formatDay(date)
}

async function notShown(context: Context, { matches, match_count }: OversoldPage): Promise<string> {
  const more = `${whole(match_count - matches.length)} more match`
  if (await isWithinLimit(context, match_count)) return `${more}: --limit ${match_count}`
  return matches.length < MAX_LIMIT
    ? `${more}: --limit ${MAX_LIMIT}`
    : `${more}, and ${MAX_LIMIT} is the most that is shown: narrow it with --sector, --min-market-cap-tier or --min-severity`
}

function hintsFor({ query, page }: Scan, url: string | undefined): string[] {
  const upgrade = url === undefined ? '' : `: ${url}`
  const [first] = page.matches
  const hints: string[] = []
  if (first !== undefined && first.days_in_oversold === undefined)
    hints.push(`Days, trend, volume, support and how the sector stands come with the Plus tier${upgrade}`)
  const timeframe = query.timeframe === 'daily' ? '' : ` --timeframe ${query.timeframe}`
  if (first !== undefined) hints.push(`next: bands tally ${first.ticker} rsi_zone --band ${first.rsi_zone}${timeframe}`)
  return hints
}

export const commands = { 'scan oversold': scanCommand }
