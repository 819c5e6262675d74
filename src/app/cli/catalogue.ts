import type { Command } from './command.js'

/** A module has its commands by their names. It is loaded when one is used, so that a question does not pay for the others. */
type Row = readonly [
  name: string,
  summary: string,
  load: () => Promise<{ commands: Readonly<Record<string, Command>> }>,
]

export interface Entry {
  /** One word, or a group and a word: `accounts create`. */
  name: string
  summary: string
  load(): Promise<Command>
}

/** Every command, in the order of the help. */
const ROWS: readonly Row[] = [
  ['events', 'list the transitions of a field of a ticker', () => import('./commands/events.js')],
  ['tally', 'count what followed them', () => import('./commands/tally.js')],
  ['now', 'the present band of every field', () => import('./commands/tally.js')],
  ['transitions', 'which band follows which, and how long they last', () => import('./commands/tally.js')],
  ['screen', 'which tickers a condition holds of, and since when', () => import('./commands/screen.js')],
  ['changes', 'every transition since a day, or since you last asked', () => import('./commands/screen.js')],
  ['scan oversold', 'which tickers are oversold', () => import('./commands/scan-oversold.js')],
  ['explain', 'why a field has its band on a date', () => import('./commands/show.js')],
  ['study', 'what followed events, tested against what follows anyway', () => import('./commands/study.js')],
  ['backtest', 'trade them by rules, and what came of it', () => import('./commands/backtest.js')],
  ['compare', 'strategies side by side over the same days', () => import('./commands/backtest.js')],
  ['sweep', 'look at every band and window, corrected for so many looks', () => import('./commands/sweep.js')],
  ['trials', 'every look that was ever taken at the data', () => import('./commands/data.js')],
  ['check lookahead', 'whether anything knows what came after it', () => import('./commands/check.js')],
  ['show', 'draw the price and its bands in the terminal', () => import('./commands/show.js')],
  ['export', 'write events, series or bars out', () => import('./commands/export.js')],
  ['import', 'load price files, and files of facts', () => import('./commands/import.js')],
  ['import-facts', 'load reports, earnings, ratings, insider trades, splits', () => import('./commands/import.js')],
  ['pull', 'fetch events of a server, to be asked offline', () => import('./commands/pull.js')],
  ['simulate', 'make simulated tickers', () => import('./commands/simulate.js')],
  ['watch add', 'make a list of tickers, or add to it', () => import('./commands/watch.js')],
  ['watch list', 'the lists that there are', () => import('./commands/watch.js')],
  ['watch show', 'the tickers of a list', () => import('./commands/watch.js')],
  ['watch remove', 'take tickers out of a list, or the whole list away', () => import('./commands/watch.js')],
  ['tickers', 'what is loaded', () => import('./commands/data.js')],
  ['facts', 'what is known of a ticker, since when, from which file', () => import('./commands/data.js')],
  ['status', 'how fresh and how whole the data is', () => import('./commands/data.js')],
  ['verify', 'check that the database holds what was written', () => import('./commands/data.js')],
  ['backup', 'copy data, accounts, trials and lists into a checked folder', () => import('./commands/backup.js')],
  ['restore', 'put a backup in the place of what there is', () => import('./commands/backup.js')],
  ['rebuild', 'derive all events again from bars and facts', () => import('./commands/data.js')],
  ['remove', 'take a ticker out of the database', () => import('./commands/data.js')],
  ['rename', 'give a ticker another name', () => import('./commands/data.js')],
  ['unlock', 'free the database of an import that died elsewhere', () => import('./commands/data.js')],
  ['serve', 'answer over HTTP, to those who have a key', () => import('./commands/serve.js')],
  ['accounts create', 'make an account for a server', () => import('./commands/accounts.js')],
  ['accounts list', 'accounts, their tiers and credits', () => import('./commands/accounts.js')],
  ['accounts set-tier', 'change the tier of an account', () => import('./commands/accounts.js')],
  ['accounts usage', 'credits by day, and a proof of the ledger', () => import('./commands/accounts.js')],
  ['accounts copy', 'copy the accounts between a file and PostgreSQL', () => import('./commands/accounts.js')],
  ['accounts layout', 'lay out or update the tables in PostgreSQL', () => import('./commands/accounts.js')],
  ['accounts grant', 'let a role of PostgreSQL serve the accounts', () => import('./commands/accounts.js')],
  ['accounts roll-up', 'keep old days of the ledger as sums', () => import('./commands/accounts.js')],
  ['keys create', 'make a key for an account', () => import('./commands/keys.js')],
  ['keys list', 'keys, and which of them count', () => import('./commands/keys.js')],
  ['keys revoke', 'let a key count no more', () => import('./commands/keys.js')],
  ['keys roll', 'put a new key in place of another', () => import('./commands/keys.js')],
  ['login', 'keep a key for a server', () => import('./commands/config.js')],
  ['logout', 'forget a key', () => import('./commands/config.js')],
  ['config', 'every setting and what told it', () => import('./commands/config.js')],
  ['fields', 'what can be asked: fields, tiers, bands', () => import('./commands/reference.js')],
  ['schema', 'the JSON Schema of an answer or of the strategy file', () => import('./commands/reference.js')],
  ['doctor', 'check this machine and the installation', () => import('./commands/doctor.js')],
  ['completion', 'let a shell complete what is typed: bash, zsh, fish', () => import('./commands/reference.js')],
  ['demo', 'a first answer from the bundled sample', () => import('./commands/demo.js')],
]

export const CATALOGUE: readonly Entry[] = ROWS.map(([name, summary, load]) => ({
  name,
  summary,
  load: async () => (await load()).commands[name]!,
}))

/** Groups of commands, with their descriptions. */
export const GROUPS: Readonly<Record<string, string>> = {
  scan: 'which tickers stand out',
  watch: 'lists of tickers, to be asked about by name',
  check: 'whether what is shown could have been known',
  accounts: 'who may ask a server, and what they used',
  keys: 'what they show a server to be known',
}

/** First words of command lines, each once. */
export const TOP_WORDS: readonly string[] = [...new Set(CATALOGUE.map(({ name }) => name.split(' ')[0]!))]

/** The commands of a group; empty for the name of a single command. */
export function groupOf(word: string): Entry[] {
  return CATALOGUE.filter(({ name }) => name.startsWith(`${word} `))
}

/** How far a command line was understood. */
export interface ParsedCommand {
  /** The first of two words. */
  group?: string
  entry?: Entry
  command?: Command
}

export function usage(entry?: Entry, command?: Command): string {
  return ['bands', entry?.name ?? 'COMMAND', ...(command?.arguments ?? []).map(([name]) => plainName(name))].join(' ')
}

/** `<TICKER>` → `TICKER`; `[DATE]` is unchanged. */
export function plainName(name: string): string {
  return name.replace(/[<>]/g, '')
}
