import { InvalidParameter } from '../../errors.js'
import type { Local } from '../../local/local.js'
import { optionsOf } from '../../params/row.js'
import { parseScreen, SCREEN } from '../../params/screen.js'
import { checkLook, describeScreen } from '../../present/screen.js'
import { type Screen, screen, subjectsNamed } from '../../screen/screen.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { described } from '../draw/described.js'
import type { Given } from '../given.js'
import { POOLED } from '../options.js'
import { marketTickers } from '../tickers.js'
import { WEBHOOK, webhookOf } from '../webhook.js'

const { condition: _condition, ...OPTIONS } = SCREEN

export const command: Command = {
  arguments: [
    ['<CONDITION>', 'what must hold: "rsi_zone in (oversold, deep_oversold) and GSPC:trend_direction = uptrend"'],
  ],
  options: [
    ...optionsOf(OPTIONS),
    ...POOLED,
    ...WEBHOOK,
    ['--columns <NAMES>', 'only these columns, in this order', 'repeatable'],
    ['--sort <COLUMN>', 'by this column, COLUMN:desc for the highest first; the newest onset first unless given'],
    ['--fail-empty', 'exit with 3 when no ticker matches'],
  ],
  examples: [
    "bands screen 'rsi_zone in (oversold, deep_oversold)' --since 5",
    "bands screen 'trend_direction = uptrend for 20 bars' --sort bars:desc",
    "bands screen 'rsi_zone enters oversold within 5' --date 2018-02-09 --tally",
  ],
  notes: [
    'A ticker is looked at on its last bar that was final on the day, if that was at most seven days before. SINCE is the bar from which the condition holds, or with --since N the newest bar on which it became true; BARS counts from there to the last, both included.',
  ],
  async run(context, given) {
    const local = await context.local()
    const { date, ...asked } = parseScreen(
      { condition: given.argument(0), ...given.params(Object.keys(OPTIONS)) },
      local.fieldSet,
    )
    if (date !== undefined && local.asOf !== null && local.asOf !== date)
      throw new InvalidParameter('--date and --as-of are two words for the same day; give one of them.', {
        param: 'date',
      })
    const asOf = date === undefined ? local : local.on(date)
    // What is wrong with the line is told before anything is asked, and posted.
    const look = { columns: namesOf(given), sort: given.text('sort') }
    checkLook(look, subjectsNamed(local, asked.condition), asked.tally)
    const post = await webhookOf(context, given)
    const tickers = await marketTickers(context, given, asOf)
    const found = await screen(asOf, { ...asked, tickers }, { step: text => context.step(text) })
    await post(found)
    const closes = await closesOf(context, asOf, found)
    await context.show(described(describeScreen(found, { ...look, closes })))
    if (found.matches.length > 0) return context.hint(...hintsOf(found, asked))
    await tellEmpty(context, found)
    if (given.flag('fail-empty')) context.outcome = 3
  },
}

function namesOf(given: Given): string[] | undefined {
  const names = given.list('columns')
  return names.length === 0 ? undefined : names
}

/** Bars that are drawn beside a match. */
const DRAWN = 60

/** For a terminal alone: a price says more at a look than in digits. */
async function closesOf(context: Context, local: Local, { matches }: Screen): Promise<Map<string, readonly number[]>> {
  const closes = new Map<string, readonly number[]>()
  if (!context.isForPeople || !context.out.terminal) return closes
  for (const { ticker, timeframe } of matches.slice(0, 10)) {
    const { close } = await local.series(ticker, timeframe)
    closes.set(ticker, [...close.subarray(-DRAWN)])
  }
  return closes
}

function hintsOf(
  { matches, condition }: Screen,
  { timeframe, tally }: { timeframe: string; tally: boolean },
): string[] {
  const weekly = timeframe === 'weekly' ? ' --timeframe weekly' : ''
  const when = `--when "${condition}"${weekly}`
  const next = tally ? `bands show ${matches[0]!.ticker} ${when}` : `bands tally --all ${when}`
  return [`next: ${next}`]
}

/** Why there is nothing, as far as one can say without asking another question. */
async function tellEmpty(context: Context, { scanned, stale, as_of, within }: Screen): Promise<void> {
  if (context.config.quiet) return
  const what =
    within === null
      ? `it holds of none of them on ${as_of}`
      : `it became true of none of them in the last ${within} bars`
  const fresh = scanned - stale
  const who =
    scanned === 0
      ? 'no ticker was asked about'
      : stale === 0
        ? `${scanned} tickers were looked at`
        : `${fresh} of ${scanned} tickers had a bar in the week before ${as_of}`
  await context.notice(`No match: ${who}, and ${what}.`)
}
