/**
 * How cases are written down: one a line. It is a command line without its `bands`, a request (`GET /path`), or bytes
 * (`RAW …`); after ` | ` what it is run with, by `; `:
 *
 *   80 120            drawn as tables of these widths, though into a pipe
 *   tty 80            on a simulated terminal of that width
 *   formats, both     as --json, --ndjson and --csv; for people and as --json
 *   reads A B         files that are recorded, too (the files of a folder)
 *   in TEXT           standard input; \n is a line feed
 *   until TEXT        asked to end (SIGTERM) when standard output has that
 *   NAME=VALUE        a variable of the environment
 *   key NAME, of nested, times N, Name: value    of a request: whose key, of which server, how often, a header
 *
 * `{a,b}` makes a case of each, as in a shell. `{url}`, `{pro}` … are filled in when the case is run.
 * `{b*9}` in bytes are nine b.
 */
export function list(strings, ...values) {
  const lines = String.raw({ raw: strings.raw }, ...values).split('\n')
  return lines.flatMap(line => (line.trim() === '' ? [] : alternatives(line.trim()))).flatMap(caseOf)
}

/** The line of a command without any. */
export const NO_WORDS = '(no words)'

/** @returns the case with these words at its end. */
export const withWords = (each, words) => ({ ...each, line: `${each.line} ${words}`, title: `${each.title} ${words}` })

function alternatives(line) {
  const braces = /\{([^{}]*,[^{}]*)\}/.exec(line)
  if (braces === null) return [line]
  return braces[1].split(',').flatMap(word => alternatives(line.replace(braces[0], word)))
}

function caseOf(text) {
  const [line, given = ''] = text.split(' | ')
  const options = given.split('; ').filter(option => option !== '')
  const made = {
    line: line.trim(),
    title: `${line} ${given.replace(/formats|both/, '')}`,
    env: {},
    headers: {},
    reads: [],
  }
  const widths = options.flatMap(option => (/^[\d ]+$/.test(option) ? option.split(' ') : []))
  for (const option of options) add(made, option)
  if (options.includes('formats')) return ['--json', '--ndjson', '--csv'].map(format => withWords(made, format))
  if (options.includes('both')) return [made, withWords(made, '--json')]
  if (widths.length === 0) return [made]
  return widths.map(columns => {
    const drawn = withWords(made, '--output table')
    return { ...drawn, title: `${line} ${columns}`, env: { ...made.env, COLUMNS: columns } }
  })
}

export const unescaped = text => text.replaceAll('\\r', '\r').replaceAll('\\n', '\n')

function add(made, option) {
  const [word, ...rest] = option.split(' ')
  const value = rest.join(' ')
  if (word === 'tty') made.terminal = Number(value)
  else if (word === 'reads') made.reads = rest
  else if (word === 'in') made.stdin = unescaped(value)
  else if (word === 'until') made.until = unescaped(value)
  else if (word === 'times') made.times = Number(value)
  else if (word === 'key' || word === 'of') made[word] = value
  else if (/^[A-Z_]+=/.test(option)) made.env[option.split('=')[0]] = option.slice(option.indexOf('=') + 1)
  else if (/^[\w-]+:$/.test(word)) made.headers[word.slice(0, -1)] = value
  else if (!/^(formats|both|[\d ]+)$/.test(option)) throw new Error(`no case is run with ${option}`)
}
