import { longName } from './command-line.js'
import { partsByOption } from './joined-options.js'
import { GLOBAL_OPTIONS } from './options.js'

/** Options and keys of earlier versions, and the words that replace them. */

/** Old options, and the option or argument that replaces them. */
interface Replacement {
  readonly old: readonly string[]
  /** The argument of a command that takes the value now. */
  readonly argument?: string
  /** The old options that take no value. */
  readonly flags?: readonly string[]
  /** The new words of a line. @param values the typed value of each old option, by its name */
  newWords(values: Readonly<Record<string, string>>): string[]
}

const REPLACEMENTS: readonly Replacement[] = [
  {
    old: ['--costs-bps', '--slippage-bps', '--cost-per-share', '--cost-fixed', '--borrow'],
    newWords: values => ['--costs', costsValue(values)],
  },
  {
    old: ['--sizing', '--fraction', '--target-volatility', '--max-fraction'],
    newWords: values => ['--size', sizeValue(values)],
  },
  { old: ['--exit-on'], newWords: ({ '--exit-on': rule = '' }) => ['--exit', enteringCondition(rule)] },
  { old: ['--exit-when'], newWords: ({ '--exit-when': rule = '' }) => ['--exit', rule] },
  {
    old: ['--context-ticker', '--context-field', '--context-band'],
    newWords: values => ['--context', contextValue(values)],
  },
  ...['trades', 'equity', 'years', 'cells', 'occurrences'].map((table): Replacement => {
    const old = `--${table}`
    return { old: [old], newWords: values => ['--write', `${table}=${values[old] ?? `${table}.csv`}`] }
  }),
  {
    old: ['--skip-bad-rows', '--rejects'],
    flags: ['--skip-bad-rows'],
    newWords: ({ '--rejects': file = 'skip' }) => ['--bad-rows', file],
  },
  { old: ['--out'], newWords: ({ '--out': file = 'out.csv' }) => ['--write', file] },
  // An argument now: an option of that name would be read as --accounts.
  { old: ['--account'], argument: '[ACCOUNT]', newWords: ({ '--account': name = 'NAME' }) => [name] },
  { old: ['--all-fields'], flags: ['--all-fields'], argument: '[NAME...]', newWords: () => ['all'] },
  { old: ['--fields'], newWords: ({ '--fields': fields = '' }) => ['--field', fields] },
  { old: ['--ticker'], newWords: ({ '--ticker': ticker = '' }) => ['--tickers', ticker] },
  { old: ['--provider'], newWords: ({ '--provider': name = '' }) => ['--from', name] },
  { old: ['--changed'], flags: ['--changed'], newWords: () => ['--since', '1'] },
  { old: ['--date'], newWords: ({ '--date': day = '' }) => ['--as-of', day] },
]

/** Replacements for options that are parts of a joined option now, or have another name. */
function joinedReplacements(): Replacement[] {
  return [...partsByOption()].map(([option, params]) => {
    const partByOld = new Map(params.map(([param, part]) => [`--${param.replaceAll('_', '-')}`, part]))
    const partWithValue = ([old, value]: [string, string]): string => `${partByOld.get(old)!.word} ${value}`.trim()
    return {
      old: [...partByOld.keys()],
      flags: [...partByOld].flatMap(([old, { isFlag }]) => (isFlag ? [old] : [])),
      newWords: values => [`--${option}`, Object.entries(values).map(partWithValue).join(', ')],
    }
  })
}

/** Old keys of `--vary` and of `config set`, each with the old option of the same meaning. */
const OPTION_OF_KEY: Readonly<Record<string, string>> = {
  costs_bps: '--costs-bps',
  slippage_bps: '--slippage-bps',
  cost_per_share: '--cost-per-share',
  cost_fixed: '--cost-fixed',
  borrow: '--borrow',
  sizing: '--sizing',
  fraction: '--fraction',
  target_volatility: '--target-volatility',
  exit_on: '--exit-on',
  exit_when: '--exit-when',
}

/** The value of --costs from the values of the old options. */
function costsValue(values: Readonly<Record<string, string>>): string {
  const part = (option: string, before: string, after = ''): string[] =>
    values[option] === undefined ? [] : [`${before}${values[option]}${after}`]
  return [
    ...part('--costs-bps', '', 'bp'),
    ...part('--slippage-bps', 'slip ', 'bp'),
    ...part('--cost-per-share', 'share '),
    ...part('--cost-fixed', 'fixed '),
    ...part('--borrow', 'borrow '),
  ].join(',')
}

/** The value of --size from the values of the old options. */
function sizeValue({
  '--sizing': method = '',
  '--fraction': fraction,
  '--target-volatility': target,
  '--max-fraction': max,
}: Readonly<Record<string, string>>): string {
  if (method === 'equal') return 'equal'
  if (fraction !== undefined || method === 'fixed-fraction') return fraction ?? '10%'
  return `vol ${target ?? '15%'}${max === undefined ? '' : ` max ${max}`}`
}

/** `rsi_zone=oversold,neutral` → `rsi_zone enters (oversold, neutral)`; a rule without bands is unchanged. */
function enteringCondition(rule: string): string {
  const [field = '', bands] = rule.split('=')
  if (bands === undefined) return rule
  return `${field} enters ${bands.includes(',') ? `(${bands.replaceAll(',', ', ')})` : bands}`
}

/** The value of --context from the values of the old options: `GSPC:trend_direction=up`. */
function contextValue(values: Readonly<Record<string, string>>): string {
  const band = values['--context-band']
  const subject = `${values['--context-ticker'] ?? 'GSPC'}:${values['--context-field'] ?? 'trend_direction'}`
  return band === undefined ? subject : `${subject}=${band}`
}

/**
 * The typed line with the new names; null if it has no old one.
 * @param options the options of the command: a name that it has is not an old one
 */
export function lineWithNewNames(argv: readonly string[], options: readonly string[]): string[] | null {
  const known = new Set([...options, ...GLOBAL_OPTIONS.map(longName)])
  const table = [...REPLACEMENTS, ...joinedReplacements()]
  const valuesByRow = new Map<Replacement, Record<string, string>>()
  // All old options of a replacement become one word, at the position of the first of them.
  const words: (string | Replacement)[] = []
  for (let at = 0; at < argv.length; at++) {
    const [name = '', joinedValue] = argv[at]!.split(/=(.*)/s)
    const row = known.has(name) ? undefined : table.find(({ old }) => old.includes(name))
    if (row === undefined) {
      words.push(argv[at]!)
      continue
    }
    const values = valuesByRow.get(row) ?? {}
    if (!valuesByRow.has(row)) words.push(row)
    valuesByRow.set(row, values)
    if (row.flags?.includes(name)) values[name] = ''
    else if (joinedValue !== undefined) values[name] = joinedValue
    else if (argv[at + 1]?.startsWith('--') === false) values[name] = argv[++at]!
  }
  const line = words.flatMap(word => (typeof word === 'string' ? [word] : word.newWords(valuesByRow.get(word)!)))
  const lineWithKeys = withNewKeys(line)
  return valuesByRow.size === 0 ? lineWithKeys : (lineWithKeys ?? line)
}

/** A line with the new keys of `--vary KEY=VALUES` and of `config set KEY VALUE`; null if none is old. */
function withNewKeys(line: readonly string[]): string[] | null {
  const words = [...line]
  const at = line.findIndex((word, i) => word === 'set' && line[i - 1] === 'config')
  const setting = at < 0 ? undefined : newKey(line[at + 1] ?? '', [line[at + 2] ?? ''])
  if (setting !== undefined) return words.toSpliced(at + 1, 2, setting.key, setting.values[0]!)
  let isChanged = false
  line.forEach((word, i) => {
    if (line[i - 1] !== '--vary') return
    const [key = '', values = ''] = word.split(/=(.*)/s)
    const varied = newKey(key, values.split(','))
    if (varied === undefined) return
    words[i] = `${varied.key}=${varied.values.join(',')}`
    isChanged = true
  })
  return isChanged ? words : null
}

/** The new key for an old one, with its values as it takes them; undefined if the key is not old. */
function newKey(key: string, values: readonly string[]): { key: string; values: string[] } | undefined {
  const option = OPTION_OF_KEY[key.replaceAll('-', '_')]
  const row = REPLACEMENTS.find(({ old }) => old.includes(option ?? ''))
  if (option === undefined || row === undefined) return undefined
  const made = values.map(value => row.newWords({ [option]: value }))
  return { key: made[0]![0]!.slice(2), values: made.map(([, value]) => value!) }
}

/** The new name of an old option, or the argument that replaces it; undefined if the option is not old. */
export function replacementOf(option: string): string | undefined {
  const row = [...REPLACEMENTS, ...joinedReplacements()].find(({ old }) => old.includes(option))
  return row?.argument ?? row?.newWords({})[0]
}
