import type { Command } from './command.js'
import { joinOptions } from './joined-options.js'

/** A command, and the module that has it by its name. Only the module of the used command is loaded, to start fast. */
type Row = readonly [name: string, summary: string, load: () => Promise<{ commands: Record<string, Command> }>]

export interface Entry {
  /** One word, or a group and a word: `accounts create`. */
  name: string
  summary: string
  load(): Promise<Command>
}

/** Every command, in the order of the help. */
const ROWS: readonly Row[] = [
  ['events', 'every change of a band of a ticker', () => import('./commands/events.js')],
  ['tally', 'count what the price did after events', () => import('./commands/tally.js')],
  ['now', 'the present band of every field', () => import('./commands/tally.js')],
  ['transitions', 'which band follows which, and how long bands last', () => import('./commands/tally.js')],
  ['screen', 'tickers that meet a condition, and since when', () => import('./commands/screen.js')],
  ['changes', 'every change of a band since a day, or since you last asked', () => import('./commands/screen.js')],
  ['scan oversold', 'which tickers are oversold', () => import('./commands/scan-oversold.js')],
  ['explain', 'why a field has its band on a date', () => import('./commands/show.js')],
  ['study', 'returns after events, tested against ordinary days', () => import('./commands/study.js')],
  ['backtest', 'trade events by rules', () => import('./commands/backtest.js')],
  ['compare', 'strategies side by side over the same days', () => import('./commands/backtest.js')],
  ['sweep', 'test every band and window at once, corrected for their number', () => import('./commands/sweep.js')],
  ['trials', 'every question that was tested on these data', () => import('./commands/data.js')],
  ['check lookahead', 'test for look-ahead bias', () => import('./commands/check.js')],
  ['show', 'draw the price and its bands in the terminal', () => import('./commands/show.js')],
  ['ui', 'ask by clicking, in a browser of this machine', () => import('./commands/ui.js')],
  ['export', 'write events, series or bars to files', () => import('./commands/export.js')],
  ['sql', 'ask events, series and bars in SQL, with DuckDB', () => import('./commands/sql.js')],
  ['import', 'load prices, reports, earnings, ratings, splits from files', () => import('./commands/import.js')],
  ['fetch', 'load prices or reports of a vendor, with your own key', () => import('./commands/fetch.js')],
  ['update', 'bring fetched tickers up to date', () => import('./commands/fetch.js')],
  ['providers', 'the vendors, their terms, and those of your own', () => import('./commands/fetch.js')],
  ['pull', 'copy events of a server, for questions offline', () => import('./commands/pull.js')],
  ['simulate', 'make simulated tickers', () => import('./commands/simulate.js')],
  ['watch add', 'make a list of tickers, or add to it', () => import('./commands/watch.js')],
  ['watch list', 'your lists of tickers', () => import('./commands/watch.js')],
  ['watch show', 'the tickers of a list', () => import('./commands/watch.js')],
  ['watch remove', 'remove tickers from a list, or the whole list', () => import('./commands/watch.js')],
  ['conditions add', 'give a condition a name, for @NAME', () => import('./commands/watch.js')],
  ['conditions list', 'your named conditions', () => import('./commands/watch.js')],
  ['conditions show', 'the condition of a name', () => import('./commands/watch.js')],
  ['conditions remove', 'remove a named condition', () => import('./commands/watch.js')],
  ['facts', 'the loaded facts of a ticker, with their dates and files', () => import('./commands/data.js')],
  ['status', 'the loaded data, and how fresh they are', () => import('./commands/data.js')],
  ['verify', 'check that the database is as it was written', () => import('./commands/data.js')],
  ['backup', 'copy data, accounts, trials and lists into a checked folder', () => import('./commands/backup.js')],
  ['restore', 'replace the databases by those of a backup', () => import('./commands/backup.js')],
  ['rebuild', 'derive all events again from bars and facts', () => import('./commands/data.js')],
  ['remove', 'remove a ticker from the database', () => import('./commands/data.js')],
  ['rename', 'give a ticker another name', () => import('./commands/data.js')],
  ['unlock', 'release the lock of an import that died on another machine', () => import('./commands/data.js')],
  ['serve', 'answer over HTTP for customers with a key', () => import('./commands/serve.js')],
  ['accounts create', 'make an account for a server', () => import('./commands/accounts.js')],
  ['accounts list', 'accounts, their tiers and credits', () => import('./commands/accounts.js')],
  ['accounts set-tier', 'change the tier of an account', () => import('./commands/accounts.js')],
  ['accounts usage', 'credits by day, and a proof of the ledger', () => import('./commands/accounts.js')],
  ['accounts copy', 'copy the accounts between a file and PostgreSQL', () => import('./commands/accounts.js')],
  ['accounts layout', 'lay out or update the tables in PostgreSQL', () => import('./commands/accounts.js')],
  ['accounts grant', 'let a role of PostgreSQL serve the accounts', () => import('./commands/accounts.js')],
  ['keys create', 'make a key for an account', () => import('./commands/keys.js')],
  ['keys list', 'keys, and which of them are valid', () => import('./commands/keys.js')],
  ['keys revoke', 'make a key invalid', () => import('./commands/keys.js')],
  ['keys roll', 'replace a key by a new one', () => import('./commands/keys.js')],
  ['login', 'save a key for a server', () => import('./commands/config.js')],
  ['logout', 'delete a saved key', () => import('./commands/config.js')],
  ['config', 'every setting and where it comes from', () => import('./commands/config.js')],
  ['fields', 'every field, with its tier and bands', () => import('./commands/reference.js')],
  ['schema', 'the JSON Schema of an answer or of the strategy file', () => import('./commands/reference.js')],
  ['doctor', 'check this machine and the installation', () => import('./commands/doctor.js')],
  ['completion', 'complete command lines in bash, zsh or fish', () => import('./commands/reference.js')],
  ['mcp', 'answer an assistant (Model Context Protocol)', () => import('./commands/mcp.js')],
  ['demo', 'a first answer from the bundled sample', () => import('./commands/demo.js')],
]

export const CATALOGUE: readonly Entry[] = ROWS.map(([name, summary, load]) => ({
  name,
  summary,
  load: async () => {
    const command = (await load()).commands[name]!
    return command.options === undefined ? command : { ...command, options: joinOptions(command.options) }
  },
}))

export const GROUPS: Readonly<Record<string, string>> = {
  scan: 'tickers that stand out',
  watch: 'your lists of tickers',
  conditions: 'your named conditions',
  check: 'test for look-ahead bias',
  accounts: 'customers of a server, and their credits',
  keys: 'their API keys',
}

/** The second word of a group that a line without one means. */
export const GROUP_DEFAULTS: Readonly<Record<string, string>> = {
  watch: 'show',
  conditions: 'list',
  accounts: 'list',
  keys: 'list',
}

/** First words of command lines, each once. */
export const TOP_WORDS: readonly string[] = [...new Set(CATALOGUE.map(({ name }) => name.split(' ')[0]!))]

/** The commands of a group; empty for the name of a single command. */
export function commandsOfGroup(word: string): Entry[] {
  return CATALOGUE.filter(({ name }) => name.startsWith(`${word} `))
}

/** How far a command line was understood. */
export interface ParsedCommand {
  /** The first of two words. */
  group?: string
  entry?: Entry
  command?: Command
}

/** `bands events TICKER [FIELD]` */
export function usageLine(entry?: Entry, command?: Command): string {
  return ['bands', entry?.name ?? 'COMMAND', ...(command?.arguments ?? []).map(([name]) => plainName(name))].join(' ')
}

/** `<TICKER>` → `TICKER`; `[DATE]` is unchanged. */
export function plainName(name: string): string {
  return name.replace(/[<>]/g, '')
}

/** The kinds and words that an argument takes: `<TICKER>` takes a TICKER. */
export function argumentKinds([name, , kinds]: NonNullable<Command['arguments']>[number]): readonly string[] {
  return kinds ?? name.match(/[A-Z]+/g) ?? []
}
