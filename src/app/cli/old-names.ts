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
  now(values: Readonly<Record<string, string>>): string[]
}

const REPLACEMENTS: readonly Replacement[] = [
  {
    old: ['--costs-bps', '--slippage-bps', '--cost-per-share', '--cost-fixed', '--borrow'],
    now: values => ['--costs', costsValue(values)],
  },
  {
    old: ['--sizing', '--fraction', '--target-volatility', '--max-fraction'],
    now: values => ['--size', sizeValue(values)],
  },
  { old: ['--exit-on'], now: ({ '--exit-on': rule = '' }) => ['--exit', enteringCondition(rule)] },
  { old: ['--exit-when'], now: ({ '--exit-when': rule = '' }) => ['--exit', rule] },
  {
    old: ['--context-ticker', '--context-field', '--context-band'],
    now: values => ['--context', contextValue(values)],
  },
  ...['trades', 'equity', 'years', 'cells', 'occurrences'].map((table): Replacement => {
    const old = `--${table}`
    return { old: [old], now: values => ['--write', `${table}=${values[old] ?? `${table}.csv`}`] }
  }),
  {
    old: ['--skip-bad-rows', '--rejects'],
    flags: ['--skip-bad-rows'],
    now: ({ '--rejects': file = 'skip' }) => ['--bad-rows', file],
  },
  { old: ['--out'], now: ({ '--out': file = 'out.csv' }) => ['--write', file] },
  // An argument now: an option of that name would be read as --accounts.
  { old: ['--account'], argument: '[ACCOUNT]', now: ({ '--account': name = 'NAME' }) => [name] },
  { old: ['--all-fields'], flags: ['--all-fields'], argument: '[NAME...]', now: () => ['all'] },
  { old: ['--fields'], now: ({ '--fields': fields = '' }) => ['--field', fields] },
  { old: ['--ticker'], now: ({ '--ticker': ticker = '' }) => ['--tickers', ticker] },
  { old: ['--provider'], now: ({ '--provider': name = '' }) => ['--from', name] },
  { old: ['--changed'], flags: ['--changed'], now: () => ['--since', '1'] },
  { old: ['--date'], now: ({ '--date': day = '' }) => ['--as-of', day] },
]

/** Replacements for options that are parts of a joined option now, or have another name. */
function joinedReplacements(): Replacement[] {
  return [...partsByOption()].map(([option, params]) => {
    const words = new Map(params.map(([param, place]) => [`--${param.replaceAll('_', '-')}`, place]))
    const part = ([old, value]: [string, string]): string => `${words.get(old)!.word} ${value}`.trim()
    return {
      old: [...words.keys()],
      flags: [...words].flatMap(([old, { isFlag }]) => (isFlag ? [old] : [])),
      now: values => [`--${option}`, Object.entries(values).map(part).join(', ')],
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

function sizeValue({
  '--sizing': method = '',
  '--fraction': fraction,
  '--target-volatility': target,
  '--max-fraction': most,
}: Readonly<Record<string, string>>): string {
  if (method === 'equal') return 'equal'
  if (fraction !== undefined || method === 'fixed-fraction') return fraction ?? '10%'
  return `vol ${target ?? '15%'}${most === undefined ? '' : ` max ${most}`}`
}

function enteringCondition(rule: string): string {
  const [field = '', bands] = rule.split('=')
  if (bands === undefined) return rule
  return `${field} enters ${bands.includes(',') ? `(${bands.split(',').join(', ')})` : bands}`
}

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
  const words: (string | Replacement)[] = []
  for (let at = 0; at < argv.length; at++) {
    const [name = '', joined] = argv[at]!.split(/=(.*)/s)
    const row = known.has(name) ? undefined : table.find(({ old }) => old.includes(name))
    if (row === undefined) {
      words.push(argv[at]!)
      continue
    }
    const next = argv[at + 1]
    const isFlag = row.flags?.includes(name) === true
    const value = isFlag ? '' : (joined ?? (next === undefined || next.startsWith('--') ? undefined : argv[++at]))
    if (!valuesByRow.has(row)) words.push(row)
    valuesByRow.set(row, { ...valuesByRow.get(row), ...(value !== undefined && { [name]: value }) })
  }
  const line = words.flatMap(word => (typeof word === 'string' ? [word] : word.now(valuesByRow.get(word)!)))
  const keyed = withNewKeys(line)
  return valuesByRow.size === 0 && keyed === null ? null : (keyed ?? line)
}

/** A line with the new keys of `--vary KEY=VALUES` and of `config set KEY VALUE`; null if none is old. */
function withNewKeys(line: readonly string[]): string[] | null {
  const words = [...line]
  const at = line.findIndex((word, i) => word === 'set' && line[i - 1] === 'config')
  const now = at < 0 ? undefined : newKey(line[at + 1] ?? '', [line[at + 2] ?? ''])
  if (now !== undefined) return words.toSpliced(at + 1, 2, now.key, now.values[0]!)
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
  const made = values.map(value => row.now({ [option]: value }))
  return { key: made[0]![0]!.slice(2), values: made.map(([, value]) => value!) }
}

/** The new name of an old option, or the argument that replaces it; undefined if the option is not old. */
export function newName(option: string): string | undefined {
  const row = [...REPLACEMENTS, ...joinedReplacements()].find(({ old }) => old.includes(option))
  return row?.argument ?? row?.now({})[0]
}
