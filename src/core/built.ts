import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NotFound } from './errors.js'

// Files that the build makes. This code may run from a chunk of the bundle, or from the sources.

/** The name of the bundled sample: a database that the build makes, and no file of a user. */
export const SAMPLE = 'sample'

/** The path of a file that the build makes; undefined if it does not exist. */
export function builtPath(name: string): string | undefined {
  return ['', '..', '../../dist'].map(folder => join(import.meta.dirname, folder, name)).find(existsSync)
}

/** The text of a file that the build makes. Throws NotFound if it does not exist. */
export function builtText(name: string): string {
  const path = builtPath(name)
  if (path === undefined) throw new NotFound(`${name} is missing next to the program; build or install bands again.`)
  return readFileSync(path, 'utf8').trim()
}

/** The version in the nearest package file above this code that has one: the package file of a bundle has none. */
export function version(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) {
      const packageFile = JSON.parse(readFileSync(file, 'utf8')) as { version?: string }
      if (packageFile.version !== undefined) return packageFile.version
    }
    if (folder === dirname(folder)) return 'unknown'
  }
}
