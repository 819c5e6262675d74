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
    'Takes reports, earnings, schedule, ratings, grades, insiders, splits and securities: record files of those names,',
    'company facts and Form 4 of the SEC, JSON of Yahoo. bands facts TICKER shows what is known.',
  ],
  async run(context, given) {
    await runImport(context, given, 'facts')
  },
}
