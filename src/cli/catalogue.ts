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
  entry('events', 'list the transitions of a field of a ticker', () => import('./commands/events.js')),
  entry('tally', 'count what followed them', () => import('./commands/tally.js')),
  entry('now', 'the present band of every field', () => import('./commands/now.js')),
  entry('transitions', 'which band follows which, and how long they last', () => import('./commands/transitions.js')),
  entry('scan oversold', 'which tickers are oversold', () => import('./commands/scan-oversold.js')),
  entry('explain', 'why a field has its band on a date', () => import('./commands/explain.js')),
  entry('study', 'what followed events, tested against what follows anyway', () => import('./commands/study.js')),
  entry('backtest', 'trade them by rules, and what came of it', () => import('./commands/backtest.js')),
  entry('sweep', 'look at every band and window, corrected for so many looks', () => import('./commands/sweep.js')),
  entry('trials', 'every look that was ever taken at the data', () => import('./commands/trials.js')),
  entry('check lookahead', 'whether anything knows what came after it', () => import('./commands/check-lookahead.js')),
  entry(
    'check recursion',
    'how much bands depend on where the bars begin',
    () => import('./commands/check-recursion.js'),
  ),
  entry('show', 'draw the price and its bands in the terminal', () => import('./commands/show.js')),
  entry('export', 'write events, series or bars out', () => import('./commands/export.js')),
  entry('import', 'load price files, and files of facts', () => import('./commands/import.js')),
  entry(
    'import-facts',
    'load reports, earnings, ratings, insider trades, splits',
    () => import('./commands/import-facts.js'),
  ),
  entry('pull', 'fetch events of a server, to be asked offline', () => import('./commands/pull.js')),
  entry('simulate', 'make simulated tickers', () => import('./commands/simulate.js')),
  entry('tickers', 'what is loaded', () => import('./commands/tickers.js')),
  entry('facts', 'what is known of a ticker, since when, from which file', () => import('./commands/facts.js')),
  entry('status', 'how fresh and how whole the data is', () => import('./commands/status.js')),
  entry('verify', 'check that the database holds what was written', () => import('./commands/verify.js')),
  entry('rebuild', 'derive all events again from bars and facts', () => import('./commands/rebuild.js')),
  entry('remove', 'take a ticker out of the database', () => import('./commands/remove.js')),
  entry('serve', 'answer over HTTP, to those who have a key', () => import('./commands/serve.js')),
  entry('accounts create', 'make an account for a server', () => import('./commands/accounts-create.js')),
  entry('accounts list', 'accounts, their tiers and credits', () => import('./commands/accounts-list.js')),
  entry('accounts set-tier', 'change the tier of an account', () => import('./commands/accounts-set-tier.js')),
  entry('accounts usage', 'credits by day, and a proof of the ledger', () => import('./commands/accounts-usage.js')),
  entry('keys create', 'make a key for an account', () => import('./commands/keys-create.js')),
  entry('keys list', 'keys, and which of them count', () => import('./commands/keys-list.js')),
  entry('keys revoke', 'let a key count no more', () => import('./commands/keys-revoke.js')),
  entry('keys roll', 'put a new key in place of another', () => import('./commands/keys-roll.js')),
  entry('login', 'keep a key for a server', () => import('./commands/login.js')),
  entry('logout', 'forget a key', () => import('./commands/logout.js')),
  entry('config', 'every setting and what told it', () => import('./commands/config.js')),
  entry('fields', 'what can be asked: fields, tiers, bands', () => import('./commands/fields.js')),
  entry('doctor', 'check this machine and the installation', () => import('./commands/doctor.js')),
  entry('demo', 'a first answer from the bundled sample', () => import('./commands/demo.js')),
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

function entry(name: string, summary: string, load: () => Promise<{ command: Command }>): Entry {
  return { name, summary, load: async () => (await load()).command }
}
