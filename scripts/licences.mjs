// The licences of the packages whose code lies in dist/: each asks that its notice goes along with every copy.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One text of all of them; packages with the same one stand above it together. Throws for a package that tells none. */
export function licencesOf({ outputs }) {
  const folders = new Set(Object.values(outputs).flatMap(output => Object.keys(output.inputs).flatMap(packageFolder)))
  const packagesOf = new Map()
  for (const folder of [...folders].sort()) {
    const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const named = pattern => readdirSync(folder).find(entry => pattern.test(entry))
    const read = entry => readFileSync(join(folder, entry), 'utf8').trim()
    const [file, notice] = [named(/^licen[cs]e/i), named(/^notice/i)]
    // A package may bring no file and tell licence and author in its description alone.
    const by = typeof author === 'string' ? author : author?.name
    if (file === undefined && !(license && by)) throw new Error(`${name} has neither a licence file nor an author`)
    const licence = file === undefined ? `Copyright (c) ${by}; licence: ${license}` : read(file)
    const text = notice === undefined ? licence : `${read(notice)}\n\n${licence}`
    const packages = packagesOf.get(text) ?? []
    packagesOf.set(text, [...packages, `${name} ${version} (${license})`])
  }
  const parts = [...packagesOf].map(([text, packages]) => `${packages.join('\n')}\n\n${text}\n`)
  return `The code in this folder contains that of the following packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** The folder of the package that a module belongs to; none for the sources of bands itself. */
function packageFolder(path) {
  return path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []
}
