import { ConfigError, parameter, sentence, wrong } from '../../../core/errors.js'
import { conditionField } from '../../../core/language/as-field.js'
import { printSubject } from '../../../core/language/condition.js'
import { CHANGES, parseChanges, parseScreen, SCREEN } from '../../../core/params/questions.js'
import { type OptionSpec, optionsOf } from '../../../core/params/row.js'
import type { Local } from '../../../data/local/local.js'
import { type Changed, changes, marksName, type Screen, screen, subjectNames } from '../../../research/screen/screen.js'
import { openLists } from '../../open/database.js'
import { readLists } from '../../open/lists.js'
import { describeChanges, describeScreen, MOST_LISTED, refuseUnknownColumns } from '../../present/screen.js'
import type { Remote } from '../../remote/remote.js'
import { webhookUrl } from '../../remote/webhook.js'
import type { Args, Command } from '../command.js'
import { nextLine } from '../command-line.js'
import type { Context } from '../context.js'
import { readSmallFile } from '../formats.js'
import { TICKERS_OPTIONS, WIDE } from '../options.js'
import { marketTickers, searchedTickers } from '../tickers.js'

const { when: _when, as_of: _asOf, ...OPTIONS } = SCREEN

const WEBHOOK_OPTIONS: readonly OptionSpec[] = [
  ['--webhook <URL>', 'post the answer there as JSON, signed: X-Bands-Signature', 'once', 'Webhook'],
  ['--webhook-secret-file <FILE>', 'the secret that signs it (default BANDS_WEBHOOK_SECRET)'],
  ['--allow-private', 'the webhook may be on this machine or in a private network'],
]

const screenCommand: Command = {
  arguments: [
    ['<CONDITION>', 'what must hold: "rsi_zone in (oversold, deep_oversold) and GSPC:trend_direction = uptrend"'],
  ],
  options: [
    ...optionsOf(OPTIONS),
    ...TICKERS_OPTIONS,
    ['--wide', `every match, not only the first ${MOST_LISTED}`],
    ...WEBHOOK_OPTIONS,
    ['--columns <NAMES>', 'only these columns, in this order', 'repeatable'],
    ['--sort <COLUMN>', 'by this column, COLUMN:desc for the highest first (default: the newest onset first)'],
    ['--fail-empty', 'exit with 3 when no ticker matches'],
  ],
  examples: [
    "bands screen 'rsi_zone in (oversold, deep_oversold)' --since 5",
    "bands screen 'trend_direction = uptrend for 20 bars' --sort bars:desc",
    "bands screen 'rsi_zone enters oversold within 5' --as-of 2018-02-09 --tally",
  ],
  notes: [
    'A ticker is looked at on its last bar that was final on the day, if that was at most seven days before. SINCE is the bar from which the condition holds, or with --since N the newest bar on which it became true; BARS counts from there to the last, both included. AGE is the days from the last bar to the day.',
    'With --remote URL the search of that server answers, a credit for each 100 matches: bands of the last bar, joined by "and". It has no SINCE and no BARS.',
  ],
  /** Shows the tickers for which a condition holds, and posts them to --webhook. A server uses its own search. */
  async run(context, args) {
    const remote = await context.remote()
    if (remote !== null) return screenAtServer(context, args, remote)
    const local = await context.local()
    const query = parseScreen({ when: args.argument(0), ...args.params(Object.keys(OPTIONS)) }, local.fieldSet)
    // Faults in the line are reported before any question or post.
    const names = args.list('columns')
    const style = { columns: names.length === 0 ? undefined : names, sort: args.text('sort') }
    refuseUnknownColumns(style, subjectNames(local, query.condition), { isTallied: query.tally })
    const post = await webhookPoster(context, args)
    const tickers = await marketTickers(context, args, local)
    const result = await screen(local, { ...query, tickers }, { step: context.step })
    await post(result)
    const closes = await sparklineCloses(context, local, result)
    await context.show(describeScreen(result, { ...style, closes }), { wide: args.flag('wide') })
    if (result.matches.length > 0) return context.hint(screenHint(result, query.tally, context.argv))
    await noticeNoMatch(context, args, result)
  },
}

/** Asks the search of a server, which knows bands on the last bar of each ticker. */
async function screenAtServer(context: Context, args: Args, remote: Remote): Promise<void> {
  const { timeframe, ...otherParams } = args.params(Object.keys(OPTIONS))
  const [refusedParam] = Object.keys(otherParams)
  if (refusedParam !== undefined) {
    const words = sentence`${parameter(refusedParam)} needs bars before the last one, and a search of a server has none.`
    throw wrong(refusedParam, words)
  }
  const when = args.argument(0)
  const query = parseScreen(timeframe === undefined ? { when } : { when, timeframe }, context.fields)
  // A fault in the line is reported before a question that costs a credit.
  const names = args.list('columns')
  const subjects = conditionField(query.condition, context.fields).subjects.map(printSubject)
  const columns = names.length > 0 ? names : ['ticker', 'date', ...subjects, 'close']
  const style = { columns, sort: args.text('sort') }
  refuseUnknownColumns(style, subjects, { isTallied: false })
  const post = await webhookPoster(context, args)
  const tickers = await searchedTickers(context, args)
  const { serverScreen } = await import('../../remote/server-screen.js')
  const result = await serverScreen(remote.pages, { ...query, tickers })
  await post(result)
  await context.show(describeScreen(result, style), { wide: args.flag('wide') })
  if (result.matches.length === 0) await noticeNoMatch(context, args, result)
}

const SPARKLINE_BARS = 60

/** The last closes of the first matches, by ticker, for the sparklines of a terminal; empty for other outputs. */
async function sparklineCloses(context: Context, local: Local, { matches }: Screen) {
  const closes = new Map<string, readonly number[]>()
  if (!context.isForPeople || !context.out.terminal) return closes
  for (const { ticker, timeframe } of matches.slice(0, 10)) {
    const { close } = await local.series(ticker, timeframe)
    closes.set(ticker, [...close.subarray(-SPARKLINE_BARS)])
  }
  return closes
}

/** A hint at the next command: a tally of the condition, or its picture if the screen already had a tally. */
function screenHint({ matches, when }: Screen, isTallied: boolean, argv: readonly string[]): string {
  const words = ['--when', when]
  return `next: ${isTallied ? nextLine(argv, 'show', [matches[0]!.ticker], words) : nextLine(argv, 'tally', [], words)}`
}

/** Explains an empty answer, as far as possible without another question. With --fail-empty the exit code is 3. */
async function noticeNoMatch(context: Context, args: Args, { scanned, stale, as_of, within }: Screen): Promise<void> {
  if (args.flag('fail-empty')) context.exitCode = 3
  const reason =
    within === null ? `it is true for no ticker on ${as_of}` : `it became true for no ticker in the last ${within} bars`
  let scope = `${scanned} tickers were looked at`
  if (scanned === 0) scope = 'no ticker was asked about'
  else if (stale > 0) scope = `${scanned - stale} of ${scanned} tickers had a bar in the week before ${as_of}`
  await context.remark(`No match: ${scope}, and ${reason}.`)
}

const changesCommand: Command = {
  options: [
    ...optionsOf(CHANGES),
    ...TICKERS_OPTIONS,
    WIDE,
    ...WEBHOOK_OPTIONS,
    ['--fail-empty', 'exit with 3 when nothing changed'],
  ],
  examples: [
    'bands changes',
    'bands changes --since 2018-05-01 --field rsi_zone,macd_state',
    'bands changes --since last --watch tech --ndjson',
  ],
  notes: [
    'Without --since: what became final on the newest day. --since last goes on where the same list (--watch NAME, or none) was last asked, ticker by ticker, so that a late bar is not lost; it moves on once the answer is written out, with --webhook once it was received.',
    'Each question that is narrowed in another way, by --field or by --when, has its own last. A ticker that is new to it begins where the last answer ended.',
    'While facts are imported, and after such an import was stopped, the fields that wait are left out and named (omitted in JSON). --since last reports their changes once they are derived.',
  ],
  /** Shows and posts the changes of bands since a day, or since this question was last asked (`--since last`). */
  async run(context, args) {
    const local = await context.local()
    const post = await webhookPoster(context, args)
    const parsed = parseChanges(args.params(Object.keys(CHANGES)), local.fieldSet)
    const tickers = await marketTickers(context, args, local)
    const dayBefore = (await local.today()) - 1
    const query = { ...parsed, tickers }
    const options = { step: context.step }
    const show = (changed: Changed) => showChanges({ context, args, post }, changed, tickers.length)
    if (parsed.since !== 'last')
      return show(await changes(local, { ...query, since: parsed.since ?? dayBefore }, options))
    // The marks of a question are the points up to which its answers were shown.
    const question = marksName({ ...parsed, lists: args.list('watch') }, local.fieldSet.names)
    const lists = context.closeAtEnd(await openLists(context.databaseChoice))
    const marks = await lists.readMarks(question)
    const changed = await changes(local, { ...query, since: dayBefore, marks }, options)
    await show(changed)
    await lists.saveMarks(question, changed.marks)
  },
}

/** Posts the changes, then shows them. Throws if either fails, so that the caller does not save its progress. */
async function showChanges(
  { context, args, post }: { context: Context; args: Args; post: Post },
  { found: result }: Changed,
  tickerCount: number,
): Promise<void> {
  await post(result)
  const watched = new Set((await readLists(context.databaseChoice)).flatMap(list => list.tickers))
  await context.show(describeChanges(result, tickerCount, watched), { wide: args.flag('wide') })
  await context.noticeOmitted(result.omitted ?? [])
  if (result.changes.length > 0) return
  const since = result.since === 'last' ? 'since the last time' : `on a bar that became final after ${result.since}`
  await context.remark(`No change: no field of ${tickerCount} tickers entered another band ${since}.`)
  if (args.flag('fail-empty')) context.exitCode = 3
}

const SECRET_VARIABLE = 'BANDS_WEBHOOK_SECRET'

/** Posts an answer, and reports that on stderr. */
type Post = (document: object) => Promise<void>

/** The function that posts to --webhook, or does nothing without it. Throws ConfigError without a secret. */
async function webhookPoster(context: Context, args: Args): Promise<Post> {
  const text = args.text('webhook')
  if (text === undefined) {
    refuseWebhookOptions(args)
    return async () => {}
  }
  const allowPrivate = args.flag('allow-private')
  const url = webhookUrl('webhook', text, { allowPrivate })
  const secret = await webhookSecret(context, args)
  const { timeout, retries } = context.config
  return async document => {
    const { postToWebhook } = await import('../../remote/webhook.js')
    const status = await postToWebhook(document, { url, secret, allowPrivate, timeoutMs: timeout * 1000, retries })
    await context.remark(`posted to ${url.origin}, which answered ${status}.`)
  }
}

/** Throws InvalidParameter for an option of a webhook, because the line has none. */
function refuseWebhookOptions(args: Args): void {
  const option = ['webhook-secret-file', 'allow-private'].find(name => args.value(name) !== undefined)
  if (option === undefined) return
  throw wrong(option.replaceAll('-', '_'), `--${option} is for --webhook URL, and none is given.`)
}

/** The secret of the named file, otherwise of the variable. Throws ConfigError if there is none. */
async function webhookSecret(context: Context, args: Args): Promise<string> {
  const file = args.text('webhook-secret-file')
  const secret = file === undefined ? context.world.env[SECRET_VARIABLE] : (await readSmallFile(file)).trim()
  if (secret !== undefined && secret !== '') return secret
  const message = 'a webhook is signed, and there is no secret'
  throw new ConfigError(`${message}: set ${SECRET_VARIABLE}, or give --webhook-secret-file FILE.`)
}

export const commands = { screen: screenCommand, changes: changesCommand }
