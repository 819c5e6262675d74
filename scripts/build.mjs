// Builds dist/: the library (index.js), the command line (cli/main.js) and the program of its threads (workers/thread.js),
// shared code in chunks, so that a command loads only what it needs; what report pages carry; the licences of the
// packages in it; the sample database; the library's types and the schemas of the answers.
//
// Every package is inlined: a dozen small files cost more to find than one chunk to read. Of better-sqlite3 only the
// compiled module stays outside, so an installed bands has that one dependency. The chunks are CommonJS: loading the same
// code as ES modules makes a question a third slower. esbuild splits ES modules only, hence two steps.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build, transform } from 'esbuild'
import { licencesOf } from './licences.mjs'
import { writeManPages } from './man.mjs'
import { pack } from './pack.mjs'
import { buildReport } from './report.mjs'
import { declare, rollUp } from './types.mjs'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const SCHEMAS = fileURLToPath(new URL('schemas.mjs', import.meta.url))

// esbuild lets others reach an export through two getters, which a hot loop over chunks feels. Nothing here exports what
// changes later, so once a chunk has run its exports are as plain as they look.
const PLAIN_EXPORTS =
  "module.exports=Object.defineProperty(Object.assign({},module.exports),'__esModule',{value:true});\n"

rmSync(DIST, { recursive: true, force: true })
mkdirSync(DIST)
// What reads the whole of the types is done beside the rest: a machine has more than one core.
const declared = declare(join(DIST, 'types'))
const schemas = promisify(execFile)(process.execPath, [SCHEMAS, DIST])
const { outputFiles, metafile } = await build({
  entryPoints: { index: 'src/index.ts', 'cli/main': 'src/cli/main.ts', 'workers/thread': 'src/workers/thread.ts' },
  outdir: 'dist',
  write: false,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // jsonc-parser's `main` cannot be bundled, its ES modules can.
  mainFields: ['module', 'main'],
  // Whole licences, not the comments that some files have.
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})
for (const { path, text } of outputFiles) await write(path, path.endsWith('.js') ? await commonJs(text) : text)
// Each Node has its driver (src/store/sqlite/driver.ts), and the JavaScript of each is one file.
const { metafile: drivers } = await build({
  entryPoints: {
    'sqlite-12': 'bin/node-20/node_modules/better-sqlite3/lib/index.js',
    'sqlite-13': 'node_modules/better-sqlite3/lib/index.js',
  },
  outdir: 'dist',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})
const report = await buildReport(DIST)
await write(
  `${DIST}/LICENSES.txt`,
  licencesOf({ outputs: { ...metafile.outputs, ...drivers.outputs, ...report.outputs } }),
)
await write(`${DIST}/package.json`, '{ "type": "commonjs" }\n')

const { makeSample } = await import('./make-sample.mjs')
await makeSample(`${DIST}/sample.db`)
await writeManPages(DIST, JSON.parse(readFileSync('package.json', 'utf8')).version)
await declared
const { default: library } = await import('../dist/index.js')
rollUp(join(DIST, 'types'), library)
const chunks = outputFiles.map(({ path }) => relative(DIST, path).split(sep).join('/'))
await pack(DIST, chunks, { program: 'cli/main.js', others: ['index.js', 'workers/thread.js'] })
await schemas

async function commonJs(text) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    define: { 'import.meta.url': 'bandsFileUrl' },
    // Chunks loaded on demand are required too.
    supported: { 'dynamic-import': false },
    banner: text.includes('import.meta.url')
      ? "const bandsFileUrl=require('node:url').pathToFileURL(__filename).href;"
      : '',
  })
  return text.includes('export') ? code + PLAIN_EXPORTS : code
}

async function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
