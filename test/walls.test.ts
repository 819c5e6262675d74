import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { EVENTS, OVERSOLD } from '../src/core/params/questions.js'
import { BACKTEST } from '../src/core/params/strategy.js'
import { STUDY, SWEEP } from '../src/core/params/studies.js'
import { LEFT_OUT, SMOKES } from './support/full.js'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const TEST = fileURLToPath(new URL('../test', import.meta.url))
const ARCHITECTURE = fileURLToPath(new URL('../ARCHITECTURE.md', import.meta.url))

/**
 * The wings, from the ground up, each with the floors of its rooms. A room may import rooms of lower floors of its own
 * wing, and the faces of lower wings.
 */
const WINGS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  core: [
    ['errors', 'html', 'model'],
    ['indicators', 'source', 'built', 'numbers'],
    ['language'],
    ['fields', 'statistics'],
    ['engine', 'params', 'tiers'],
    ['empty'],
  ],
  data: [['store', 'feeds'], ['threads', 'simulate'], ['local'], ['load']],
  research: [['trials', 'parts'], ['tally', 'study'], ['screen', 'sweep'], ['backtest']],
  server: [['accounts', 'wire'], ['http']],
  app: [
    ['backup', 'remote'],
    ['providers'],
    ['present'],
    ['report'],
    ['open'],
    ['client'],
    ['mcp', 'ui'],
    ['workers'],
    ['cli'],
  ],
  '': [['index']],
}

/** The face of each wing: the files that other wings may import. All of core is words that everyone uses. */
const FACE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  data: {
    '.': ['threads'],
    feeds: ['feed', 'read', 'row'],
    load: ['derive', 'import', 'report'],
    local: [
      ...[
        'band-counts',
        'bars-page',
        'cache',
        'check',
        'derived',
        'doctor',
        'explain',
        'export',
        'export-columns',
        'facts',
        'known',
        'local',
      ],
      ...['oversold', 'parquet', 'scan-states', 'search', 'status', 'summary', 'timeline', 'verify'],
    ],
    simulate: ['simulate'],
    store: ['cached-store', 'pages', 'store'],
    'store/sqlite': [
      ...[
        'connection',
        'data',
        'files',
        'lists',
        'migrations',
        'replaced',
        'row-hash',
        'schema',
        'verify',
        'writer-lock',
      ],
    ],
  },
  research: {
    '.': ['trials'],
    backtest: ['backtest', 'compare', 'draws', 'grid', 'members', 'result', 'tested-run', 'verdict', 'words'],
    screen: ['screen'],
    study: ['event-study', 'result', 'window'],
    sweep: ['result', 'sweep', 'validation'],
    tally: ['base', 'by-context', 'dwell', 'now', 'pool', 'tally', 'transitions'],
  },
  server: {
    accounts: ['accounts', 'copy', 'key'],
    'accounts/sqlite': ['accounts', 'verify'],
    'accounts/postgres': ['accounts', 'address', 'admin'],
    http: ['question', 'options', 'requests', 'server'],
    wire: ['format', 'page-schemas', 'schemas'],
  },
  app: {
    '.': ['client'],
    client: ['questions'],
    open: ['database', 'fetching', 'paths', 'writing'],
    providers: ['fetch', 'provider'],
    remote: ['remote'],
  },
}

/** Third-party packages and the rooms that may know each. */
const PACKAGES: Record<string, string | readonly string[]> = {
  'better-sqlite3': 'data/store',
  commander: 'app/cli',
  '@duckdb': 'app/cli',
  '@modelcontextprotocol': 'app/mcp',
  'lightweight-charts': 'app/ui',
  preact: 'app/ui',
  htm: 'app/ui',
  chalk: 'app/cli',
  'cli-table3': 'app/cli',
  'jsonc-parser': ['data/feeds', 'app/cli'],
  tinyglobby: 'data/feeds',
  yauzl: 'data/feeds',
  zod: ['data/feeds', 'app/backup', 'app/providers', 'server/wire'],
  yaml: 'core/params',
  '@noble': 'research/trials',
  '@stdlib': 'core/statistics',
  'fast-xml-parser': 'data/feeds',
  pg: 'server/accounts',
  'prom-client': 'server/http',
  undici: 'app/remote',
}

const FILES = filesBelow(SRC)

it('imports from lower floors alone', () => {
  for (const file of FILES) {
    for (const target of relativeImports(file)) {
      const from = roomOf(file)
      const to = roomOf(target)
      if (from !== to) expect(floorOf(to), `${name(file)} imports ${name(target)}`).toBeLessThan(floorOf(from))
    }
  }
})

it('imports other wings by their faces, and each file of a face is imported', () => {
  const imported = new Set<string>()
  for (const file of FILES) {
    for (const target of relativeImports(file)) {
      const wing = wingOf(target)
      if (wing === wingOf(file) || wing === 'core') continue
      imported.add(name(target))
      expect(faceOf(wing), `${name(file)} imports ${name(target)}`).toContain(name(target))
    }
  }
  expect(
    Object.keys(FACE)
      .flatMap(faceOf)
      .filter(file => !imported.has(file)),
  ).toEqual([])
})

it('has a core without files, network or threads', () => {
  for (const file of FILES.filter(file => wingOf(file) === 'core' && name(file) !== 'core/built.ts')) {
    for (const specifier of importsOf(file))
      expect(!specifier.startsWith('node:') || specifier === 'node:crypto', `${name(file)} imports ${specifier}`).toBe(
        true,
      )
  }
})

it('has the floors that ARCHITECTURE.md shows', () => {
  expect(readFileSync(ARCHITECTURE, 'utf8')).toContain(floorsTable())
})

it('keeps each package in its room', () => {
  for (const file of FILES) {
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue
      const pack = specifier.split('/')[0]!
      expect([PACKAGES[pack]].flat(), `${name(file)} imports ${specifier}`).toContain(roomOf(file))
    }
  }
})

it('has no circle of imports', () => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    expect(path.map(name), `${path.map(name).join(' → ')} → ${name(file)}`).not.toContain(name(file))
    if (done.has(file)) return
    for (const target of relativeImports(file)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of FILES) visit(file, [])
})

it('has files that are chapters: none too long to be read at one sitting', () => {
  for (const file of FILES) expect(linesOf(file), name(file)).toBeLessThanOrEqual(500)
})

/** Many of a kind, each with a rule of its own, or compiled: one file each, however short. */
const ONE_EACH = /^(core\/indicators|app\/cli\/commands)\/|\.wasm\.ts$/
/** What others import it for is all that there is of it. */
const FACES: Readonly<Record<string, string>> = {
  'index.ts': 'what a program may import',
  'core/built.ts': 'how the page, the sample and the schemas of the build are found',
}

it('has files that are chapters: none so short that it is a part of another', () => {
  // What is loaded only when it is needed has to be a file of its own.
  const whole = new Set(FILES.flatMap(file => relativeImports(file, /(?:from|import)\s+'([^']+)'/g)).map(name))
  const short = FILES.filter(file => linesOf(file) < 40).map(name)
  expect(short.filter(file => !ONE_EACH.test(file) && !(file in FACES) && whole.has(file))).toEqual([])
})

it('has one file in each folder that begins with its purpose, what goes in and what comes out', () => {
  const begins = (file: string): boolean =>
    /^\/\/ For: .+\.\n\/\/ In: .+\.\n\/\/ Out: .+\.\n\n/.test(readFileSync(file, 'utf8'))
  for (const folder of new Set(FILES.map(file => dirname(file)))) {
    const files = FILES.filter(file => dirname(file) === folder && begins(file))
    expect(files.map(name), folder).toHaveLength(1)
  }
})

/** Rooms that answer: what a parameter says is done there, in as many steps as it takes. */
const ANSWERING = [
  ...['core/model', 'core/fields', 'core/engine', 'core/source', 'core/tiers', 'core/statistics'],
  ...roomsOf('data').filter(room => room !== 'data/threads'),
  ...['app/remote', ...roomsOf('research')],
]
/** Names of parameters that are other things, too, and in how many files all of these stand. */
const ALSO: Readonly<Record<string, [files: number, what: string]>> = {
  asset_class: [8, 'a fact about a ticker, and a key of several pages'],
  market_cap_tier: [7, 'a key of several pages'],
  min_severity: [5, 'what the heading of a scan says that was looked for'],
  context_ticker: [6, 'a column of transitions'],
  context_field: [7, 'a column of transitions'],
  context_band: [9, 'a column of events, trades and transitions, and an old name'],
  prev_band: [12, 'a key of every event'],
}
const PLACES = 3

it('has a parameter in few places beside the rooms that do what it says', () => {
  const carriers = FILES.filter(file => !ANSWERING.includes(roomOf(file))).map(withoutExamples)
  const tables = [EVENTS, OVERSOLD, STUDY, SWEEP, BACKTEST]
  // A name of one word is a word of the language as well.
  const parameters = new Set(tables.flatMap(table => Object.keys(table)).filter(name => name.includes('_')))
  expect(parameters.size).toBeGreaterThan(15)
  for (const param of parameters) {
    const places = carriers.filter(code => spellings(param).test(code)).length
    const [most] = ALSO[param] ?? [PLACES]
    expect(places, `files with ${param}`).toBeLessThanOrEqual(most)
  }
})

/** Without the command lines that a help shows. */
function withoutExamples(file: string): string {
  return withoutComments(file).replace(/'bands [^'\n]*'/g, '')
}

/** `max_positions`, `max-positions`, `maxPositions`; not as a part of a longer name. */
function spellings(param: string): RegExp {
  const words = param.split('_')
  const camel = words.map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join('')
  return new RegExp(`(?<![\\w-])(?:${param}|${words.join('-')}|${camel})(?![\\w-])|--${words.join('-')}(?![\\w-])`)
}

/** Rooms that may: the terminal, what it shows, the page that tells how it was made, the table that options come from. */
const KNOW_OPTIONS = ['app/cli', 'app/present', 'app/report', 'core/params', 'core/empty', 'core/numbers']
/** `--option`; custom properties of a style sheet, `--ink: …` and `var(--ink)`, are none. */
const OPTION = /(?<!var\()--[a-z][\w-]*(?![\w-]*:)/
const COMMAND_LINE = /\bbands [a-z-]+ (?:[a-z]+ )?(?:--|[A-Z]{2})/

it('names no option and no command line where the terminal is not known', () => {
  for (const file of FILES.filter(file => !KNOW_OPTIONS.includes(roomOf(file)))) {
    const code = withoutComments(file)
    for (const form of [OPTION, COMMAND_LINE]) expect(form.exec(code)?.[0], name(file)).toBeUndefined()
  }
})

/** Where the set of fields is decided, and what is recorded or served by the specification; all others are lent theirs. */
const KNOW_ALL_FIELDS = [
  ...['core/fields', 'core/engine', 'data/load', 'data/feeds', 'app/remote', 'server/http', 'index'],
  // Unless one is given.
  ...[
    'core/params/row',
    'core/params/questions',
    'core/params/context',
    'core/params/places',
    'core/params/search',
    'core/params/studies',
    'core/params/backtest',
    'core/params/strategy-file',
  ],
  ...['core/params/kinds', 'data/local/cache', 'app/client', 'app/cli/complete'],
  // Of lines that were not understood.
  'app/cli/command-suggestions',
  // Where a user's own are added to them.
  ...['core/params/fields-file', 'core/params/reserved-names', 'app/cli/config'],
  // Of what is recorded, and of servers.
  ...['data/local/known', 'data/local/verify', 'app/cli/profiles', 'app/cli/commands/pull'],
]

it('looks no field up by a global name where a set of fields is lent', () => {
  const knows = (file: string): boolean =>
    /\b(BUILT_IN_FIELDS|FIELDS)\b.*fields\/index\.js'/.test(readFileSync(file, 'utf8'))
  const allowed = (file: string): boolean =>
    [roomOf(file), name(file).replace(/\.ts$/, '')].some(place => KNOW_ALL_FIELDS.includes(place))
  expect(FILES.filter(file => knows(file) && !allowed(file)).map(name)).toEqual([])
})

/** What no test imports, as it is reached through others: escapes, the program of a thread. */
const THROUGH_OTHERS = ['core/html', 'app/backup', 'app/mcp', 'app/workers']

it('leaves no room out of the quick run, and leaves out what is there', () => {
  const tests = filesBelow(TEST).map(file => `test/${relative(TEST, file).split(sep).join('/')}`)
  const isLeftOut = (path: string): boolean =>
    Object.keys(LEFT_OUT).some(left => path === left || (left.endsWith('/**') && path.startsWith(left.slice(0, -2)))) ||
    (path.endsWith('.proof.test.ts') && !SMOKES.includes(path))
  for (const smoke of SMOKES) expect(tests).toContain(smoke)
  for (const [left, noticing] of Object.entries(LEFT_OUT)) {
    expect(tests.filter(isLeftOut).join(' '), left).toContain(left.replace('**', ''))
    for (const path of noticing) expect([tests.includes(path), isLeftOut(path)], path).toEqual([true, false])
  }
  const quick = tests.filter(path => path.endsWith('.test.ts') && !isLeftOut(path))
  const sources = quick.map(path => readFileSync(path, 'utf8')).join('\n')
  const untouched = Object.keys(WINGS)
    .flatMap(roomsOf)
    .filter(room => !new RegExp(`/src/${room}(/|\\.js')`).test(sources))
  expect(untouched).toEqual(THROUGH_OTHERS)
})

/** A room's floor of all floors of the house. */
function floorOf(room: string): number {
  const floor = Object.entries(WINGS).flatMap(([wing, floors]) =>
    floors.map(rooms => rooms.map(name => join(wing, name))),
  )
  const found = floor.findIndex(rooms => rooms.includes(room))
  expect(found, `the floor of ${room}`).toBeGreaterThanOrEqual(0)
  return found
}

function roomsOf(wing: string): string[] {
  return WINGS[wing]!.flat().map(room => join(wing, room))
}

function faceOf(wing: string): string[] {
  return Object.entries(FACE[wing]!).flatMap(([folder, files]) => files.map(file => join(wing, folder, `${file}.ts`)))
}

/** The table as Markdown, the highest wing first, and its rooms from the ground up. */
function floorsTable(): string {
  const rows = Object.entries(WINGS).map(([wing, floors]) => {
    const rooms = floors.map(floor => floor.map(room => `\`${room}\``).join(' ')).join(' → ')
    return `| \`${join('src', wing)}\` | ${rooms} |`
  })
  return ['| Wing | Rooms, the ground floor first |', '| --- | --- |', ...rows.reverse()].join('\n')
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
}

const IMPORT = /(?:from\s+|import\s+|import\(|load\(|require\()\s*'([^']+)'/g

function importsOf(file: string, form = IMPORT): string[] {
  return [...withoutComments(file).matchAll(form)].map(match => match[1]!)
}

function withoutComments(file: string): string {
  return readFileSync(file, 'utf8').replace(/^\s*(\*|\/\/|\/\*).*$/gm, '')
}

function relativeImports(file: string, form = IMPORT): string[] {
  return importsOf(file, form)
    .filter(specifier => specifier.startsWith('.'))
    .map(specifier => join(dirname(file), specifier).replace(/\.js$/, '.ts'))
    .filter(target => existsSync(target))
}

function roomOf(file: string): string {
  return name(file).replace(/\.ts$/, '').split('/').slice(0, 2).join('/')
}

function wingOf(file: string): string {
  return name(file).includes('/') ? name(file).split('/')[0]! : ''
}

function name(file: string): string {
  return relative(SRC, file)
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').trimEnd().split('\n').length
}
