import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))

/** Which room may import which: the house as ARCHITECTURE.md draws it. A file at the top of src is a room of its own. */
const ALLOWED: Record<string, readonly string[]> = {
  ascending: [],
  errors: [],
  random: [],
  suggest: [],
  model: ['ascending'],
  indicators: ['ascending'],
  bands: ['model'],
  market: ['model'],
  statistics: ['random', 'ascending'],
  fields: ['indicators', 'model', 'ascending'],
  engine: ['fields', 'indicators', 'model'],
  accounts: ['model', 'errors'],
  query: ['fields', 'model', 'errors', 'suggest'],
  wire: ['model', 'errors'],
  remote: ['bands', 'wire', 'policy', 'model', 'errors'],
  server: ['bands', 'accounts', 'wire', 'policy', 'query', 'fields', 'model', 'errors'],
  policy: ['fields', 'model', 'errors'],
  store: ['accounts', 'model', 'errors', 'suggest'],
  feeds: ['model', 'errors', 'random', 'suggest'],
  study: ['bands', 'statistics', 'model', 'errors', 'ascending'],
  research: [
    'market',
    'bands',
    'statistics',
    'query',
    'indicators',
    'fields',
    'model',
    'errors',
    'random',
    'suggest',
    'ascending',
  ],
  report: ['research', 'statistics', 'model', 'errors'],
  local: [
    'bands',
    'market',
    'engine',
    'fields',
    'feeds',
    'indicators',
    'policy',
    'query',
    'store',
    'model',
    'errors',
    'random',
    'suggest',
    'ascending',
  ],
  export: ['model', 'errors'],
  open: ['local', 'remote', 'server', 'accounts', 'store', 'feeds', 'research', 'market', 'bands', 'model', 'errors'],
  library: [
    'open',
    'local',
    'remote',
    'study',
    'research',
    'market',
    'report',
    'query',
    'policy',
    'fields',
    'store',
    'feeds',
    'bands',
    'model',
    'errors',
  ],
  index: ['library', 'open', 'local', 'remote', 'study', 'research', 'market', 'fields', 'store', 'model', 'errors'],
  cli: [
    'open',
    'local',
    'remote',
    'server',
    'accounts',
    'wire',
    'study',
    'research',
    'market',
    'report',
    'query',
    'policy',
    'fields',
    'store',
    'feeds',
    'export',
    'bands',
    'model',
    'errors',
    'random',
    'suggest',
  ],
}

/** Third-party packages and the rooms that may know each. */
const PACKAGES: Record<string, string | readonly string[]> = {
  'better-sqlite3': 'store',
  commander: 'cli',
  chalk: 'cli',
  'cli-table3': 'cli',
  'csv-parse': 'feeds',
  'jsonc-parser': ['feeds', 'cli'],
  tinyglobby: 'feeds',
  yauzl: 'feeds',
  zod: ['feeds', 'wire', 'research'],
  yaml: 'research',
  '@stdlib': 'statistics',
  uplot: 'report',
  'fast-xml-parser': 'feeds',
  'stream-json': 'feeds',
  'hyparquet-writer': 'export',
  fastify: 'server',
  'prom-client': 'server',
  undici: 'remote',
}

const FILES = filesBelow(SRC)

it('imports only what the house allows', () => {
  for (const file of FILES) {
    for (const target of relativeImports(file)) {
      const [from, to] = [roomOf(file), roomOf(target)]
      if (from === to) continue
      expect(ALLOWED[from], `${name(file)} imports ${name(target)}`).toContain(to)
    }
  }
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

it('keeps every file small enough to be read at one sitting', () => {
  for (const file of FILES) expect(linesOf(file), name(file)).toBeLessThanOrEqual(220)
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8').replace(/^\s*(\*|\/\/|\/\*).*$/gm, '')
  const found = text.matchAll(/(?:from\s+|import\s+|import\(|load\(|require\()\s*'([^']+)'/g)
  return [...found].map(match => match[1]!)
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
