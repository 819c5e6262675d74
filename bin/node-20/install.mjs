// Run by `npm install`. better-sqlite3 13 brings its compiled modules along and needs Node 22. For Node 20 the last major
// before it is installed here, and compiled if nobody has done so for this machine. A checkout needs that one's JavaScript
// on every Node, because what is built there may be installed on Node 20.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = dirname(fileURLToPath(import.meta.url))
const DRIVER = join(HERE, 'node_modules', 'better-sqlite3')
const NODE_20 = process.versions.node.startsWith('20.')
const CHECKOUT = existsSync(join(HERE, '..', '..', 'scripts', 'build.mjs'))

const FOREIGN =
  /^npm_(config_(prefix|global|local_prefix|location|save.*|omit|include|workspace.*|ignore_scripts|dry_run)|package|lifecycle)/i

const there = existsSync(NODE_20 ? join(DRIVER, 'build', 'Release', 'better_sqlite3.node') : DRIVER)
if (!there && (NODE_20 || CHECKOUT)) install()

function install() {
  // What npm was told about the project around this folder must not be taken for this one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)))
  const words = ['ci', '--prefix', HERE, '--no-audit', '--no-fund', `--ignore-scripts=${!NODE_20}`]
  const npm = process.env.npm_execpath
  try {
    if (npm?.endsWith('npm-cli.js')) execFileSync(process.execPath, [npm, ...words], { env, stdio: 'inherit' })
    else execFileSync('npm', words, { env, stdio: 'inherit' })
  } catch {
    process.stderr.write(`bands: SQLite could not be installed for Node ${process.versions.node}; see above why.
It is compiled once, with a C++ compiler and Python 3. Node 22 and newer need neither.
`)
    process.exitCode = 1
  }
}
