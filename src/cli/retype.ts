import { FILTER_PARAMETERS } from './options.js'

/** Command lines and parameters as people type them. */

/** `context_ticker … context_field` → `--context-ticker … --context-field`; a plain word only where a message starts. */
export function asTyped(message: string): string {
  const spelled = message.replace(COMPOUND, name => `--${name.replaceAll('_', '-')}`)
  return spelled
    .replace(OPENING, (_, name: string) => `--${name.replaceAll('_', '-')} `)
    .replace(TWO, names => names.replace(/[a-z]+/g, name => (WAYS.includes(name) ? `--${name}` : name)))
}

/** Names that are no ordinary words. */
const COMPOUND = new RegExp(
  `\\b(${[
    'context_ticker',
    'context_field',
    'context_band',
    'context_lag',
    'as_of',
    'date_format',
    'prev_band',
    'max_flips',
    'min_events',
    'min_trades',
    'walk_forward',
    'pbo_blocks',
    'exit_on',
    'costs_bps',
    'slippage_bps',
    'cost_per_share',
    'cost_fixed',
    'target_volatility',
    'max_fraction',
    'max_positions',
    'cash_rate',
  ].join('|')})\\b`,
  'g',
)

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
  'stability',
  'context',
  'horizon',
  'path',
  'benchmark',
  'abnormal',
  'reps',
  'resamples',
  'fields',
  'adjust',
  'family',
  'split',
  'cv',
  'cpcv',
  'cuts',
  'drop',
  'side',
  'entry',
  'hold',
  'exit',
  'stop',
  'target',
  'trailing',
  'overlap',
  'borrow',
  'sizing',
  'fraction',
  'capital',
  'rf',
  'embargo',
  'report',
  'trades',
  'equity',
  'cells',
  'occurrences',
]

/** `bars "x" is not …`, and `cv k "1" is not …` of a number that has a name in the value. */
const OPENING = new RegExp(
  `^(${[...FILTER_PARAMETERS, ...PLAIN].join('|')}) (?=(?:(?:n|k|embargo) )?"|is |lacks |needs |says |names )`,
)

/** Ways that do not go together: `split and --walk-forward are …`. */
const WAYS: readonly string[] = ['split', 'cv', 'cpcv']
const TWO = /^[a-z-]+(?: and [a-z-]+)+ (?=are )/

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

/** A command line; words are quoted where a shell would not read them as they are. */
export function line(words: readonly string[]): string {
  return [
    'bands',
    ...words.map(word => (/^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)),
  ].join(' ')
}
