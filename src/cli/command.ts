import type { FieldSet } from '../fields/index.js'
import { type OptionSpec, type Read, readParams, type Table } from '../params/row.js'
import type { Context } from './context.js'
import type { Format } from './output.js'

/** One command of the terminal: what can be said, and what happens then. */
export interface Command {
  /** `<TICKER>` and what it is, in order; `[X]` may be left out, `[X...]` takes the rest. Where its name does not
   *  tell what it may be: the words, or `TICKER`, `FIELD`, `FILE`. */
  readonly arguments?: readonly (readonly [name: string, about: string, may?: readonly string[]])[]
  readonly options?: readonly OptionSpec[]
  /** Whole command lines that work on the sample; shown first in the help. */
  readonly examples: readonly string[]
  /** What `--output` may be; the four of every question unless given. */
  readonly outputs?: readonly Format[]
  /** Longer words, before the options. */
  readonly notes?: readonly string[]
  /** It runs where config.json is broken, because it tells so itself. */
  readonly examinesSettings?: true
  /** It runs where the user's own fields are broken: it asks nothing of fields, or tells so itself. */
  readonly withoutFields?: true
  run(context: Context, args: Args): Promise<void>
}

/** What was typed: arguments by place, options by their long name without dashes. */
export class Args {
  readonly #arguments: readonly unknown[]
  readonly #options: Readonly<Record<string, unknown>>

  constructor(args: readonly unknown[], options: Readonly<Record<string, unknown>>) {
    this.#arguments = args
    this.#options = options
  }

  argument(index: number): string | undefined {
    const value = this.#arguments[index]
    return typeof value === 'string' ? value : undefined
  }

  /** The words of a `[X...]` argument. */
  rest(index: number): string[] {
    const value = this.#arguments[index]
    return Array.isArray(value) ? value.map(String) : []
  }

  text(option: string): string | undefined {
    const value = this.#options[camelCased(option)]
    return typeof value === 'string' ? value : undefined
  }

  flag(option: string): boolean {
    return this.#options[camelCased(option)] === true
  }

  /** Whatever was typed for an option: its text, the values of a list, true for a flag; undefined where it was not. */
  value(option: string): string | string[] | true | undefined {
    const value = this.#options[camelCased(option)]
    if (Array.isArray(value)) return this.list(option)
    return this.text(option) ?? (this.flag(option) || undefined)
  }

  /** What was typed for some options, of which another of these can be made. */
  pick(options: readonly string[]): Record<string, unknown> {
    const names = options.map(camelCased)
    return Object.fromEntries(names.flatMap(name => (name in this.#options ? [[name, this.#options[name]]] : [])))
  }

  /** Options as typed, by the names that parameters have. */
  params(names: readonly string[]): Record<string, unknown> {
    const entries = names.map(name => [name, this.value(name.replaceAll('_', '-'))])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  /**
   * Options as their table has them. Throws InvalidParameter.
   * @param fields what can be asked for, where the table has any
   */
  read<T extends Table>(table: T, fields?: FieldSet): Read<T> {
    return readParams(table, this.params(Object.keys(table)), fields)
  }

  /** Values of a repeatable option, each as it was typed. */
  texts(option: string): string[] {
    const value = this.#options[camelCased(option)]
    return Array.isArray(value) ? value.map(String) : []
  }

  /** Values of a repeatable option, each of which may be several separated by commas. */
  list(option: string): string[] {
    return this.texts(option)
      .flatMap(text => text.split(','))
      .filter(text => text !== '')
  }
}

/** `week-start` → `weekStart`, as options are kept. */
function camelCased(option: string): string {
  return option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
