// The licences of the packages whose code lies in dist/: each asks that its notice goes along with every copy.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One text of all of them, by package. Throws for a package that tells none. */
export function licencesOf({ outputs }) {
  const folders = new Set(Object.values(outputs).flatMap(output => Object.keys(output.inputs).flatMap(packageFolder)))
  const parts = [...folders].sort().map(folder => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry))
    // A package may bring no file and tell licence and author in its description alone.
    const by = typeof author === 'string' ? author : author?.name
    if (file === undefined && !(license && by)) throw new Error(`${name} has neither a licence file nor an author`)
    const text =
      file === undefined ? `Copyright (c) ${by}; licence: ${license}` : readFileSync(join(folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
  return `The code in this folder contains that of the following packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** The folder of the package that a module belongs to; none for the sources of bands itself. */
function packageFolder(path) {
  return path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []
}
