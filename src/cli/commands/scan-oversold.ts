import { UPGRADE_URL } from '../../errors.js'
import { type Day, formatDay } from '../../model/day.js'
import type { OversoldMatch, OversoldPage, OversoldQuery } from '../../model/oversold.js'
import { MAX_LIMIT, OVERSOLD } from '../../params/parameters.js'
import { parseOversold } from '../../params/parse.js'
import { optionsOf } from '../../params/row.js'
import { whole } from '../../present/numbers.js'
import { OVERSOLD_KEYS } from '../../tiers.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Block, Column, Row, Screen } from '../draw/table.js'
import type { Answer } from '../output.js'

export const command: Command = {
  options: optionsOf(OVERSOLD),
  examples: [
    'bands scan oversold',
    'bands scan oversold --date 2018-02-08 --sort-by days_oversold',
    'bands scan oversold --timeframe weekly --min-severity deep_oversold --json',
  ],
  notes: [
    'A ticker is looked at on its last bar that is final on the date, if that is at most seven days older (weekly: its Sunday). DAYS are bars since it became oversold; RARITY is how seldom its RSI was as low in its own history; SUPPORT how far below the close the support level lies.',
  ],
  async run(context, given) {
    const query = parseOversold(given.params(Object.keys(OVERSOLD)))
    const page = await (await context.bands()).oversold(query)
    const scan = { query, page, date: query.date ?? (await today(context)) }
    await context.show(oversoldAnswer(scan))
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
}

/** Which tickers are oversold; JSON is the specified page, CSV has all columns in every tier. */
function oversoldAnswer(scan: Scan): Answer {
  const { page } = scan
  return {
    document: () => page,
    columns: OVERSOLD_KEYS.pro,
    rows: () => page.matches.map((match): Row => ({ ...match })),
    blocks: screen => [block(scan, screen)],
  }
}

/** On stderr: why there is nothing, what is not shown, what to ask next. */
async function tellOversold(context: Context, scan: Scan): Promise<void> {
  const { matches, match_count } = scan.page
  if (context.config.quiet) return
  if (match_count === 0) return context.notice(`No match: ${whyNone(scan)}`)
  // The page itself says so.
  if (match_count > matches.length && context.format !== 'json') await context.notice(notShown(scan.page))
  await context.hint(...hintsFor(scan))
}

function block({ query, page, date }: Scan, { words }: Screen): Block {
  const { matches } = page
  // Nobody needs a column that says of every ticker that nothing is known; a pipe counts on those of its tier.
  const told = COLUMNS.filter(({ key }) =>
    words
      ? matches.length === 0 || matches.some(match => match[key] !== undefined)
      : matches.some(match => (match[key] ?? null) !== null),
  )
  return {
    title: [
      `oversold  ${query.timeframe}`,
      `${whole(page.match_count)} of ${whole(page.total_scanned)} ${page.match_count === 1 ? 'is' : 'are'} ${query.min_severity}`,
      ...(date === null ? [] : [`as of ${formatDay(date)}`]),
    ],
    table: {
      columns: told.map(({ key: _key, ...column }) => column),
      rows: matches.map(match => told.map(({ key }) => String(match[key] ?? '-'))),
    },
  }
}

const COLUMNS: readonly (Column & { key: keyof OversoldMatch })[] = [
  { key: 'ticker', title: 'TICKER' },
  { key: 'rsi_zone', title: 'ZONE' },
  { key: 'days_in_oversold', title: 'DAYS', align: 'right', spare: 1 },
  { key: 'condition_rarity', title: 'RARITY', spare: 2 },
  { key: 'stochastic_zone', title: 'STOCH', spare: 5 },
  { key: 'trend_context', title: 'TREND', spare: 3 },
  { key: 'volume_context', title: 'VOLUME', spare: 6 },
  { key: 'nearest_support_distance', title: 'SUPPORT', spare: 4 },
  { key: 'market_cap_tier', title: 'SIZE', spare: 7 },
  { key: 'valuation_zone', title: 'VALUATION', spare: 8 },
  { key: 'sector', title: 'SECTOR' },
]

function whyNone({ query, page, date }: Scan): string {
  const { timeframe, min_severity } = query
  const on = date === null ? '' : ` on ${formatDay(date)}`
  if (page.total_scanned > 0) return `none of ${whole(page.total_scanned)} scanned is ${min_severity}${on}.`
  return `no ticker here that the filters let through has bars, with an RSI, and a ${timeframe} one not older than a week${on}.`
}

function notShown({ matches, match_count }: OversoldPage): string {
  const more = `${whole(match_count - matches.length)} more match`
  return matches.length < MAX_LIMIT
    ? `${more}: --limit ${Math.min(MAX_LIMIT, match_count)}`
    : `${more}, and ${MAX_LIMIT} is the most that is shown: narrow it with --sector, --min-market-cap-tier or --min-severity`
}

function hintsFor({ query, page }: Scan): string[] {
  const [first] = page.matches
  const hints: string[] = []
  if (first !== undefined && first.days_in_oversold === undefined)
    hints.push(`Days, trend, volume, support and how the sector stands come with the Plus tier: ${UPGRADE_URL}`)
  const timeframe = query.timeframe === 'daily' ? '' : ` --timeframe ${query.timeframe}`
  if (first !== undefined) hints.push(`next: bands tally ${first.ticker} rsi_zone --band ${first.rsi_zone}${timeframe}`)
  return hints
}
