import { version } from '../open/version.js'
import { groupHelp, helpOf, TOP_HELP } from './help.js'
import type { Request } from './program.js'

/** The text of `--help` and `--version`. */
export function textFor(request: Exclude<Request, { given: unknown }>, width: number): string {
  if (request === 'version') return `bands ${version()}\n`
  if (request === 'help') return TOP_HELP
  return 'command' in request ? helpOf(request.helpFor, request.command, width) : groupHelp(request.helpFor, width)
}
