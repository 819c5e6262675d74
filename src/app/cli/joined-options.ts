import { partsKind } from '../../core/params/parts.js'
import { exampleOf, headingOf, type OptionSpec, type Parameter, parameterOf } from '../../core/params/row.js'
import { toCamelCase } from './command.js'

/** The joined option of each parameter, and its word: `split` of `--validate "split 2015-01-01"`. */
const PARTS = new Map<string, { option: string; word: string }>()

/** The joined option and a parameter's word in it: `--validate split`. Null if it has its own, or is not loaded. */
export function joinedOptionText(param: string): string | null {
  const part = PARTS.get(param)
  return part === undefined ? null : `--${part.option} ${part.word}`.trim()
}

/** The joined option that has a typed one as a part, by its parameter or its word: `--sector` is of --filter. */
export function optionWithPart(specs: readonly OptionSpec[], typed: string): [OptionSpec, word: string] | undefined {
  const words = typed.replace(/^-+/, '').replaceAll('-', ' ')
  for (const [param, { option, word }] of PARTS) {
    const spec = specs.find(([flags]) => flags === `--${option} <PARTS>`)
    if (spec !== undefined && [param.replaceAll('_', ' '), word].includes(words)) return [spec, word]
  }
  return undefined
}

/** The parameter of an option: `--cost-fixed` → `cost_fixed`. */
export const paramOf = ([flags]: OptionSpec): string => /--([\w-]+)/.exec(flags)![1]!.replaceAll('-', '_')

/**
 * The options of a command; those whose parameters are parts of one option (--validate) become that option, and their
 * parameters are added to `PARTS`.
 */
export function joinOptions(specs: readonly OptionSpec[]): OptionSpec[] {
  // `validate split` for a part of --validate, one word for an option with another name, '' for an ordinary option.
  const partText = (spec: OptionSpec): string => parameterOf(spec)?.part ?? ''
  return specs.flatMap((spec): OptionSpec[] => {
    const [option = '', word] = partText(spec).split(' ')
    if (option === '') return [spec]
    const parts = word === undefined ? [spec] : specs.filter(other => partText(other).startsWith(`${option} `))
    // The joined option replaces the part with a heading, otherwise the first one; the other parts are dropped.
    const replacedPart = parts.find(headingOf) ?? parts[0]
    if (spec !== replacedPart) return []
    for (const part of parts) PARTS.set(paramOf(part), { option, word: partText(part).slice(option.length + 1) })
    return [word === undefined ? renameOption(spec, option) : joinedSpec(option, parts)]
  })
}

function renameOption([flags, ...more]: OptionSpec, option: string): OptionSpec {
  return [flags.replace(/--[\w-]+/, `--${option}`), ...more]
}

/** The one option for several parameters, such as `--validate <PARTS>`; its help lists the word and help of each. */
function joinedSpec(option: string, parts: readonly OptionSpec[]): OptionSpec {
  const wordOf = (spec: OptionSpec): string => PARTS.get(paramOf(spec))!.word
  const paramsByWord = Object.fromEntries(parts.map(spec => [wordOf(spec), paramOf(spec)]))
  const table = Object.fromEntries(parts.map(spec => [paramOf(spec), parameterOf(spec)!]))
  const examples = parts.flatMap(spec => {
    const [flags] = spec
    const value = flags.includes('<') ? exampleOf(spec) : ''
    return value === null ? [] : [`${wordOf(spec)} ${value}`.trim()]
  })
  const example = examples[0] ?? Object.keys(paramsByWord)[0]!
  const kind = { ...partsKind('PARTS', paramsByWord, table, example), repeats: true as const }
  const partHelps = parts.map(spec => {
    const [flags, about] = spec
    const [, valueName = ''] = /<(.*)>/.exec(flags) ?? []
    const form = `${wordOf(spec)} ${valueName}`.trim()
    return `${form}: ${about}`
  })
  const help = `such as "${example}", parted by commas. ${partHelps.join('; ')}`
  const parameter: Parameter = { kind, help, about: help }
  const heading = parts.map(headingOf).find(heading => heading !== undefined)
  const listedValues: string[] = []
  return [`--${option} <PARTS>`, help, 'repeatable', heading, listedValues, parameter]
}

/** `{ validate: ['split 2015-01-01'] }` → `{ split: '2015-01-01' }`; for `sort` its parameter `sortBy` is added. */
export function splitJoinedOptions(
  specs: readonly OptionSpec[],
  typed: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...typed }
  for (const spec of specs) {
    const [flags] = spec
    const param = paramOf(spec)
    const parameter = parameterOf(spec)
    const value = values[toCamelCase(param)]
    if (value === undefined) continue
    if (flags.endsWith('<PARTS>') && parameter !== undefined) {
      delete values[toCamelCase(param)]
      const parts = parameter.kind.parse(param, [value].flat().join(', ')) as Record<string, unknown>
      for (const [partName, partValue] of Object.entries(parts)) values[toCamelCase(partName)] = partValue
    } else if (parameter?.part !== undefined) {
      for (const [parameterName, { option }] of PARTS)
        if (option === param.replaceAll('_', '-')) values[toCamelCase(parameterName)] = value
    }
  }
  return values
}
