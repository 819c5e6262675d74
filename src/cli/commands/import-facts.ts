import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../model/facts.js'
import type { Command } from '../command.js'
import { FACT_READING, runImport } from '../import.js'

export const command: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, xml, zip, gz']],
  options: FACT_READING,
  examples: [
    'bands import-facts earnings.csv',
    'bands import-facts facts/',
    'bands import-facts CIK0000320193.json --ticker AAPL',
    'bands import-facts recommendations.json --ticker AAPL --known 2025-02-21',
  ],
  notes: [
    'Takes company facts and Form 4 of the SEC, JSON of Yahoo, the usual CSV exports, and record files with ticker and these columns, of which those in brackets may be left out:',
    ...FACT_KINDS.map(kind => `  ${kind}: ${columnsOf(kind)}`),
    'bands facts TICKER shows what is known.',
  ],
  async run(context, given) {
    await runImport(context, given, 'facts')
  },
}

function columnsOf(kind: FactKind): string {
  return FACT_COLUMNS[kind].map(({ name, required }) => (required ? name : `[${name}]`)).join(', ')
}
