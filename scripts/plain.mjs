// node scripts/plain.mjs [--write | --list PATTERN]: holds comments and strings of src to plain English. Each pattern
// has a limit in plain.json, which may fall and never rise: --write lowers the limits to what is there now.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LIMITS = join(ROOT, 'scripts', 'plain.json')

/** Words that make a reader read twice, and what to write instead. */
const PATTERNS = {
  told: [/\b(told|tells?)\b/gi, 'shows, reports, says, is known'],
  'what is': [/\bwhat (is|was|followed|stands|holds)\b/gi, 'name the thing: the stored bars, later returns'],
  whoever: [/\b(whoever|whatever|who has|nobody)\b/gi, 'anyone who, any, regardless of'],
  'unless given': [/\bunless given\b/gi, '(default X)'],
  'of which': [/\b(of which|on whose|by which|in whose)\b/gi, 'two sentences'],
  'so many': [/\bso (many|much)\b/gi, 'N, each, that number'],
  beside: [/\b(beside|held against)\b/gi, 'compared with, next to'],
  'is to be': [/\b(is|are) to be\b/gi, 'the imperative'],
  'stands on': [/\bstands? (in|on|for|beside|there)\b/gi, 'is, uses, is listed'],
}
/** The most words of a sentence. */
const LONGEST = { comments: 25, strings: 30 }
const LONG = 'long sentence'

/** The text of all comments and strings, each with its file. */
function textsOf(kind) {
  return readdirSync(join(ROOT, 'src'), { recursive: true })
    .filter(file => /\.ts$/.test(file) && !file.endsWith('.wasm.ts'))
    .sort()
    .flatMap(file => {
      const source = readFileSync(join(ROOT, 'src', file), 'utf8')
      const found = kind === 'comments' ? commentsIn(source) : stringsIn(source)
      return found.map(text => ({ file: `src/${file}`, text }))
    })
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

function stringsIn(source) {
  const code = source.replace(/^\s*(\*|\/\/|\/\*|import\b).*$/gm, '')
  return (code.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? []).filter(text => /\w \w/.test(text))
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
for (const kind of ['comments', 'strings']) {
  for (const [name, matches] of Object.entries(matchesIn(kind))) {
    const limit = limits[kind][name] ?? Number.POSITIVE_INFINITY
    if (option === '--list' && pattern === name) process.stdout.write(`${matches.join('\n')}\n`)
    if (option === '--write') limits[kind][name] = Math.min(limit, matches.length)
    else if (matches.length > limit) {
      isAbove = true
      const instead = PATTERNS[name]?.[1] ?? 'two sentences'
      process.stderr.write(
        `src: "${name}" is in ${matches.length} ${kind}, and ${limit} are allowed; write ${instead}\n`,
      )
    }
  }
}
if (option === '--write') writeFileSync(LIMITS, `${JSON.stringify(limits, null, 2)}\n`)
if (isAbove) {
  process.stderr.write('see them: node scripts/plain.mjs --list PATTERN\n')
  process.exitCode = 1
}
