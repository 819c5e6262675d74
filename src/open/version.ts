import { existsSync, readFileSync } from 'node:fs'

/** From the package that this code lies in, at whatever depth; a bundle has a package file of its own, without a version. */
export function version(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const file = new URL('package.json', folder)
    const { version: found } = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }) : {}
    if (found !== undefined) return found
    if (folder.pathname === '/') return 'unknown'
  }
}
