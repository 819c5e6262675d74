import { longName } from './command-line.js'
import { places } from './joined-options.js'
import { GLOBAL_OPTIONS } from './options.js'

/** Names of before, and the words that replace them: the one table of old names. */

/** Options that one option replaces, with the values that were typed. */
interface Replaced {
  readonly old: readonly string[]
  /** The argument of a command that takes the value now. */
  readonly argument?: string
  /** Those that take no value. */
  readonly flags?: readonly string[]
  /** The words, with the value of each old option by its name. */
  now(values: Readonly<Record<string, string>>): string[]
}

const TABLE: readonly Replaced[] = [
  {
    old: ['--costs-bps', '--slippage-bps', '--cost-per-share', '--cost-fixed', '--borrow'],
    now: values => ['--costs', costs(values)],
  },
  {
    old: ['--sizing', '--fraction', '--target-volatility', '--max-fraction'],
    now: values => ['--size', size(values)],
  },
  { old: ['--exit-on'], now: ({ '--exit-on': rule = '' }) => ['--exit', entering(rule)] },
  { old: ['--exit-when'], now: ({ '--exit-when': rule = '' }) => ['--exit', rule] },
  {
    old: ['--context-ticker', '--context-field', '--context-band'],
    now: values => ['--context', context(values)],
  },
  ...['trades', 'equity', 'years', 'cells', 'occurrences'].map((table): Replaced => {
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

/** Options that are parts of one now, or have another name. */
function partsOf(): Replaced[] {
  return [...places()].map(([option, own]) => {
    const words = new Map(own.map(([param, place]) => [`--${param.replaceAll('_', '-')}`, place]))
    const part = ([old, value]: [string, string]): string => `${words.get(old)!.word} ${value}`.trim()
    return {
      old: [...words.keys()],
      flags: [...words].flatMap(([old, { isFlag }]) => (isFlag ? [old] : [])),
      now: values => [`--${option}`, Object.entries(values).map(part).join(', ')],
    }
  })
}

/** Keys of `--vary` and of `config set`; each of their values becomes one of the option. */
const KEYS: Readonly<Record<string, string>> = {
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

function costs(values: Readonly<Record<string, string>>): string {
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

function size({
  '--sizing': method = '',
  '--fraction': fraction,
  '--target-volatility': target,
  '--max-fraction': most,
}: Readonly<Record<string, string>>): string {
  if (method === 'equal') return 'equal'
  if (fraction !== undefined || method === 'fixed-fraction') return fraction ?? '10%'
  return `vol ${target ?? '15%'}${most === undefined ? '' : ` max ${most}`}`
}

function entering(rule: string): string {
  const [field = '', bands] = rule.split('=')
  if (bands === undefined) return rule
  return `${field} enters ${bands.includes(',') ? `(${bands.split(',').join(', ')})` : bands}`
}

function context(values: Readonly<Record<string, string>>): string {
  const band = values['--context-band']
  const subject = `${values['--context-ticker'] ?? 'GSPC'}:${values['--context-field'] ?? 'trend_direction'}`
  return band === undefined ? subject : `${subject}=${band}`
}

/**
 * The typed line with the new names; null if it has no old one.
 * @param options the options of the command: a name that it has is not an old one
 */
export function renamedLine(argv: readonly string[], options: readonly string[]): string[] | null {
  const known = new Set([...options, ...GLOBAL_OPTIONS.map(longName)])
  const table = [...TABLE, ...partsOf()]
  const found = new Map<Replaced, Record<string, string>>()
  const words: (string | Replaced)[] = []
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
    if (!found.has(row)) words.push(row)
    found.set(row, { ...found.get(row), ...(value !== undefined && { [name]: value }) })
  }
  const line = words.flatMap(word => (typeof word === 'string' ? [word] : word.now(found.get(word)!)))
  const keyed = withNewKeys(line)
  return found.size === 0 && keyed === null ? null : (keyed ?? line)
}

/** The keys of `--vary KEY=VALUES` and of `config set KEY VALUE`; null if none is old. */
function withNewKeys(line: readonly string[]): string[] | null {
  const words = [...line]
  const at = line.findIndex((word, i) => word === 'set' && line[i - 1] === 'config')
  const now = at < 0 ? undefined : replaced(line[at + 1] ?? '', [line[at + 2] ?? ''])
  if (now !== undefined) return words.toSpliced(at + 1, 2, now.key, now.values[0]!)
  let isChanged = false
  line.forEach((word, i) => {
    if (line[i - 1] !== '--vary') return
    const [key = '', values = ''] = word.split(/=(.*)/s)
    const varied = replaced(key, values.split(','))
    if (varied === undefined) return
    words[i] = `${varied.key}=${varied.values.join(',')}`
    isChanged = true
  })
  return isChanged ? words : null
}

function replaced(key: string, values: readonly string[]): { key: string; values: string[] } | undefined {
  const option = KEYS[key.replaceAll('-', '_')]
  const row = TABLE.find(({ old }) => old.includes(option ?? ''))
  if (option === undefined || row === undefined) return undefined
  const made = values.map(value => row.now({ [option]: value }))
  return { key: made[0]![0]!.slice(2), values: made.map(([, value]) => value!) }
}

/** The new name of an old option, or the argument that replaces it; undefined if it is none. */
export function newName(option: string): string | undefined {
  const row = [...TABLE, ...partsOf()].find(({ old }) => old.includes(option))
  return row?.argument ?? row?.now({})[0]
}
