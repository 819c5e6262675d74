import { BadData, BandsError, InvalidParameter } from '../../errors.js'
import { importAnswer } from '../answers/import.js'
import type { Command } from '../command.js'
import { importOptions } from '../import-options.js'
import { RejectsFile } from '../rejects.js'

export const command: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, zip, gz']],
  options: [
    ['--ticker <SYMBOL>', 'the ticker of a file without one; otherwise its column, or the name of the file'],
    ['--prices <KIND>', 'adjusted or raw; adjusted unless given, where the file has an adjusted close'],
    ['--skip-bad-rows', 'load the good rows of a file with bad ones, and keep the bad ones in a file'],
    ['--rejects <FILE>', 'where bad rows go; FILE.rejects beside you unless given'],
    ['--replace', 'start each ticker again from its file, whatever was there'],
    ['--wait', 'wait while another process is writing'],
    ['--format <NAME>', 'the layout, when detection is wrong'],
    ['--delimiter <CHARACTER>', 'comma, semicolon, tab, pipe, or the character'],
    ['--date-format <FORMAT>', 'such as YYYY-MM-DD, DD/MM/YYYY, MM/DD/YYYY'],
    ['--decimal <SIGN>', '. or ,'],
    ['--header <NAMES>', 'names of the columns, with commas, for a file that has none'],
  ],
  examples: [
    'bands import AAPL.csv',
    'bands import prices/ --prices raw',
    'bands import quotes.csv --ticker MSFT --date-format DD/MM/YYYY --delimiter semicolon',
    'zcat all.csv.gz | bands import - --skip-bad-rows --rejects bad.csv',
  ],
  async run(context, given) {
    const { expandInputs } = await import('../../feeds/inputs.js')
    if (given.rest(0).length === 0)
      throw new InvalidParameter('FILE is missing.', { param: 'file', allowed: 'bands import FILE...' })
    const inputs = await expandInputs(given.rest(0))
    const rejects = new RejectsFile(given.text('rejects'), inputs)
    const importer = await context.importer({ wait: given.flag('wait'), make: true })
    const options = importOptions(context, given)
    const answer = importAnswer()
    const atOnce = context.format === null || context.format === 'table'
    for (const input of inputs) {
      try {
        for await (const report of importer.import([input], options)) {
          answer.add(report, await rejects.keep(report))
          if (atOnce) await context.show(answer.latest())
        }
      } catch (error) {
        // One file's fault does not keep the others out; alone it is the whole answer.
        if (!(error instanceof BadData) || inputs.length === 1) throw error
        answer.refuse(error)
        if (atOnce) await context.notice(`error: ${error.message}`)
      }
    }
    if (!atOnce) await context.show(answer)
    const refused = answer.refused()
    if (refused === 0) return
    const verb = refused === 1 ? 'was' : 'were'
    throw new BandsError('bad_data', `${refused} of ${inputs.length} files ${verb} refused; the others are loaded.`)
  },
}
