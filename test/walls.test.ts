import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const ARCHITECTURE = fileURLToPath(new URL('../ARCHITECTURE.md', import.meta.url))

/** The floors of the house, from the ground up. A room may import rooms of lower floors, and nothing else. */
const FLOORS: readonly (readonly string[])[] = [
  ['errors', 'html', 'model'],
  ['indicators', 'source', 'wire', 'accounts', 'statistics'],
  ['fields', 'store', 'feeds'],
  ['engine', 'params', 'tiers', 'simulate'],
  ['local', 'remote', 'tally', 'study'],
  ['load', 'sweep'],
  ['backtest'],
  ['present'],
  ['report', 'server'],
  ['open'],
  ['client', 'service'],
  ['index', 'cli'],
]

/** Third-party packages and the rooms that may know each. */
const PACKAGES: Record<string, string | readonly string[]> = {
  'better-sqlite3': 'store',
  commander: 'cli',
  chalk: 'cli',
  'csv-parse': 'feeds',
  'jsonc-parser': ['feeds', 'cli'],
  tinyglobby: 'feeds',
  yauzl: 'feeds',
  zod: ['feeds', 'wire'],
  yaml: 'params',
  '@stdlib': 'statistics',
  'fast-xml-parser': 'feeds',
  'hyparquet-writer': 'cli',
  'prom-client': 'server',
  undici: 'remote',
}

const FILES = filesBelow(SRC)

it('imports from lower floors alone', () => {
  for (const file of FILES) {
    for (const target of relativeImports(file)) {
      const [from, to] = [roomOf(file), roomOf(target)]
      if (from !== to) expect(floorOf(to), `${name(file)} imports ${name(target)}`).toBeLessThan(floorOf(from))
    }
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

/** Rooms that may: the terminal, what it shows, the page that tells how it was made, the table that options come from. */
const KNOW_OPTIONS = ['cli', 'present', 'report', 'params']
/** `--option`; custom properties of a style sheet, `--ink: …` and `var(--ink)`, are none. */
const OPTION = /(?<!var\()--[a-z][\w-]*(?![\w-]*:)/
const COMMAND_LINE = /\bbands [a-z-]+ (?:[a-z]+ )?(?:--|[A-Z]{2})/

it('names no option and no command line where the terminal is not known', () => {
  for (const file of FILES.filter(file => !KNOW_OPTIONS.includes(roomOf(file)))) {
    const code = withoutComments(file)
    for (const form of [OPTION, COMMAND_LINE]) expect(form.exec(code)?.[0], name(file)).toBeUndefined()
  }
})

function floorOf(room: string): number {
  const floor = FLOORS.findIndex(rooms => rooms.includes(room))
  expect(floor, `the floor of ${room}`).toBeGreaterThanOrEqual(0)
  return floor
}

/** The table as Markdown, the highest floor first. */
function floorsTable(): string {
  const rows = FLOORS.map((rooms, floor) => `| ${floor + 1} | ${rooms.map(room => `\`${room}\``).join(' ')} |`)
  return ['| Floor | Rooms |', '| --- | --- |', ...rows.reverse()].join('\n')
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
}

function importsOf(file: string): string[] {
  const found = withoutComments(file).matchAll(/(?:from\s+|import\s+|import\(|load\(|require\()\s*'([^']+)'/g)
  return [...found].map(match => match[1]!)
}

function withoutComments(file: string): string {
  return readFileSync(file, 'utf8').replace(/^\s*(\*|\/\/|\/\*).*$/gm, '')
}

function relativeImports(file: string): string[] {
  return importsOf(file)
    .filter(specifier => specifier.startsWith('.'))
    .map(specifier => join(dirname(file), specifier).replace(/\.js$/, '.ts'))
    .filter(target => existsSync(target))
}

function roomOf(file: string): string {
  return name(file).replace(/\.ts$/, '').split('/')[0]!
}

function name(file: string): string {
  return relative(SRC, file)
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').trimEnd().split('\n').length
}
