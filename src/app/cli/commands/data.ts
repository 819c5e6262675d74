import { basename } from 'node:path'
import { BadData, didYouMean, NotFound, remedy, StorageError, suggest, wrong } from '../../../core/errors.js'
import { dayAt, formatDay } from '../../../core/model/day.js'
import { FACT_KINDS } from '../../../core/model/facts.js'
import { count } from '../../../core/numbers.js'
import { MOMENT } from '../../../core/params/figures.js'
import { DAY, integerOf, oneOf } from '../../../core/params/kinds.js'
import { optional, optionsOf, withDefault } from '../../../core/params/row.js'
import { tickerValue } from '../../../core/params/values.js'
import type { TrialKind } from '../../../core/source.js'
import type { Importer } from '../../../data/load/import.js'
import { corruptionMessage } from '../../../data/store/sqlite/connection.js'
import type { Damage } from '../../../data/store/store.js'
import { verifyOtherFiles } from '../../open/accounts.js'
import { openLists, openListsForReading, readStatus } from '../../open/database.js'
import { databasePath } from '../../open/paths.js'
import { forceUnlock } from '../../open/writing.js'
import { describeAccount, describeFacts, describeStatus, describeTrials } from '../../present/data.js'
import { type Column, column, describeList } from '../../present/description.js'
import type { Remote } from '../../remote/remote.js'
import type { Args, Command } from '../command.js'
import { nextLine, remedyLine } from '../command-line.js'
import { isRemoteTyped } from '../config.js'
import type { Context } from '../context.js'
import { TICKER, WIDE } from '../options.js'
import { oneRowAnswer } from '../output.js'
import { trialLog } from '../research.js'
import { parseTickers } from '../tickers.js'
import { openForImport, WAIT } from '../writing.js'
import { ACCOUNTS_FILE, hasAccountsElsewhere } from './accounts.js'

/** Commands about the loaded data: list, verify, remove. */

const status: Command = {
  arguments: [['[TICKER...]', 'tickers, @FILE, or - for standard input (default all that are loaded)']],
  options: [
    WIDE,
    ['--problems', 'only tickers with gaps or odd bars, or that end before the others, with what and when'],
  ],
  examples: ['bands status', 'bands status AAPL', 'bands status --problems', 'bands status --json'],
  notes: ['With --remote URL: the account of the key at that server, and the credits that it has left. Free.'],
  /** Shows the loaded tickers, or with --remote the account at the server. Throws NotFound for an unknown ticker. */
  async run(context, args) {
    const remote = isRemoteTyped(context.config) ? await context.remote() : null
    if (remote !== null) return showAccount(context, args, remote)
    const opened = await context.localDatabase()
    const typed = await parseTickers(args.argumentList(0), context.world)
    const result = await readStatus(opened, typed.length === 0 ? undefined : typed)
    const knownTickers = new Set([...result.tickers, ...result.pulled].map(({ ticker }) => ticker))
    const missing = typed.find(ticker => !knownTickers.has(ticker))
    if (missing !== undefined) throw await opened.local.unknownTicker(missing)
    const today = dayAt(context.world.now().getTime())
    const wide = args.flag('wide')
    if (!args.flag('problems')) return context.show(describeStatus(result, today), { wide })
    const { describeProblems, onlyProblems } = await import('../../present/problems.js')
    const found = onlyProblems(result)
    await context.show(describeProblems(describeStatus(found, today), found, result.tickers.length), { wide })
  },
}

/** Shows the account at a server. Throws InvalidParameter for a line about tickers. */
async function showAccount(context: Context, args: Args, { url, pages }: Remote): Promise<void> {
  const [ticker] = args.argumentList(0)
  if (args.flag('problems'))
    throw wrong('problems', `${url} says nothing about the bars of tickers; leave out --problems.`)
  if (ticker !== undefined)
    throw wrong(
      'ticker',
      `${url} says nothing about the data of a ticker; leave ${ticker} out.`,
      { value: ticker },
      {
        remedy: remedy('status', [], { remote: url }),
      },
    )
  await context.show(describeAccount(await pages.account(), url))
}

const FACTS = {
  kind: optional(oneOf(FACT_KINDS, 'KIND'), `the records of one kind: ${FACT_KINDS.join(', ')}`),
  limit: withDefault(integerOf(1, 100_000), 20, 'with --kind: how many of the newest are shown in a table'),
}

const facts: Command = {
  arguments: [TICKER],
  options: optionsOf(FACTS),
  examples: ['bands facts SIM0001', 'bands facts SIM0001 --kind reports', 'bands facts SIM0001 --kind ratings --csv'],
  notes: [
    'KNOWN is the day on which a fact became public. It counts from USABLE FROM: the same day when it was known before the session, otherwise the next.',
  ],
  async run(context, args) {
    const ticker = tickerValue('ticker', args.argument(0)!)
    const { kind, limit } = args.read(FACTS)
    const { knownFacts } = await import('../../../data/local/facts.js')
    const result = await knownFacts(await context.local(), kind === undefined ? { ticker } : { ticker, kind })
    await context.show(describeFacts(result, kind, limit))
    const [firstKind] = result.kinds
    const asOfText = result.as_of === null ? '' : ` by ${result.as_of}`
    if (firstKind === undefined)
      await context.remark(`no ${kind ?? 'facts'} of ${ticker} are known${asOfText}; bands import FILE loads facts.`)
    else if (kind === undefined)
      await context.hint(`next: ${nextLine(context.argv, 'facts', [ticker], ['--kind', firstKind.kind])}`)
  },
}

const verify: Command = {
  options: [['--deep', 'derive every event again from the bars, and compare'], ...optionsOf(ACCOUNTS_FILE)],
  examples: ['bands verify', 'bands verify --deep --json'],
  notes: [
    'Looks at the data, and at the accounts, the trial log and the watch lists where there are such. Exits with 5 when something is not as it was written.',
  ],
  /** Checks the database and the other files of the user, and shows the damages. With any, the exit code is 5. */
  async run(context, args) {
    const deep = args.flag('deep')
    const { tickers, damages: dataDamages } = await verifyData(context, deep)
    const { path: database, sample } = context.opened!
    const otherFiles = sample ? [] : await verifyOtherFiles({ ...context.databaseChoice, ...args.read(ACCOUNTS_FILE) })
    const rows = [{ file: database, damages: dataDamages }, ...otherFiles].flatMap(({ file, damages }) =>
      damages.map(damage => damageRow(file, damage)),
    )
    const files = otherFiles.map(({ kind, file, rows }) => ({ kind, file, rows }))
    const fileTexts = files.map(({ kind, rows }) => `${FILE_NAMES[kind]} (${count(rows, 'row')})`)
    const checkedText = [count(tickers, 'ticker'), ...fileTexts].join(', ')
    const summary = `${checkedText} checked${deep ? ', every event derived again' : ''}`
    const verdict = rows.length === 0 ? 'all as it was written' : count(rows.length, 'damage')
    const document = { schema: 'bands.verify/1', database, tickers, deep, beside: files, damages: rows }
    await context.show(describeList(document, rows, DAMAGE_COLUMNS, { notes: [`${summary}: ${verdict}`] }))
    if (hasAccountsElsewhere(context, args))
      await context.remark('accounts in PostgreSQL (BANDS_ACCOUNTS): bands accounts usage --reconcile looks at them.')
    if (rows.length > 0) context.exitCode = 5
  },
}

const FILE_NAMES = { accounts: 'the ledger of credits', trials: 'the trial log', lists: 'the watch lists' }

interface DamageRow {
  file: string
  ticker: string
  what: string
  /** The command line that repairs it; null if only a backup can. */
  try: string | null
}

function damageRow(file: string, { ticker, what, mend }: Damage): DamageRow {
  return { file, ticker, what, try: mend === null ? null : remedyLine(mend) }
}

const DAMAGE_COLUMNS: readonly Column<DamageRow>[] = [
  { ...column('file'), value: ({ file }) => basename(file) },
  column('ticker'),
  column('what', 'text', { title: 'damage' }),
  { ...column('try'), value: row => row.try ?? 'put a backup in its place' },
]

/** Verifies the local database. Throws BadData if SQLite finds it damaged. @param deep derives every event again */
async function verifyData(context: Context, deep: boolean): Promise<{ tickers: number; damages: Damage[] }> {
  try {
    const { local } = await context.localDatabase()
    const { verify } = await import('../../../data/local/verify.js')
    const damages = await verify(local, { deep })
    return { tickers: (await local.store.names()).length, damages }
  } catch (error) {
    const corruption = error instanceof StorageError ? corruptionMessage(error) : null
    if (corruption === null) throw error
    const message = `${corruption}; import the files again into a new database, or put a backup in its place`
    throw new BadData({ file: databasePath(context.databaseChoice) }, message, { cause: error })
  }
}

const rebuild: Command = {
  options: [WAIT],
  examples: ['bands rebuild', 'bands rebuild --wait'],
  notes: [
    'For a database that another version of the definitions has derived; the bars stay as they are.',
    'The loaded part of a stopped import is accepted: status and doctor no longer report it.',
  ],
  async run(context, args) {
    const importer = await openForImport(context, { wait: args.flag('wait') })
    const tickers = await importer.rebuild(
      ({ done, of }) => context.step(() => `deriving  ${done}/${of ?? '?'} tickers`),
      await context.cluster(),
    )
    const row = { schema: 'bands.rebuild/1', database: importer.store.location, tickers }
    await context.show(oneRowAnswer(row, [`derived ${count(tickers, 'ticker')} again from the bars`]))
  },
}

const REMOVE = { after: optional(DAY, 'only its bars after this day; everything else of it stays') }

const remove: Command = {
  arguments: [TICKER],
  options: [...optionsOf(REMOVE), WAIT],
  examples: ['bands remove SIM0001', 'bands remove SIM0001 --after 2024-05-31'],
  notes: [
    'Removes its bars, events, facts and pulled events. Its files and your lists (bands watch) stay as they are.',
  ],
  /** Removes a ticker, or only its bars after a day. Throws NotFound if nothing is loaded for it. */
  async run(context, args) {
    const ticker = tickerValue('ticker', args.argument(0)!)
    const { after: day } = args.read(REMOVE)
    const importer = await openForImport(context, { wait: args.flag('wait') })
    // Without a day the whole ticker is removed; `after` and `bars` are null then.
    const after = day === undefined ? null : formatDay(day)
    const bars = day === undefined ? null : await importer.removeAfter(ticker, day)
    if (day !== undefined && bars === null) throw await notLoadedError(importer, ticker, 'no bars are')
    if (day === undefined && !(await importer.remove(ticker)))
      throw await notLoadedError(importer, ticker, 'nothing is')
    let note = `${ticker} is removed`
    if (bars === 0) note = `${ticker} has no bars after ${after}`
    else if (bars !== null) note = `${count(bars, 'bar')} of ${ticker} removed`
    await context.show(oneRowAnswer({ schema: 'bands.remove/1', ticker, removed: bars !== 0, after, bars }, [note]))
  },
}

const rename: Command = {
  arguments: [TICKER, ['<NAME>', 'the name that it gets; nothing may be loaded under it']],
  options: [WAIT],
  examples: ['bands rename FB META'],
  notes: [
    'Its bars, events and facts stay as they are, with the names of their files. It stays in its lists (bands watch), and bands changes --since last continues. A condition that names it is left as it is.',
  ],
  /** Renames a ticker in the database and in the watch lists. */
  async run(context, args) {
    const ticker = tickerValue('ticker', args.argument(0)!)
    const name = tickerValue('name', args.argument(1)!)
    const importer = await openForImport(context, { wait: args.flag('wait') })
    // The lists are checked first: if they cannot be opened, nothing is renamed. A missing file of lists is not made.
    const existingLists = context.closeAtEnd(await openListsForReading(context.databaseChoice))
    const lists = existingLists === null ? null : context.closeAtEnd(await openLists(context.databaseChoice))
    if (!(await importer.rename(ticker, name))) throw await notLoadedError(importer, ticker, 'nothing is')
    const listNames = (await lists?.renameTicker(ticker, name)) ?? []
    const notes = [`${ticker} is ${name} now`]
    if (listNames.length > 0)
      notes.push(`in ${listNames.length === 1 ? 'the list' : 'the lists'} ${listNames.join(', ')}, too`)
    await context.show(oneRowAnswer({ schema: 'bands.rename/1', ticker, name }, notes))
  },
}

/** The error for a ticker that is not loaded, with the nearest ones. @param what begins the message: `nothing is` */
async function notLoadedError(importer: Importer, ticker: string, what: string): Promise<NotFound> {
  const suggestions = suggest(ticker, await importer.tickers())
  const message = `${what} loaded for "${ticker}".`
  return new NotFound(message + didYouMean(suggestions), suggestions, { missing: { kind: 'ticker', name: ticker } })
}

const unlock: Command = {
  examples: ['bands unlock'],
  notes: [
    'For an import on another machine, or of an older bands, that ended without releasing its lock. This machine cannot see whether it still runs. The lock of a process that died on this machine ends with it.',
  ],
  async run(context) {
    context.refuseRemote()
    const { path, freed } = await forceUnlock(context.databaseChoice)
    const { pid = null, host = null, started = null } = freed ?? {}
    const row = { schema: 'bands.unlock/1', database: path, unlocked: freed !== null, pid, host, started }
    const freedText = `process ${pid} on ${host}, which took it at ${started}, has it no more`
    await context.show(oneRowAnswer(row, [freed === null ? 'no process is writing; nothing to unlock' : freedText]))
  },
}

const KINDS = ['cell', 'strategy'] as const satisfies readonly TrialKind[]

const TRIALS = {
  kind: optional(oneOf(KINDS, 'WHAT'), `only ${KINDS.join(' or ')}`),
  since: optional(MOMENT, 'only questions first tried on that day or later: today, or a date'),
  limit: withDefault(integerOf(1, 1_000_000), 20, 'how many of the newest'),
}

const trials: Command = {
  options: optionsOf(TRIALS),
  examples: ['bands trials', 'bands trials --since today', 'bands trials --kind strategy --json'],
  notes: [
    'A question is a band of a field (study, tally, sweep) with its windows; a strategy is what backtest trades. Each distinct one is noted once, with the range of the data, in a file next to the database. From the second question on, headlines count all with their timeframe and overlapping dates (--family run: not), and of strategies only those with a test. Nothing is noted of the bundled sample.',
  ],
  async run(context, args) {
    const { kind, limit, since } = args.read(TRIALS)
    const kinds = kind === undefined ? KINDS : [kind]
    const log = await trialLog(context, kinds, since?.time)
    await context.show(describeTrials(log, { kinds, limit, since: since?.day ?? null }))
  },
}

export const commands = { status, facts, verify, rebuild, remove, rename, unlock, trials }
