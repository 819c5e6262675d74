import type { Command } from './command.js'

export interface Entry {
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
  entry('explain', 'why a field has its band on a date', () => import('./commands/explain.js')),
  entry('show', 'draw the price and its bands in the terminal', () => import('./commands/show.js')),
  entry('export', 'write events, series or bars out', () => import('./commands/export.js')),
  entry('import', 'load price files, and files of facts', () => import('./commands/import.js')),
  entry(
    'import-facts',
    'load reports, earnings, ratings, insider trades, splits',
    () => import('./commands/import-facts.js'),
  ),
  entry('simulate', 'make simulated tickers', () => import('./commands/simulate.js')),
  entry('tickers', 'what is loaded', () => import('./commands/tickers.js')),
  entry('facts', 'what is known of a ticker, since when, from which file', () => import('./commands/facts.js')),
  entry('status', 'how fresh and how whole the data is', () => import('./commands/status.js')),
  entry('verify', 'check that the database holds what was written', () => import('./commands/verify.js')),
  entry('rebuild', 'derive all events again from bars and facts', () => import('./commands/rebuild.js')),
  entry('remove', 'take a ticker out of the database', () => import('./commands/remove.js')),
  entry('fields', 'what can be asked: fields, tiers, bands', () => import('./commands/fields.js')),
  entry('doctor', 'check this machine and the installation', () => import('./commands/doctor.js')),
  entry('demo', 'a first answer from the bundled sample', () => import('./commands/demo.js')),
]

function entry(name: string, summary: string, load: () => Promise<{ command: Command }>): Entry {
  return { name, summary, load: async () => (await load()).command }
}
