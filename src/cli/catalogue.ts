import type { Command } from './command.js'

export interface Entry {
  /** One word, or two of which the first names a group: `accounts create`. */
  name: string
  summary: string
  /** Its module is loaded when the command is used, so that a question does not pay for the others. */
  load(): Promise<Command>
}

/** Every command, in the order of the help. */
export const CATALOGUE: readonly Entry[] = [
  entry(
    'events',
    'list the transitions of a field of a ticker',
    async () => (await import('./commands/events.js')).command,
  ),
  entry('tally', 'count what followed them', async () => (await import('./commands/tally.js')).command),
  entry('now', 'the present band of every field', async () => (await import('./commands/now.js')).command),
  entry(
    'transitions',
    'which band follows which, and how long they last',
    async () => (await import('./commands/transitions.js')).command,
  ),
  entry(
    'scan oversold',
    'which tickers are oversold',
    async () => (await import('./commands/scan-oversold.js')).command,
  ),
  entry('explain', 'why a field has its band on a date', async () => (await import('./commands/explain.js')).command),
  entry(
    'study',
    'what followed events, tested against what follows anyway',
    async () => (await import('./commands/study.js')).command,
  ),
  entry(
    'backtest',
    'trade them by rules, and what came of it',
    async () => (await import('./commands/backtest.js')).command,
  ),
  entry(
    'sweep',
    'look at every band and window, corrected for so many looks',
    async () => (await import('./commands/sweep.js')).command,
  ),
  entry(
    'trials',
    'every look that was ever taken at the data',
    async () => (await import('./commands/trials.js')).command,
  ),
  entry(
    'check lookahead',
    'whether anything knows what came after it',
    async () => (await import('./commands/check.js')).checkLookaheadCommand,
  ),
  entry(
    'check recursion',
    'how much bands depend on where the bars begin',
    async () => (await import('./commands/check.js')).checkRecursionCommand,
  ),
  entry(
    'show',
    'draw the price and its bands in the terminal',
    async () => (await import('./commands/show.js')).command,
  ),
  entry('export', 'write events, series or bars out', async () => (await import('./commands/export.js')).command),
  entry(
    'import',
    'load price files, and files of facts',
    async () => (await import('./commands/import.js')).importCommand,
  ),
  entry(
    'import-facts',
    'load reports, earnings, ratings, insider trades, splits',
    async () => (await import('./commands/import.js')).importFactsCommand,
  ),
  entry(
    'pull',
    'fetch events of a server, to be asked offline',
    async () => (await import('./commands/pull.js')).command,
  ),
  entry('simulate', 'make simulated tickers', async () => (await import('./commands/simulate.js')).command),
  entry('tickers', 'what is loaded', async () => (await import('./commands/tickers.js')).command),
  entry(
    'facts',
    'what is known of a ticker, since when, from which file',
    async () => (await import('./commands/facts.js')).command,
  ),
  entry('status', 'how fresh and how whole the data is', async () => (await import('./commands/status.js')).command),
  entry(
    'verify',
    'check that the database holds what was written',
    async () => (await import('./commands/verify.js')).command,
  ),
  entry(
    'rebuild',
    'derive all events again from bars and facts',
    async () => (await import('./commands/rebuild.js')).command,
  ),
  entry('remove', 'take a ticker out of the database', async () => (await import('./commands/remove.js')).command),
  entry(
    'serve',
    'answer over HTTP, to those who have a key',
    async () => (await import('./commands/serve.js')).command,
  ),
  entry(
    'accounts create',
    'make an account for a server',
    async () => (await import('./commands/accounts.js')).accountsCreateCommand,
  ),
  entry(
    'accounts list',
    'accounts, their tiers and credits',
    async () => (await import('./commands/accounts.js')).accountsListCommand,
  ),
  entry(
    'accounts set-tier',
    'change the tier of an account',
    async () => (await import('./commands/accounts.js')).accountsSetTierCommand,
  ),
  entry(
    'accounts usage',
    'credits by day, and a proof of the ledger',
    async () => (await import('./commands/accounts.js')).accountsUsageCommand,
  ),
  entry('keys create', 'make a key for an account', async () => (await import('./commands/keys.js')).keysCreateCommand),
  entry('keys list', 'keys, and which of them count', async () => (await import('./commands/keys.js')).keysListCommand),
  entry('keys revoke', 'let a key count no more', async () => (await import('./commands/keys.js')).keysRevokeCommand),
  entry(
    'keys roll',
    'put a new key in place of another',
    async () => (await import('./commands/keys.js')).keysRollCommand,
  ),
  entry('login', 'keep a key for a server', async () => (await import('./commands/login.js')).loginCommand),
  entry('logout', 'forget a key', async () => (await import('./commands/login.js')).logoutCommand),
  entry('config', 'every setting and what told it', async () => (await import('./commands/config.js')).command),
  entry(
    'fields',
    'what can be asked: fields, tiers, bands',
    async () => (await import('./commands/fields.js')).command,
  ),
  entry(
    'schema',
    'the JSON Schema of an answer or of the strategy file',
    async () => (await import('./commands/schema.js')).command,
  ),
  entry(
    'doctor',
    'check this machine and the installation',
    async () => (await import('./commands/doctor.js')).command,
  ),
  entry(
    'completion',
    'let a shell complete what is typed: bash, zsh, fish',
    async () => (await import('./commands/completion.js')).command,
  ),
  entry('demo', 'a first answer from the bundled sample', async () => (await import('./commands/demo.js')).command),
]

/** Groups of commands, and what each is about. */
export const GROUPS: Readonly<Record<string, string>> = {
  scan: 'which tickers stand out',
  check: 'whether what is shown could have been known',
  accounts: 'who may ask a server, and what they used',
  keys: 'what they show a server to be known',
}

/** First words of command lines, each once. */
export const TOP_WORDS: readonly string[] = [...new Set(CATALOGUE.map(({ name }) => name.split(' ')[0]!))]

/** The commands of a group; none for the name of a single command. */
export function groupOf(word: string): Entry[] {
  return CATALOGUE.filter(({ name }) => name.startsWith(`${word} `))
}

function entry(name: string, summary: string, load: () => Promise<Command>): Entry {
  return { name, summary, load }
}
