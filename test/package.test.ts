import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIELDS } from '../src/core/fields/index.js'
import { notInQuick } from './support/full.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'bands-package-'))
const installed = join(home, 'node_modules', 'bands')
const hasMan = spawnSync('man', ['--version']).status === 0

/** Paths in the package, below its folder. */
let files: string[] = []

/** What npm would publish, unpacked where an install puts it. It depends on no other package. */
beforeAll(() => {
  const answer = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], ROOT)
  const [{ filename, files: packed }] = JSON.parse(answer) as [{ filename: string; files: { path: string }[] }]
  files = packed.map(file => file.path)
  mkdirSync(installed, { recursive: true })
  write('package.json', '{ "name": "consumer" }')
  run('tar', ['-xzf', join(home, filename), '--strip-components=1', '-C', installed], home)
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

function run(program: string, words: string[], cwd = home): string {
  return execFileSync(program, words, { cwd, encoding: 'utf8', stdio: 'pipe', env: { ...process.env, HOME: home } })
}

function write(name: string, text: string): string {
  writeFileSync(join(home, name), text)
  return join(home, name)
}

/** The packs that a command line loads: how large each is, and whether V8 rejects the cache of it. */
function packsOf(words: string[], root = installed): { bytes: number; rejected: boolean | undefined }[] {
  const seen = `const vm = require('node:vm')
    const packs = []
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options)
        packs.push({ bytes: text.length, rejected: this.cachedDataRejected })
      }
    }`
  return JSON.parse(after(words, seen, 'JSON.stringify(packs)', root))
}

function bytes(packs: { bytes: number }[]): number {
  return packs.reduce((sum, pack) => sum + pack.bytes, 0)
}

/** The modules of node's own that are loaded by the end of a command line. */
function loadedOfNode(words: string[]): string[] {
  return after(words, '', "process.moduleLoadList.map(name => name.replace(/^NativeModule /, '')).join()").split(',')
}

/** What an expression is once a command line was answered, of its exit `code` for one. */
function after(words: string[], before: string, expression: string, root = installed): string {
  const main = `require(${JSON.stringify(join(root, 'dist/cli/main.js'))}).main(${JSON.stringify(words)})`
  const file = join(home, 'after')
  const program = `${before}\n${main}.then(code => require('node:fs').writeFileSync(${JSON.stringify(file)}, ${expression}))`
  run(process.execPath, ['-e', program])
  return readFileSync(file, 'utf8')
}

describe('the published package', () => {
  it('has the program, the library with its types, the sample, the data, and what the licences ask for', () => {
    for (const path of [
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'bin/bands.js',
      'data/README.md',
      'data/bars/AAPL.csv',
      'dist/LICENSES.txt',
      'dist/cli/main.js',
      'dist/index.js',
      'dist/sample.db',
      'dist/index.d.ts',
    ])
      expect(files).toContain(path)
  })

  it('installs a man page of every command for npm install --global', () => {
    const { man } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { man: string[] }
    expect(man.map(path => path.replace('./', ''))).toEqual(
      expect.arrayContaining(files.filter(path => path.startsWith('dist/man/'))),
    )
    expect(man.filter(path => !existsSync(join(installed, path)))).toEqual([])
  })

  it('has the pages that its README links to, and nothing else that only its makers need', () => {
    const pages = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'docs', 'examples']
    const folders = new Set(files.map(path => path.split('/')[0]))
    expect([...folders].sort()).toEqual([...pages, 'bin', 'data', 'dist', 'package.json'].sort())
  })

  it('has at most 156 files', () => {
    expect(files.length).toBeLessThanOrEqual(156)
  })

  it('has no page with a link that leads nowhere', () => {
    for (const page of files.filter(path => path.endsWith('.md'))) {
      const text = readFileSync(join(installed, page), 'utf8')
      for (const [, link] of text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g))
        expect(existsSync(join(installed, dirname(page), link!)), `${page} links to ${link}`).toBe(true)
    }
  })

  it('says where it comes from', () => {
    const about = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    expect(about).toMatchObject({ repository: { type: 'git' }, homepage: /^https:/, bugs: { url: /^https:/ } })
    expect(about.keywords.length).toBeGreaterThan(3)
  })

  it('carries the licence of every package that the sources import', () => {
    const licences = readFileSync(join(installed, 'dist', 'LICENSES.txt'), 'utf8')
    const names = importedPackages()
    expect(names).toContain('better-sqlite3')
    for (const name of names) expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, 'm'))
  })

  it('leaves out the V8 cache, which only the Node of the build can use', () => {
    expect(files.filter(path => path.endsWith('.cache'))).toEqual([])
  })

  it('loads a fraction of a question to tell its version, and no module of node that it does not use', () => {
    const [version, question] = [['--version'], QUESTION].map(words => packsOf(words))
    expect(bytes(version!)).toBeLessThan(0.7 * bytes(question!))
    const builtin = loadedOfNode(['--version'])
    for (const name of ['child_process', 'crypto', 'fs/promises', 'zlib', 'os']) expect(builtin).not.toContain(name)
  })

  it('prints its version, the first page of help and a completion script without its code', () => {
    const alone = join(home, 'alone')
    for (const path of ['bin/bands.js', 'bin/package.json', 'dist/fixed-texts.json']) {
      mkdirSync(dirname(join(alone, path)), { recursive: true })
      copyFileSync(join(installed, path), join(alone, path))
    }
    const printed = (folder: string, ...words: string[]) =>
      run(process.execPath, [join(folder, 'bin/bands.js'), ...words])
    expect(printed(alone, '--version')).toMatch(/^bands \d+\.\d+\.\d+\n$/)
    expect(printed(alone, '--help')).toBe(printed(installed, 'help'))
    expect(printed(alone)).toBe(printed(alone, '--help'))
    for (const shell of ['bash', 'zsh', 'fish'])
      expect(printed(alone, 'completion', shell)).toBe(printed(installed, 'completion', shell, '-q'))
  })

  it('draws its tables without the locales of node, which take as long as all else', () => {
    const without = 'Number.prototype.toLocaleString = () => { throw new Error("a locale") }'
    for (const words of [['now', 'AAPL'], ['tally', 'AAPL', 'rsi_zone'], ['status'], ['status']])
      expect(after(words, without, 'String(code)'), words.join(' ')).toBe('0')
  })

  it('answers from the command line', () => {
    const answer = JSON.parse(run(process.execPath, [join(installed, 'bin/bands.js'), ...QUESTION]))
    expect(answer.events).toHaveLength(2)
  })

  notInQuick(`is installed globally with man pages and completion${hasMan ? '' : ' (man is not installed)'}`, () => {
    const prefix = join(home, 'global')
    const tarball = readdirSync(home).find(name => name.endsWith('.tgz'))!
    run('npm', ['install', '--global', '--offline', '--prefix', prefix, join(home, tarball)])
    const path = [join(prefix, 'bin'), process.env.PATH].join(delimiter)
    const shell = (line: string) => {
      const env = { ...process.env, HOME: home, PATH: path, MANPAGER: 'cat', LC_ALL: 'C.UTF-8' }
      return execFileSync('bash', ['-c', line], { cwd: home, encoding: 'utf8', env })
    }
    if (hasMan) expect(shell('man bands-events')).toContain('bands-events - every change of a band of a ticker')
    expect(shell('bands man events')).toContain('every change of a band of a ticker')
    const completed = `source <(bands completion bash)
      complete -p bands
      COMP_WORDS=(bands tally AAPL rsi_zone --band overs); COMP_CWORD=5
      _bands bands overs --band
      printf '%s\\n' "\${COMPREPLY[@]}"`
    expect(shell(completed).trim().split('\n')).toEqual([expect.stringContaining('-F _bands'), 'oversold'])
  })

  it('says how to get DuckDB, which then answers from next to it or from the working folder', () => {
    const other = join(home, 'other', 'node_modules')
    const ask = (cwd: string) =>
      spawnSync(process.execPath, [join(installed, 'bin/bands.js'), 'sql', 'SELECT 1 AS one', '--csv', '--quiet'], {
        cwd,
        encoding: 'utf8',
        env: { ...process.env, HOME: home },
      })
    const refused = ask(home)
    expect([refused.status, refused.stdout]).toEqual([6, ''])
    expect(refused.stderr.trim().split('\n').slice(0, 3)).toEqual([
      'error: bands sql needs DuckDB, an optional package that is not installed; this',
      'line installs it:',
      '  npm install @duckdb/node-api',
    ])
    mkdirSync(other, { recursive: true })
    for (const modules of [other, dirname(installed)]) {
      symlinkSync(join(ROOT, 'node_modules', '@duckdb'), join(modules, '@duckdb'))
      expect(ask(modules === other ? dirname(other) : home)).toMatchObject({ status: 0, stdout: 'one\n1\n' })
    }
  })
})

describe('a built checkout', () => {
  it('has a V8 cache of every pack that a usual command loads', () => {
    for (const words of [
      ['--version'],
      QUESTION,
      ['now', 'AAPL'],
      ['tally', 'AAPL', 'rsi_zone'],
      ['import', 'none.csv'],
    ])
      expect(new Set(packsOf(words, ROOT).map(({ rejected }) => rejected))).toEqual(new Set([false]))
  })
})

describe('a program that has installed it', () => {
  it('prints the sentence of an uncaught error, and no page of our code', () => {
    for (const [call, sentence] of UNCAUGHT) {
      const program = `import { openBands, openRemote } from 'bands'\n${call}`
      const { status, stderr } = spawnSync(process.execPath, [write('uncaught.mjs', program)], {
        cwd: home,
        encoding: 'utf8',
        env: { ...process.env, HOME: home },
      })
      expect(status).toBe(1)
      expect(stderr).toContain(sentence)
      expect(stderr.length, call).toBeLessThan(3_000)
    }
  })

  it('imports it by name as an ES module', () => {
    expect(run(process.execPath, [write('esm.mjs', `import { FIELDS, openBands } from 'bands'\n${PROGRAM}`)])).toBe(
      SAID,
    )
  })

  it('requires it as CommonJS', () => {
    const lines = `const { FIELDS, openBands } = require('bands')\nasync function main() {\n${PROGRAM}}\nmain()\n`
    expect(run(process.execPath, [write('cjs.cjs', lines)])).toBe(SAID)
  })

  it('compiles against it, strictly, without the types of any other package', () => {
    const options = { strict: true, module: 'nodenext', target: 'es2022', lib: ['es2022'], types: [], noEmit: true }
    write('consumer.mts', CONSUMER)
    write(
      'consumer.cts',
      "import bands = require('bands')\nexport const names: readonly string[] = bands.PERFORMANCES\n",
    )
    write('tsconfig.json', JSON.stringify({ compilerOptions: options, files: ['consumer.mts', 'consumer.cts'] }))
    expect(compiled()).toBe('')
  })

  it('gets the names of all fields and bands proposed', () => {
    const bands = FIELDS.flatMap(field => field.bands)
    const all = (names: readonly string[]) => JSON.stringify([...new Set(names)])
    // What is left of a type without the room for others.
    write(
      'consumer.mts',
      `import type { EventsParams } from 'bands'
type Literal<Text> = Text extends string ? ({} extends Record<Text, 1> ? never : Text) : never
export const fields: Literal<EventsParams['field']>[] = ${all(FIELDS.map(field => field.name))}
export const bands: Literal<EventsParams['band']>[] = ${all(bands)}
`,
    )
    expect(compiled()).toBe('')
  })

  it('is bundled by esbuild with the words of the page of the library', () => {
    const page = readFileSync(join(installed, 'docs', 'library.md'), 'utf8')
    const words = page.match(/`esbuild (app\.ts .*)`/)?.[1]?.split(' ') ?? []
    write('app.ts', `import { FIELDS, openBands } from 'bands'\n${PROGRAM}`)
    run(join(ROOT, 'node_modules', '.bin', 'esbuild'), [...words, '--outfile=app.out.mjs'])
    expect(run(process.execPath, ['app.out.mjs'])).toBe(SAID)
  })
})

const QUESTION = ['events', 'AAPL', 'rsi_zone', '--band', 'oversold', '--limit', '2', '--json']

const PROGRAM = `
const bands = await openBands({ ledger: false })
const { events } = await bands.events({ ticker: 'AAPL', field: 'rsi_zone', band: 'oversold', limit: 2 })
const { schema } = await bands.study({ tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold', resamples: 99, reps: 99 })
await bands.close()
console.log(FIELDS.length, events.length, schema)
`

/** Calls that throw, and part of the sentence that says why. */
const UNCAUGHT = [
  [
    "await (await openBands()).events({ ticker: 'AAPL', field: 'rsi_zon' })",
    'field "rsi_zon" is not one of rsi_zone, ',
  ],
  ["await (await openBands()).events({ ticker: 'AAPL', field: 'rsi_zone', band: 'x' })", 'band "x" is not one of '],
  ["await (await openBands()).events({ ticker: 'NONE', field: 'rsi_zone' })", 'NONE'],
  ["await openRemote({ url: 'nowhere', key: 'key' })", 'nowhere'],
  ["await openBands({ db: '/none/such.db', tier: 'gold' })", 'tier "gold" is not one of '],
] as const

const SAID = '21 2 bands.study/2\n'

const CONSUMER = `
import * as bandsItself from 'bands'
import { type BandsClient, BandsError, type EventsPage, FIELDS, InvalidParameter, openBands, openImporter, openRemote } from 'bands'
import type { Backtest, BacktestParams, Importer, RemoteClient, StudyParams, Sweep, SweepParams, Tally, Timeframe } from 'bands'

const bands: BandsClient = await openBands({ tier: 'plus' })
const page: EventsPage = await bands.events({ ticker: 'AAPL', field: 'rsi_zone', band: 'oversold', limit: 2 })
const own: EventsPage = await bands.events({ ticker: 'AAPL', field: 'a_field_of_its_own', band: page.field })
const timeframe: Timeframe = own.timeframe
const study: StudyParams = { tickers: ['AAPL'], field: 'rsi_zone', timeframe }
const strategy: BacktestParams = { ...study, hold: 20 }
const sweep: SweepParams = { tickers: ['AAPL'] }
const found: [Backtest, Sweep, Tally] = await Promise.all([
  bands.backtest(strategy),
  bands.sweep(sweep),
  bands.tally({ tickers: ['AAPL'], field: FIELDS[0]!.name }),
])
const remote: RemoteClient = await openRemote({ url: 'https://api.example.com', key: 'key' })
const importer: Importer = await openImporter()
// @ts-expect-error: clients are opened, not made
new bandsItself.BandsClient()
// @ts-expect-error: a question has a ticker
await remote.events({ field: 'rsi_zone' })
export const refused = (error: unknown) => error instanceof BandsError || error instanceof InvalidParameter
export { found, importer }
`

/** What the compiler has to say; nothing when all is well. */
function compiled(): string {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  try {
    return run(process.execPath, [tsc, '-p', home])
  } catch (error) {
    return String((error as { stdout: string }).stdout)
  }
}

function importedPackages(): string[] {
  const src = join(ROOT, 'src')
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const imported = names.flatMap(name =>
    [...readFileSync(join(src, name), 'utf8').matchAll(/(?:^(?:import .*|\} )from |import\()'([^'.:]+)'/gm)].map(
      // A part of a package: @scope/name/part.
      match =>
        match[1]!
          .split('/')
          .slice(0, match[1]!.startsWith('@') ? 2 : 1)
          .join('/'),
    ),
  )
  // The user's own copy is loaded; only its types are imported.
  return [...new Set(imported)].filter(name => name !== '@duckdb/node-api')
}
