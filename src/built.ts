import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { NotFound } from './errors.js'

/** What the build puts beside the program. This code may run from a chunk of the bundle, or from the sources. */

/** The path of a file that the build makes; undefined where it is not there. */
export function builtPath(name: string): string | undefined {
  return [`./${name}`, `../${name}`, `../dist/${name}`]
    .map(at => fileURLToPath(new URL(at, import.meta.url)))
    .find(existsSync)
}

/** The text of one. Throws NotFound. */
export function builtText(name: string): string {
  const path = builtPath(name)
  if (path === undefined) throw new NotFound(`${name} is missing beside the program; build or install bands again.`)
  return readFileSync(path, 'utf8').trim()
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
