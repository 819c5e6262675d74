import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { CATALOGUE, TOP_WORDS } from '../src/app/cli/catalogue.js'
import { main } from '../src/app/cli/main.js'
import type { Stream, World } from '../src/app/cli/world.js'
import { BUILT_IN_FIELDS } from '../src/core/fields/index.js'
import { wordsOf } from './cli/support/run.js'
import { notInQuick } from './support/full.js'
import { commandsPage, fieldsPage } from './support/pages.js'

/**
 * The README and the pages of docs/ are held to the code: what a page says that a command prints, it prints. Each page is
 * one newcomer's session: a home that has nothing but the files that the page shows (blocks marked `yaml ~/FILE`), a
 * terminal of 80 columns without colour. A line of `…` stands for lines that the
 * page leaves out. `npm run docs` (BANDS_WRITE=1) writes the outputs into the pages.
 */
const PAGES = [
  'README.md',
  'examples/README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map(name => `docs/${name}`),
].filter(page => page.endsWith('.md'))
const WRITE = process.env.BANDS_WRITE === '1'
const ELIDED = '…'

describe.each(PAGES)('%s', page => {
  const text = readFileSync(page, 'utf8')
  // In /tmp whatever TMPDIR says: how lines are laid out depends on the length of a path.
  const home = mkdtempSync('/tmp/bands-docs-')
  const written = new Map<Session, string>()
  for (const [, file, content] of text.matchAll(/^```yaml ~\/(\S+)\n(.*?)^```$/gms)) {
    mkdirSync(join(home, dirname(file!)), { recursive: true })
    writeFileSync(join(home, file!), content!)
  }

  for (const session of sessions(text)) {
    // Studies and SQL take seconds; the README has one of each study.
    const shows =
      page !== 'README.md' && /^bands (study|sweep|backtest|compare|sql) /.test(session.command) ? notInQuick : it
    shows(`shows what ${session.command} prints`, async () => {
      const printed = await typed(session.command, home)
      if (WRITE && !session.output.split('\n').includes(ELIDED)) written.set(session, printed)
      else expect(printed).toMatch(patternOf(session.output))
    })
  }

  it('links to what is there', () => {
    for (const [, link] of text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g))
      expect(existsSync(join(dirname(page), link!)), `${page} links to ${link}`).toBe(true)
  })

  afterAll(() => {
    rmSync(home, { recursive: true, force: true })
    let rewritten = text
    for (const [{ whole, command }, printed] of written)
      rewritten = rewritten.replace(whole, () => `$ ${command}\n${printed}\n${whole.endsWith('\n\n') ? '\n' : ''}`)
    if (rewritten !== text) writeFileSync(page, rewritten)
  })
})

describe('a page that is made of the tables', () => {
  it.each([
    ['docs/fields.md', fieldsPage],
    ['docs/cli.md', commandsPage],
  ])('%s is as they are (npm run docs writes it)', async (page, made) => {
    const text = await made()
    if (WRITE) writeFileSync(page, text)
    expect(readFileSync(page, 'utf8')).toBe(text)
  })
})

it('the package installs the man page of every command (npm run docs writes the list)', () => {
  const about = JSON.parse(readFileSync('package.json', 'utf8'))
  const man = ['bands', ...TOP_WORDS.map(word => `bands-${word}`)].map(name => `./dist/man/${name}.1`)
  if (WRITE) writeFileSync('package.json', `${JSON.stringify({ ...about, man }, null, 2)}\n`)
  else expect(about.man).toEqual(man)
})

describe('the pages together', () => {
  it('name every command and every field', () => {
    // Read here: `npm run docs` has just written some pages.
    const everything = PAGES.map(page => readFileSync(page, 'utf8')).join('\n')
    const names = [...CATALOGUE.map(({ name }) => `bands ${name}`), ...BUILT_IN_FIELDS.names]
    expect(
      names.filter(name => !everything.includes(name)),
      'on no page',
    ).toEqual([])
  })

  it('explain every column of every table in the glossary', () => {
    const glossary = readFileSync('docs/glossary.md', 'utf8')
    const explained = new Set(
      [...glossary.matchAll(/^\| (.+?) \| /gm)].flatMap(([, words]) => lower(words!.split(', '))),
    )
    const declared = readdirSync('src/app/present').flatMap(file =>
      titlesIn(readFileSync(`src/app/present/${file}`, 'utf8')),
    )
    expect(declared.length).toBeGreaterThan(150)
    expect([...new Set(lower(declared))].filter(title => !explained.has(title)).sort()).toEqual([])
  })

  it('keep the README and the plan of the house short', () => {
    expect(linesOf('README.md')).toBeLessThanOrEqual(150)
    expect(linesOf('ARCHITECTURE.md')).toBeLessThanOrEqual(120)
  })
})

/** The titles of the columns that a source file declares: `column('as_of')` and `{ title: 'Rose', kind: … }`. */
function titlesIn(source: string): string[] {
  const isDeclared = /\bcolumn\b[^}]*\} from '\.\/description\.js'/.test(source)
  const keys = isDeclared ? [...source.matchAll(/\bcolumn\('(\w+)'/g)].map(([, key]) => key!.replaceAll('_', ' ')) : []
  const titles = [...source.matchAll(/\btitle: '([^']+)',\s*kind:/g)].map(([, title]) => title!)
  return [...keys, ...titles]
}

function lower(words: readonly string[]): string[] {
  return words.map(word => word.toLowerCase())
}

interface Session {
  /** The command and its output as they stand in the page. */
  whole: string
  command: string
  output: string
}

/** Blocks marked `console`: each line after `$ ` is a command, what follows it is its output. */
function sessions(text: string): Session[] {
  return [...text.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(block =>
    block[1]!
      .split(/^\$ /m)
      .slice(1)
      .map(part => {
        const [command = '', ...lines] = part.split('\n')
        return { whole: `$ ${part}`, command, output: lines.join('\n').trimEnd() }
      }),
  )
}

/** An output as a page shows it, where `…` stands for any number of lines. */
function patternOf(output: string): RegExp {
  const lines = output
    .split('\n')
    .map(line => (line === ELIDED ? '(?:.*\n)*?.*' : line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${lines.join('\n')}$`)
}

/** What a person sees: both streams of one terminal, in order. */
async function typed(command: string, home: string): Promise<string> {
  let seen = ''
  const terminal: Stream = {
    terminal: true,
    columns: () => 80,
    write: async chunk => {
      seen += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    },
  }
  const world: World = {
    out: terminal,
    err: terminal,
    env: { HOME: home, PATH: process.env.PATH, NO_COLOR: '1', LANG: 'C.UTF-8' },
    stdin: () => process.stdin,
    now: () => new Date(),
    onStop: () => () => {},
  }
  await main(
    wordsAfter(command).map(word => word.replace(/^~(?=\/)/, home)),
    world,
  )
  return erased(seen)
    .replaceAll(home, '/home/you')
    .replace(/imported \d{4}-\d\d-\d\d/g, 'imported 2026-11-21')
    .replace(/[^\n\S]+$/gm, '')
    .trimEnd()
}

/** Without the progress that a slow machine shows for a moment and takes away again. */
function erased(seen: string): string {
  return seen.replace(new RegExp(`\\r[^\\r]*?${String.fromCharCode(27)}\\[K`, 'g'), '')
}

/** The words after `bands`. */
function wordsAfter(command: string): string[] {
  const [first, ...words] = wordsOf(command)
  expect(first).toBe('bands')
  return words
}

function linesOf(page: string): number {
  return readFileSync(page, 'utf8').trimEnd().split('\n').length
}
