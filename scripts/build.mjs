// Builds dist/: the library (index.js), the command line (cli/main.js) and the program of its threads (workers/thread.js),
// shared code in chunks, so that a command loads only what it needs, packed into few files; what pages carry; the
// licences of the packages in it; the sample database; the library's types and the schemas of the answers.
//
// Every package is inlined: a dozen small files cost more to find than one chunk to read. The compiled modules of
// better-sqlite3 are copied, so an installed bands has no dependency. The chunks are CommonJS: loading the same
// code as ES modules makes a question a third slower. esbuild splits ES modules only, hence two steps.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build, transform } from 'esbuild'
import { licencesOf } from './licences.mjs'
import { writeManPages } from './man.mjs'
import { pack, spread } from './pack.mjs'
import { buildPages } from './pages.mjs'
import { declare, rollUp } from './types.mjs'

// Node prints the whole line of the code that threw an uncaught error.
const LINE_LIMIT = 120

const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const SCHEMAS = fileURLToPath(new URL('schemas.mjs', import.meta.url))

// commander loads what it needs for commands that are programs of their own, of which there are none here: 2.5 ms. And to
// require `process` touches each of its streams.
const LIGHT_COMMANDER = {
  name: 'light-commander',
  setup: ({ onLoad }) =>
    onLoad({ filter: /commander[\\/]lib[\\/]command\.js$/ }, ({ path }) => ({
      contents: replaced(readFileSync(path, 'utf8'), {
        "import childProcess from 'node:child_process';": '',
        "import process from 'node:process';": '',
        'childProcess.spawn(': "process.getBuiltinModule('node:child_process').spawn(",
      }),
    })),
}

rmSync(DIST, { recursive: true, force: true })
mkdirSync(DIST)
// What reads the whole of the types is done beside the rest: a machine has more than one core.
const declared = declare(join(DIST, 'types'))
const schemas = promisify(execFile)(process.execPath, [SCHEMAS, DIST])
const { outputFiles, metafile } = await build({
  entryPoints: {
    index: 'src/index.ts',
    'cli/main': 'src/app/cli/main.ts',
    'workers/host': 'src/app/workers/host.ts',
    'workers/thread': 'src/app/workers/thread.ts',
  },
  outdir: 'dist',
  write: false,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  // jsonc-parser's `main` cannot be bundled, its ES modules can.
  mainFields: ['module', 'main'],
  // Whole licences, not the comments that some files have.
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  plugins: [LIGHT_COMMANDER],
})
const chunks = new Map()
for (const { path, text } of outputFiles) chunks.set(relative(DIST, path).split(sep).join('/'), await commonJs(text))
const DOORS = ['cli/main.js', 'index.js', 'workers/host.js', 'workers/thread.js']
spread(DIST, chunks, DOORS)
// SQLite's driver looks for its compiled modules in the folder next to its own. npm would run node-gyp for the package,
// whose modules are compiled already.
const { metafile: driver } = await build({
  entryPoints: { index: 'node_modules/better-sqlite3/lib/index.js' },
  outdir: 'dist/better-sqlite3/lib',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: LINE_LIMIT,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})
const COMPILED = 'node_modules/better-sqlite3/prebuilds'
for (const name of readdirSync(COMPILED).filter(file => !file.startsWith('win32')))
  cpSync(join(COMPILED, name), join(DIST, 'better-sqlite3/prebuilds', name))
const pages = await buildPages(DIST)
await write(
  `${DIST}/LICENSES.txt`,
  licencesOf({ outputs: { ...metafile.outputs, ...driver.outputs, ...pages.outputs } }),
)
await write(`${DIST}/package.json`, '{ "type": "commonjs" }\n')

cpSync('src/app/workers/gateway.py', join(DIST, 'workers/gateway.py'))

const { default: library } = await import('../dist/index.js')
const typed = declared.then(() => rollUp(join(DIST, 'types'), library))
const { makeSample } = await import('./make-sample.mjs')
await makeSample(`${DIST}/sample.db`)
await writeManPages(DIST, JSON.parse(readFileSync('package.json', 'utf8')).version)
await pack(DIST, chunks)
await Promise.all([typed, schemas])

/**
 * A chunk as CommonJS. What chunks lend each other is written out plainly: esbuild would reach it through two getters,
 * which a hot loop feels, and set these up anew in every chunk, which a cold start does. Nothing here exports what
 * changes later.
 */
async function commonJs(text) {
  const plain = text
    .replace(
      /^import \{([^}]*)\} from "(\.[^"]+)";$/gm,
      (_, names, from) => `const {${renamed(names)}} = require("${from}");`,
    )
    .replace(/^import "(\.[^"]+)";$/gm, 'require("$1");')
    .replace(/\bimport\("(\.[^"]+)"\)/g, 'Promise.resolve().then(() => require("$1"))')
    .replace(/^export default (.*);$/m, 'module.exports = {default: $1};')
    .replace(/^export \{([^}]*)\};$/m, (_, names) => `module.exports = {${exported(names)}};`)
  if (/^(import .* from "\.|export )/m.test(plain))
    throw new Error('a chunk imports or exports in a form not known here')
  const { code } = await transform(plain, {
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: LINE_LIMIT,
    // Where code lies is only asked to make a `require`, which takes a path as well.
    define: { 'import.meta.url': '__filename', 'import.meta.dirname': '__dirname' },
    // Chunks loaded on demand are required too.
    supported: { 'dynamic-import': false },
    logOverride: { 'commonjs-variable-in-esm': 'silent' },
  })
  // The loader's serves as well, and to make another one node loads a module of its own.
  return code.replace(/\(0,\s*\w+\.createRequire\)\(\s*__filename\s*\)/g, 'require')
}

/** `a, b as c` of an import, as a pattern: `a, b: c`. */
function renamed(names) {
  return names.replaceAll(' as ', ': ')
}

/** `a, b as c` of an export, as properties: `a, c: b`. */
function exported(names) {
  return names.replace(/(\S+) as (\w+)/g, '$2: $1')
}

/** Throws where a text is not there: whoever wrote it has changed it. */
function replaced(text, replacements) {
  return Object.entries(replacements).reduce((made, [from, to]) => {
    if (!made.includes(from)) throw new Error(`there is no ${from} to be replaced`)
    return made.replaceAll(from, to)
  }, text)
}

async function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
