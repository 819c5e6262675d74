import type { FieldSet } from '../../core/fields/index.js'
import { type OptionSpec, type Read, readParams, type Table } from '../../core/params/row.js'
import type { Context } from './context.js'
import type { Format } from './output.js'

/** One command of the terminal: its arguments and options, and its action. */
export interface Command {
  /**
   * `<TICKER>` and its description, in order; `[X]` is optional, `[X...]` takes the rest. The third item lists the
   * valid words or the kind (`TICKER`, `FIELD`, `FILE`), unless the name already says it.
   */
  readonly arguments?: readonly (readonly [name: string, about: string, may?: readonly string[]])[]
  readonly options?: readonly OptionSpec[]
  /** The options that most people need, by their names: the help shows them, and `--help all` every one. */
  readonly first?: readonly string[]
  /** Whole command lines that work on the sample; shown first in the help. */
  readonly examples: readonly string[]
  /** The valid values of `--output` (default: the four of every question). */
  readonly outputs?: readonly Format[]
  /** A question needs one of these options; a corrected line gets the first. */
  readonly needsOneOf?: readonly string[]
  /** The words of a line that makes a file for it. */
  readonly madeBy?: readonly string[]
  /** Longer words, before the options. */
  readonly notes?: readonly string[]
  /** Runs with a broken config.json, and reports the fault itself. */
  readonly examinesSettings?: true
  /** Runs with broken own fields: it needs no fields, or reports the fault itself. */
  readonly withoutFields?: true
  run(context: Context, args: Args): Promise<void>
}

/** The typed arguments by position, and options by their long name without dashes. */
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
  argumentList(index: number): string[] {
    const value = this.#arguments[index]
    return Array.isArray(value) ? value.map(String) : []
  }

  text(option: string): string | undefined {
    const value = this.#options[toCamelCase(option)]
    return typeof value === 'string' ? value : undefined
  }

  flag(option: string): boolean {
    return this.#options[toCamelCase(option)] === true
  }

  /** The value of an option: its text, the values of a list, or true for a flag; undefined if it is absent. */
  value(option: string): string | string[] | true | undefined {
    const value = this.#options[toCamelCase(option)]
    if (Array.isArray(value)) return this.list(option)
    return this.text(option) ?? (this.flag(option) || undefined)
  }

  /** Options as typed, by the names that parameters have. */
  params(names: readonly string[]): Record<string, unknown> {
    const entries = names.map(name => [name, this.value(name.replaceAll('_', '-'))])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  /** Parses options by their table. Throws InvalidParameter. @param fields for a table with fields */
  read<T extends Table>(table: T, fields?: FieldSet): Read<T> {
    return readParams(table, this.params(Object.keys(table)), fields)
  }

  /** Values of a repeatable option, each as it was typed. */
  texts(option: string): string[] {
    const value = this.#options[toCamelCase(option)]
    return Array.isArray(value) ? value.map(String) : []
  }

  /** Values of a repeatable option, split at commas. */
  list(option: string): string[] {
    return this.texts(option)
      .flatMap(text => text.split(','))
      .filter(text => text !== '')
  }
}

/** `week-start` and `week_start` → `weekStart`, the form of commander's keys. */
export function toCamelCase(name: string): string {
  return name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase())
}
