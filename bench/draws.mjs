// node bench/draws.mjs ROOT DATABASE: milliseconds of processor a draw takes, in one process: a backtest of all tickers of a
// database on rsi_zone entering oversold, held 20 bars, with 10 positions; its run, figures and p of random entry.
import Module, { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FOLDER } from './folder.mjs'

const [root, database] = process.argv.slice(2)
const { build } = createRequire(join(root, 'package.json'))('esbuild')
const outfile = join(FOLDER, `draws-${process.pid}.cjs`)
const contents = `export { openLocal } from './src/app/open/database.ts'
  export { parseBacktest } from './src/core/params/backtest.ts'
  export { runAndTestDraws } from './src/research/backtest/tested-run.ts'
  export { loadStrategies } from './src/research/backtest/members.ts'`
const own = pathToFileURL(join(root, 'package.json')).href
const define = {
  'import.meta.url': JSON.stringify(own),
  'import.meta.dirname': JSON.stringify(join(root, 'dist')),
}
await build({
  ...{
    stdin: { contents, resolveDir: root },
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
  },
  logLevel: 'error',
  packages: 'external',
  define,
})
process.env.NODE_PATH = join(root, 'node_modules')
Module._initPaths()
const { openLocal, parseBacktest, runAndTestDraws, loadStrategies } = createRequire(own)(outfile)

const { local } = await openLocal({ db: database })
const tickers = await local.tickers()
const asked = { tickers, when: 'rsi_zone enters oversold', hold: 20 }
const { strategy } = parseBacktest(asked, { tier: null })
const [ready] = await loadStrategies(local, [strategy])
const start = process.cpuUsage()
const { ranks } = await runAndTestDraws(ready, 999, {})
const { user, system } = process.cpuUsage(start)
const draws = ranks.length
process.stdout.write(JSON.stringify({ ms: (user + system) / 1000 / draws, draws }))
process.exit(0)
