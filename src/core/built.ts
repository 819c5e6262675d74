import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NotFound } from './errors.js'

/** What the build puts beside the program. This code may run from a chunk of the bundle, or from the sources. */

/** The path of a file that the build makes; undefined where it is not there. */
export function builtPath(name: string): string | undefined {
  return ['', '..', '../../dist'].map(folder => join(import.meta.dirname, folder, name)).find(existsSync)
}

/** The text of one. Throws NotFound. */
export function builtText(name: string): string {
  const path = builtPath(name)
  if (path === undefined) throw new NotFound(`${name} is missing next to the program; build or install bands again.`)
  return readFileSync(path, 'utf8').trim()
}

/** From the package that this code lies in, at whatever depth; a bundle has a package file of its own, without a version. */
export function version(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    const { version: found } = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }) : {}
    if (found !== undefined) return found
    if (folder === dirname(folder)) return 'unknown'
  }
}
