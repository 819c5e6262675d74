import { BandsError, InvalidParameter } from '../errors.js'
import { importAnswer } from './answers/import.js'
import type { OptionSpec } from './command.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { importOptions } from './import-options.js'
import { RejectsFile } from './rejects.js'
import { ClosedPipe } from './stream.js'

/** How any file is read. */
export const FACT_READING: readonly OptionSpec[] = [
  ['--ticker <SYMBOL>', 'the ticker of a file without one; otherwise its column, or of prices the name of the file'],
  ['--known <DATE>', 'the day on which facts without a date became known, such as that of a download'],
  ['--skip-bad-rows', 'load the good rows of a file with bad ones, and keep the bad ones in a file'],
  ['--rejects <FILE>', 'where bad rows go; FILE.rejects beside you unless given'],
  ['--replace', 'start each ticker again from its file (of facts: each kind of it), whatever was there'],
  ['--wait', 'wait while another process is writing'],
  ['--format <NAME>', 'the layout, when detection is wrong'],
  ['--delimiter <CHARACTER>', 'comma, semicolon, tab, pipe, or the character'],
  ['--date-format <FORMAT>', 'such as YYYY-MM-DD, DD/MM/YYYY, MM/DD/YYYY'],
  ['--decimal <SIGN>', '. or ,'],
  ['--header <NAMES>', 'names of the columns, with commas, for a file that has none'],
]

/** The files are to be loaded even when nobody reads on (`| head`). */
async function unheard(telling: Promise<void>): Promise<void> {
  await telling.catch(error => {
    if (!(error instanceof ClosedPipe)) throw error
  })
}

/** Imports files one after the other and tells of each; one file's fault does not keep the others out. */
export async function runImport(context: Context, given: Given, only?: 'facts'): Promise<void> {
  context.refuseRemote()
  const { expandInputs } = await import('../feeds/inputs.js')
  if (given.rest(0).length === 0) {
    const allowed = only === undefined ? 'bands import FILE...' : 'bands import-facts FILE...'
    throw new InvalidParameter('FILE is missing.', { param: 'file', allowed })
  }
  const inputs = await expandInputs(given.rest(0))
  const rejects = new RejectsFile(given.text('rejects'), inputs)
  const importer = await context.importer({ wait: given.flag('wait'), make: true })
  const answer = importAnswer()
  const atOnce = context.format === null || context.format === 'table'
  const options = importOptions(context, given)
  if (only !== undefined) options.only = only
  // Alone, a refused file is the whole answer.
  if (inputs.length > 1)
    options.onRefused = async error => {
      answer.refuse(error)
      if (context.format !== 'json') await context.notice(`error: ${error.message}`)
    }
  for await (const report of importer.import(inputs, options)) {
    answer.add(report, await rejects.keep(report))
    if (atOnce) await unheard(context.show(answer.latest()))
  }
  if (!atOnce) await unheard(context.show(answer))
  const refused = answer.refused()
  if (refused === 0) return
  const verb = refused === 1 ? 'was' : 'were'
  throw new BandsError('bad_data', `${refused} of ${inputs.length} files ${verb} refused; the others are loaded.`)
}
