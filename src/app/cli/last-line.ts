import { BadData, type BandsError } from '../../core/errors.js'
import type { Entry } from './catalogue.js'
import { quotedLine, withTypedSource } from './command-line.js'
import type { FailedRun } from './context.js'

/**
 * The line to paste after an error that suggests none, with its label.
 * @param entry the typed command; undefined if the line names none
 */
export async function lastLine(
  error: BandsError,
  run: FailedRun,
  entry: Entry | undefined,
): Promise<[label: string, line: string]> {
  const example = await strategyExample(error, run, entry)
  if (example !== null) return ['example', quotedLine(example)]
  return ['try', quotedLine(helpfulLine(error, run, entry))]
}

/** The command that helps most: the same line again, `doctor`, the status of an account, or the help of the command. */
function helpfulLine(error: BandsError, { argv, context }: FailedRun, entry: Entry | undefined): string[] {
  const help = ['help', ...(entry?.name ?? 'all').split(' ')]
  switch (error.code) {
    case 'busy':
      return [...argv]
    case 'config':
    case 'storage':
    case 'upstream':
    case 'data_unavailable':
    case 'unauthorized':
      return entry?.name === 'doctor' ? help : withTypedSource(['doctor'], argv)
    case 'rate_limit_exceeded':
    case 'tier_restricted':
      // The account of a server: its tier, and the credits that are left.
      return context?.usedRemote == null ? help : withTypedSource(['status'], argv)
    default:
      return help
  }
}

/** A line that prints a correct strategy file, as an example; null unless the fault is in the line's strategy file. */
async function strategyExample(error: BandsError, run: FailedRun, entry: Entry | undefined): Promise<string[] | null> {
  if (!(error instanceof BadData) || entry === undefined) return null
  const fileIndex = run.argv.indexOf(error.place.file)
  const isArgument = fileIndex > 0 && run.argv[fileIndex - 1] !== '--fields-file'
  const { madeBy, options = [] } = await entry.load()
  const readsStrategies = madeBy !== undefined || options.some(([flags]) => flags === '--print-config')
  if (!isArgument || !readsStrategies) return null
  const [{ mendLine }, { readVocabulary }] = await Promise.all([import('./working-line.js'), import('./line-words.js')])
  return mendLine(withTypedSource(['backtest', '--print-config'], run.argv), await readVocabulary(run))
}
