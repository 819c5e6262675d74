import { FILTER_PARAMETERS } from './options.js'

/** Command lines and parameters as people type them. */

/** `context_ticker … context_field` → `--context-ticker … --context-field`; a plain word only where a message starts. */
export function asTyped(message: string): string {
  const compound = /\b(context_ticker|context_field|context_band|as_of|date_format)\b/g
  const spelled = message.replace(compound, name => `--${name.replaceAll('_', '-')}`)
  const plain = new RegExp(`^(${[...FILTER_PARAMETERS, ...PLAIN].join('|')}) (?="|is )`)
  return spelled.replace(plain, (_, name: string) => `--${name.replaceAll('_', '-')} `)
}

const PLAIN = [
  'tier',
  'output',
  'color',
  'progress',
  'bars',
  'seed',
  'end',
  'delimiter',
  'decimal',
  'format',
  'by',
  'prices',
  'known',
  'kind',
  'timeout',
  'retries',
  'profile',
  'max_credits',
  'days',
  'expires',
  'grace',
  'asset_class',
  'sector',
  'market_cap_tier',
  'min_market_cap_tier',
  'min_severity',
  'sort_by',
]

/** The command line with one word put right, ready to be pasted; null when the word is not in it. */
export function retyped(argv: readonly string[], wrong: string, right: string): string | null {
  const at = argv.findLastIndex(word => same(word, wrong))
  if (at >= 0) return line(argv.with(at, right))
  const joined = argv.findLastIndex(word => word.startsWith('--') && word.endsWith(`=${wrong}`))
  if (joined >= 0) return line(argv.with(joined, argv[joined]!.slice(0, -wrong.length) + right))
  const option = argv.findLastIndex(word => word.startsWith(`${wrong}=`))
  return option < 0 ? null : line(argv.with(option, right + argv[option]!.slice(wrong.length)))
}

/** The first word in double quotes. */
export function quotedWord(message: string): string | null {
  return /"([^"]+)"/.exec(message)?.[1] ?? null
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** Quoted where a shell would not read the word as it is. */
function line(words: readonly string[]): string {
  return [
    'bands',
    ...words.map(word => (/^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)),
  ].join(' ')
}
