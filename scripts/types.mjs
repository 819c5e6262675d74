// dist/index.d.ts: the types of the library in one file, with no word of the packages it is made with, so that a strict
// project compiles against it and needs no other types, not even node's.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

// What the insides import from packages; reading those for a type that nobody sees would take most of the time.
const FOREIGN = /^import [^;]* from '[^.'][^']*';\n/gm

/** One file of declarations for each source, below `folder`. */
export async function declare(folder) {
  await promisify(execFile)(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', folder], { cwd: ROOT })
}

/**
 * Writes index.d.ts beside the `folder` of declarations, which goes; in a thread, because it takes seconds in which others
 * have something to do. `library`: what it exports when it runs.
 */
export function rollUp(folder, library) {
  const fields = library.FIELDS.map(({ name, bands }) => ({ name, bands }))
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { folder, exported: Object.keys(library), fields },
  })
  return new Promise((resolve, reject) => thread.once('error', reject).once('exit', resolve))
}

if (!isMainThread) write(workerData)

function write({ folder, exported, fields }) {
  for (const name of readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.d.ts'))) {
    const text = readFileSync(join(folder, name), 'utf8').replace(FOREIGN, '')
    writeFileSync(join(folder, name), /^client(\.d\.ts$|[\\/])/.test(name) ? withoutInsides(text) : text)
  }
  // TypeScript 7 has no interface for programs; this package brings an older one for itself.
  const { generateDtsBundle } = createRequire(import.meta.url)('dts-bundle-generator')
  const entry = { filePath: join(folder, 'index.d.ts'), output: { noBanner: true, exportReferencedTypes: false } }
  const [types] = generateDtsBundle([entry], { preferredConfigPath: join(ROOT, 'tsconfig.build.json') })
  writeFileSync(join(folder, '..', 'index.d.ts'), spelled(published(types, exported), fields))
  rmSync(folder, { recursive: true })
}

/** Clients are made by `open…` alone: how they are made and what their kinds share is nobody's business. */
function withoutInsides(text) {
  const member = /(?: {4}\/\*\*(?:(?!\*\/).)*\*\/\n)? {4}(?:protected|constructor)\b.*?;\n(?= {4}[^\s}]|\})/gs
  return text.replace(member, '')
}

/** Classes that are handed out but not exported are types. */
function published(types, exported) {
  const handedOut = []
  const text = types.replace(/^export (declare class (\w+))/gm, (whole, declaration, name) => {
    if (exported.includes(name)) return whole
    handedOut.push(name)
    return declaration
  })
  return text.replace(/^export \{\};\n/m, `export type { ${handedOut.join(', ')} };\n`)
}

/** Where the sources have one name of a field or of a band for all, the names: an editor proposes them. */
function spelled(types, fields) {
  const words = { FieldName: fields.map(field => field.name), BandName: fields.flatMap(field => field.bands) }
  return Object.entries(words).reduce((text, [type, names]) => {
    const one = new RegExp(`(type ${type} = )"\\w+" \\|`)
    if (!one.test(text)) throw new Error(`the types of the library have no ${type}`)
    const literals = [...new Set(names)].map(name => `"${name}"`)
    return text.replace(one, `$1${literals.join(' | ')} |`)
  }, types)
}
