import type { Command } from '../command.js'
import { FACT_READING, runImport } from '../import.js'

export const command: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, xml, zip, gz']],
  options: [
    ['--prices <KIND>', 'adjusted or raw; adjusted unless given, where the file has an adjusted close'],
    ...FACT_READING,
  ],
  examples: [
    'bands import AAPL.csv',
    'bands import prices/ --prices raw',
    'bands import quotes.csv --ticker MSFT --date-format DD/MM/YYYY --delimiter semicolon',
    'zcat all.csv.gz | bands import - --skip-bad-rows --rejects bad.csv',
  ],
  notes: ['Files of facts are told apart from prices and loaded too, as bands import-facts does.'],
  async run(context, given) {
    await runImport(context, given)
  },
}
