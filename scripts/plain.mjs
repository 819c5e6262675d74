// node scripts/plain.mjs [--write | --list PATTERN]: checks that the comments and strings of src, README.md and docs/ are
// plain English. Each pattern has a limit in plain.json that may only fall: --write lowers it to the present count.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LIMITS = join(ROOT, 'scripts', 'plain.json')

/** Words that make a reader read twice, and what to write instead. */
const PATTERNS = {
  // Two verdicts have the word: "not told from chance" and "not told apart".
  told: [/\b(tells?|(?<!not )told|told(?! from chance| apart))\b/gi, 'shows, reports, says, is known'],
  'what is': [/\bwhat (is|was|followed|stands|holds)\b/gi, 'name the thing: the stored bars, later returns'],
  whoever: [/\b(whoever|whatever|who has|nobody)\b/gi, 'anyone who, any, regardless of'],
  'unless given': [/\bunless (\S+ )?((is|are) )?given\b/gi, '(default X)'],
  'of which': [/\b(of which|on whose|by which|in whose)\b/gi, 'two sentences'],
  'so many': [/\bso (many|much)\b/gi, 'N, each, that number'],
  beside: [/\b(beside|held against)\b/gi, 'compared with, next to'],
  'is to be': [/\b(is|are) to be\b/gi, 'the imperative'],
  'stands on': [/\bstands? (in|on|for|beside|there)\b/gi, 'is, uses, is listed'],
  fronted: [/(?<=^|[.!?:] )Of (?!all )[a-z]/g, 'the subject first'],
  alone: [
    /\b(?<!stands |leave )alone\b|\b(nothing|none) of (it|them)\b|\bgo(es)? on with\b/gi,
    'only, not any, continue',
  ],
}
/** The most words of a sentence. */
const LONGEST = { comments: 25, strings: 30, docs: 30 }
const LONG = 'long sentence'
/** Made of strings of src. */
const GENERATED = ['docs/cli.md', 'docs/fields.md']

/** The texts of a kind, each with its file. */
function textsOf(kind) {
  if (kind === 'docs')
    return ['README.md', ...filesIn('docs', /\.md$/)]
      .filter(file => !GENERATED.includes(file))
      .flatMap(file => proseIn(textOf(file)).map(text => ({ file, text })))
  const textsIn = kind === 'comments' ? commentsIn : stringsIn
  return filesIn('src', /(?<!\.wasm)\.ts$/).flatMap(file => textsIn(textOf(file)).map(text => ({ file, text })))
}

function filesIn(folder, form) {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .filter(file => form.test(file))
    .sort()
    .map(file => `${folder}/${file}`)
}

function textOf(file) {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** The paragraphs, list items and cells of a page, without its blocks of code. */
function proseIn(page) {
  return page
    .replace(/^```.*?^```$|^---$|<!--.*?-->/gms, '\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) ?)|(?<=^\|.*)\|/m)
    .map(part =>
      part
        .replace(/^\s*(?:[-*|#]+|\d+\.)\s+|\]\([^)]*\)|\[|\*\*/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter(text => /\w \w/.test(text))
}

function commentsIn(source) {
  const blocks = source.match(/^\s*\/\*[\s\S]*?\*\/|^(\s*\/\/.*\n)+/gm) ?? []
  return blocks.flatMap(block =>
    block
      .replace(/\*\/\s*$/, '')
      .split('\n')
      .map(line => line.replace(/^\s*(\/\*+|\*|\/\/)\s?/, ''))
      .join('\n')
      .split(/\n(?=@|\s*\d\.|\s*$)/)
      .map(part => part.replace(/\s+/g, ' ').trim()),
  )
}

const SQL = /\b(CREATE|SELECT|INSERT INTO|UPDATE|DELETE FROM) \w+/

function stringsIn(source) {
  const code = source.replace(/^\s*(\*|\/\/|\/\*|import\b).*$/gm, '')
  return (code.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? []).filter(
    text => /\w \w/.test(text) && !SQL.test(text),
  )
}

/** Every match of each pattern, as `file: text`. */
function matchesIn(kind) {
  const found = Object.fromEntries([...Object.keys(PATTERNS), LONG].map(name => [name, []]))
  for (const { file, text } of textsOf(kind)) {
    for (const [name, [form]] of Object.entries(PATTERNS))
      for (const match of text.match(form) ?? []) found[name].push(`${file}: ${match}: ${text}`)
    for (const sentence of text.split(/(?<=[.!?])\s/))
      if (sentence.split(/\s+/).length > LONGEST[kind]) found[LONG].push(`${file}: ${sentence}`)
  }
  return found
}

const [option, pattern] = process.argv.slice(2)
const limits = JSON.parse(readFileSync(LIMITS, 'utf8'))
let isAbove = false
for (const kind of Object.keys(LONGEST)) {
  limits[kind] ??= {}
  for (const [name, matches] of Object.entries(matchesIn(kind))) {
    const limit = limits[kind][name] ?? Number.POSITIVE_INFINITY
    if (option === '--list' && pattern === name) process.stdout.write(`${matches.join('\n')}\n`)
    if (option === '--write') limits[kind][name] = Math.min(limit, matches.length)
    else if (matches.length > limit) {
      isAbove = true
      const instead = PATTERNS[name]?.[1] ?? 'two sentences'
      process.stderr.write(
        `${kind}: "${name}" occurs ${matches.length} times, and ${limit} are allowed; write ${instead}\n`,
      )
    }
  }
}
if (option === '--write') writeFileSync(LIMITS, `${JSON.stringify(limits, null, 2)}\n`)
if (isAbove) {
  process.stderr.write('see them: node scripts/plain.mjs --list PATTERN\n')
  process.exitCode = 1
}
