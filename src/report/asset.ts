import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { NotFound } from '../errors.js'

/** The script of every page: zoom, hover, sorting. */
export function pageScript(): string {
  // A script element ends at this text wherever it stands, also within a string.
  return asset('report.js').replaceAll('</script', '<\\/script')
}

export function pageStyle(): string {
  return asset('report.css')
}

/** The build makes both, beside the bundle; this code may run from a chunk of it or from the sources. */
function asset(name: string): string {
  const places = [`./${name}`, `../${name}`, `../../dist/${name}`].map(at =>
    fileURLToPath(new URL(at, import.meta.url)),
  )
  const found = places.find(existsSync)
  if (found === undefined) throw new NotFound(`${name} is missing beside the program; build or install bands again.`)
  return readFileSync(found, 'utf8').trim()
}
