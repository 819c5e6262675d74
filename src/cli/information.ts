import { existsSync, readFileSync } from 'node:fs'
import { helpOf, TOP_HELP } from './help.js'
import type { Request } from './program.js'

/** The text of `--help` and `--version`. */
export function textFor(request: Exclude<Request, { given: unknown }>, width: number): string {
  if (request === 'version') return `bands ${version()}\n`
  if (request === 'help') return TOP_HELP
  return helpOf(request.helpFor, request.command, width)
}

/** From the package that this code lies in, at whatever depth; a bundle has a package file of its own, without a version. */
export function version(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const file = new URL('package.json', folder)
    const { version: found } = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }) : {}
    if (found !== undefined) return found
    if (folder.pathname === '/') return 'unknown'
  }
}
