import { partsKind } from '../../core/params/parts.js'
import { exampleOf, type OptionSpec, type Parameter } from '../../core/params/row.js'

/** Where the command line has a parameter that says so: the option, and its word in it if there are several. */
interface Place {
  readonly option: string
  readonly word: string
  readonly isFlag: boolean
}

/** By the name of the parameter; filled as commands are loaded. */
const PLACES = new Map<string, Place>()

export function placeOf(param: string): Place | undefined {
  return PLACES.get(param)
}

/** The option and the word: `--validate split`; null for a parameter with an option of its own. */
export function placeText(param: string): string | null {
  const place = PLACES.get(param)
  return place === undefined ? null : `--${place.option} ${place.word}`.trim()
}

/** The loaded parameters of each option that joins several or has another name. */
export function places(): Map<string, [param: string, place: Place][]> {
  const byOption = new Map<string, [string, Place][]>()
  for (const [param, place] of PLACES)
    byOption.set(place.option, [...(byOption.get(place.option) ?? []), [param, place]])
  return byOption
}

const paramOf = ([flags]: OptionSpec): string => /--([\w-]+)/.exec(flags)![1]!.replaceAll('-', '_')

/** Options of a command; parameters that are parts of one option become that option. */
export function joined(specs: readonly OptionSpec[]): OptionSpec[] {
  const partIn = (spec: OptionSpec): string => spec[5]?.part ?? ''
  return specs.flatMap((spec): OptionSpec[] => {
    const [option = '', ...word] = partIn(spec).split(' ')
    if (option === '') return [spec]
    const own = word.length === 0 ? [spec] : specs.filter(other => partIn(other).startsWith(`${option} `))
    // At the place of the part that begins a section, or of the first.
    if (spec !== (own.find(part => part[3] !== undefined) ?? own[0])) return []
    for (const part of own) {
      const isFlag = !part[0].includes('<')
      PLACES.set(paramOf(part), { option, word: partIn(part).slice(option.length + 1), isFlag })
    }
    return [word.length === 0 ? renamed(spec, option) : joinedSpec(option, own)]
  })
}

function renamed([flags, ...more]: OptionSpec, option: string): OptionSpec {
  return [flags.replace(/--[\w-]+/, `--${option}`), ...more]
}

/** One option of several parameters; the help of each is its own. */
function joinedSpec(option: string, parts: readonly OptionSpec[]): OptionSpec {
  const wordOf = (spec: OptionSpec): string => PLACES.get(paramOf(spec))!.word
  const words = Object.fromEntries(parts.map(spec => [wordOf(spec), paramOf(spec)]))
  const table = Object.fromEntries(parts.map(spec => [paramOf(spec), spec[5]!]))
  const examples = parts.flatMap(spec => {
    const value = spec[0].includes('<') ? exampleOf(spec) : ''
    return value === null ? [] : [`${wordOf(spec)} ${value}`.trim()]
  })
  const example = examples[0] ?? Object.keys(words)[0]!
  const kind = { ...partsKind('PARTS', words, table, example), repeats: true as const }
  const described = parts.map(spec => {
    const [, takes = ''] = /<(.*)>/.exec(spec[0]) ?? []
    return `${`${wordOf(spec)} ${takes}`.trim()}: ${spec[1]}`
  })
  const help = `such as "${example}", parted by commas. ${described.join('; ')}`
  const parameter: Parameter = { kind, help, about: help }
  return [`--${option} <PARTS>`, help, 'repeatable', parts.find(part => part[3] !== undefined)?.[3], [], parameter]
}

const camelCased = (param: string): string => param.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase())

/** Typed options by the names of the parameters. Throws InvalidParameter for a part that cannot be read. */
export function spread(
  specs: readonly OptionSpec[],
  typed: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...typed }
  for (const spec of specs) {
    const option = paramOf(spec).replaceAll('_', '-')
    const parameter = spec[5]
    const value = values[camelCased(option)]
    const part = parameter?.part
    if (value === undefined) continue
    if (spec[0].endsWith('<PARTS>') && parameter !== undefined) {
      delete values[camelCased(option)]
      const parts = parameter.kind.parse(option.replaceAll('-', '_'), [value].flat().join(', ')) as Record<
        string,
        unknown
      >
      for (const [param, own] of Object.entries(parts)) values[camelCased(param)] = own
    } else if (part !== undefined)
      for (const [param, place] of PLACES) if (place.option === option) values[camelCased(param)] = value
  }
  return values
}
