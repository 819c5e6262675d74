// For: what may be asked: each parameter is one row.
// In: text, numbers or JSON of any door.
// Out: a trusted query, or an error that names the parameter.

import { type InvalidParameter, invalid, suggest } from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'

/** A value as people write it: text, or a number of a program. */
export type Text = string | number

/** One value, several, or several in one text with commas between. */
export type Texts = Text | readonly Text[]

/** Parameters by name, as anyone may have written them. */
export type Written = Readonly<Record<string, unknown>>

export type JsonSchema = Readonly<Record<string, unknown>>

export interface Scope {
  readonly fields: FieldSet
  /** The parsed values before this one, by name: the valid bands depend on the field. */
  readonly earlier: Written
}

export const DEFAULT_SCOPE: Scope = { fields: BUILT_IN_FIELDS, earlier: {} }

/** One kind of value: its valid forms and its parser. */
export interface Kind<Value, Written = Text> {
  /** The same rule as a JSON Schema. test/server/openapi.test.ts compares the two. */
  readonly schema: JsonSchema
  /** The placeholder in help; empty for a flag. */
  readonly placeholder: string
  /** A value for the line that an error ends with, where the schema and the default give none. */
  readonly example?: string
  /** The name of its schema in documents, if it has one. */
  readonly name?: string
  /** Set if the value is a list. `all`: the word `all` means any value. */
  readonly several?: 'all' | 'some'
  /** Set if the value may also be written as an object. */
  readonly object?: true
  /** Set if the option may repeat; commas in its text separate nothing. */
  readonly repeats?: true
  /** Throws InvalidParameter naming the parameter, the value and the valid forms. */
  parse(param: string, written: unknown, scope?: Scope): Value
  /** Converts the text form to the form in a document, if they differ. */
  toDocumentForm?(param: string, text: string, scope?: Scope): unknown
  /** The form in a URL, if it differs from the plain text. */
  text?(value: unknown): string
  /** Only for the type: no object has this key. */
  readonly written?: Written
}

/**
 * The full declaration of one parameter. Its specified name is its key in a table. The command line's options and help,
 * URL parsing, the library's types, the keys of a strategy file and the JSON Schemas are derived from it.
 */
export interface Parameter<Parsed = unknown, Written = unknown> {
  readonly kind: Kind<unknown, Written>
  /** Its text in help: `only events before this day`. */
  readonly help: string
  /** The help text as a sentence. */
  readonly about: string
  readonly required?: true
  readonly fallback?: unknown
  /** A placeholder in help, better than that of its kind. */
  readonly placeholder?: string
  /** The heading in help above this and the following parameters. */
  readonly under?: string
  /** The word `none` removes the value of a file. */
  readonly none?: true
  /** It needs at least one of these parameters. */
  readonly onlyWith?: readonly string[]
  /** Its option on the command line if that is not its own name, and its word there: `validate split`. */
  readonly part?: string
  /** Only for the type: no object has this key. */
  readonly kept?: Parsed
}

export interface RequiredParameter<Parsed, Written> extends Parameter<Parsed, Written> {
  readonly required: true
}

export type Table = Readonly<Record<string, Parameter>>

type HelpOptions = Pick<Parameter, 'placeholder' | 'under' | 'none' | 'onlyWith' | 'part'>

export function required<V, W>(kind: Kind<V, W>, help: string, helpOptions?: HelpOptions): RequiredParameter<V, W> {
  return { kind, help, about: asSentence(help), required: true, ...helpOptions }
}

/** A parameter with a default, used where it is absent. Documents show its help as a sentence (`about`). */
export function withDefault<V, W>(
  kind: Kind<V, W>,
  fallback: NoInfer<V>,
  help: string,
  helpOptions?: HelpOptions,
): Parameter<V, W> {
  return { kind, help, about: asSentence(help), fallback, ...helpOptions }
}

/** A parameter that is null by default. */
export function nullable<V, W>(kind: Kind<V, W>, help: string, helpOptions?: HelpOptions): Parameter<V | null, W> {
  return { kind, help, about: asSentence(help), fallback: null, ...helpOptions }
}

/** A parameter that is absent by default. */
export function optional<V, W>(kind: Kind<V, W>, help: string, helpOptions?: HelpOptions): Parameter<V | undefined, W> {
  return { kind, help, about: asSentence(help), ...helpOptions }
}

function asSentence(help: string): string {
  return `${help.charAt(0).toUpperCase()}${help.slice(1)}.`
}

export type ParsedOf<P> = P extends Parameter<infer Parsed, unknown> ? Parsed : never
export type WrittenOf<P> = P extends Parameter<unknown, infer Written> ? Written : never

type RequiredNames<T> = {
  [Name in keyof T]: T[Name] extends RequiredParameter<unknown, unknown> ? Name : never
}[keyof T]
type OptionalNames<T> = { [Name in keyof T]: undefined extends ParsedOf<T[Name]> ? Name : never }[keyof T]

/** The parameters of a table as people write them. */
export type ParamsOf<T> = { [Name in RequiredNames<T>]: WrittenOf<T[Name]> } & {
  [Name in Exclude<keyof T, RequiredNames<T>>]?: WrittenOf<T[Name]>
}

/** The parsed values of a table. */
export type Read<T> = { -readonly [Name in Exclude<keyof T, OptionalNames<T>>]: ParsedOf<T[Name]> } & {
  -readonly [Name in OptionalNames<T>]?: Exclude<ParsedOf<T[Name]>, undefined>
}

/**
 * Parses parameters in the order of the table. Throws InvalidParameter for the first fault; unknown names and empty
 * texts are faults.
 * @param fields the known fields
 */
export function readParams<T extends Table>(table: T, params: object, fields: FieldSet = BUILT_IN_FIELDS): Read<T> {
  const written = definedParams(params, Object.keys(table))
  const read: Record<string, unknown> = {}
  for (const [name, parameter] of Object.entries(table)) {
    const scope = { fields, earlier: read }
    // undefined for the word `all`, too: such a parameter means any value by default.
    const value = name in written ? valueForKind(name, parameter.kind, written[name], scope) : undefined
    if (value === undefined && parameter.required) throw invalid('missing', { param: name })
    const parsed = value === undefined ? parameter.fallback : parameter.kind.parse(name, value, scope)
    if (parsed !== undefined) read[name] = parsed
  }
  return read as Read<T>
}

/** The parameters that are not undefined. Throws InvalidParameter for an unknown name and for an empty text. */
export function definedParams(params: object, allowed: readonly string[]): Record<string, unknown> {
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    throw invalid('not_allowed', { param: 'params', value: params, allowed: 'an object' })
  const entries = Object.entries(params).filter(([, value]) => value !== undefined)
  for (const [param, value] of entries) {
    if (!allowed.includes(param)) throw unknownParameterError(param, allowed)
    if (value === '') throw invalid('empty', { param, value })
  }
  return Object.fromEntries(entries)
}

export function paramsInTable(table: Table, written: Written): Written {
  return Object.fromEntries(Object.entries(written).filter(([name]) => name in table))
}

export function paramsNotInTable(table: Table, written: Written): Written {
  return Object.fromEntries(Object.entries(written).filter(([name]) => !(name in table)))
}

/** The value in the form that its kind parses: a list, or text for a number. undefined: any value (the word `all`). */
export function valueForKind(
  param: string,
  { placeholder, several, object, toDocumentForm }: Kind<unknown, unknown>,
  value: unknown,
  scope: Scope = DEFAULT_SCOPE,
): unknown {
  if (several !== undefined) {
    const items = listItems(param, value)
    const meansAny = several === 'all' && items.length === 1 && items[0] === 'all'
    return meansAny ? undefined : items
  }
  const isFlag = placeholder === ''
  if (isFlag || object) return value
  const text = plainText(param, value)
  return toDocumentForm === undefined ? text : toDocumentForm(param, text, scope)
}

/** The distinct items of a list, or of texts with commas, in their order. Throws InvalidParameter without any. */
export function listItems(param: string, value: unknown): string[] {
  const texts = (Array.isArray(value) ? value : [value]).flatMap(item => plainText(param, item).split(','))
  const items = texts.map(text => text.trim()).filter(text => text !== '')
  if (items.length === 0) throw invalid('empty', { param, value: [] })
  return [...new Set(items)]
}

/** A text or a number as text. Throws InvalidParameter for anything else. */
export function plainText(param: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return digitsOf(value)
  throw invalid('not_text', { param })
}

/** A number as text without an exponent, which kinds do not read. */
function digitsOf(value: number): string {
  const text = String(value)
  return text.includes('e-') ? value.toFixed(20).replace(/0+$/, '') : text
}

/** The error for an unknown parameter, with the nearest allowed names. */
export function unknownParameterError(param: string, allowed: readonly string[]): InvalidParameter {
  return invalid('unknown', { param, allowed, suggestions: suggest(param, allowed) })
}

/** An option of the command line, such as `--limit <N>`. `values` are the allowed words. */
export type OptionSpec = readonly [
  flags: string,
  help: string,
  times?: 'repeatable' | 'once',
  under?: string | undefined,
  values?: readonly string[],
  parameter?: Parameter,
]

export const mayRepeat = ([, , times]: OptionSpec): boolean => times === 'repeatable'
export const headingOf = ([, , , under]: OptionSpec): string | undefined => under
export const parameterOf = ([, , , , , parameter]: OptionSpec): Parameter | undefined => parameter

/** Some parameters of a table (default: all) as options. */
export function optionsOf(table: Table, names: readonly string[] = Object.keys(table)): OptionSpec[] {
  return names.map(name => optionOf(name, table[name]!))
}

/** A parameter as an option of the command line. */
function optionOf(name: string, parameter: Parameter): OptionSpec {
  const { kind, help, fallback, placeholder = kind.placeholder, under } = parameter
  const flags = `--${name.replaceAll('_', '-')}${placeholder === '' ? '' : ` <${placeholder}>`}`
  const isPlain = typeof fallback === 'string' || typeof fallback === 'number'
  const about = isPlain && !help.includes('(default') ? `${help} (default ${fallback})` : help
  const times = kind.several === undefined && !kind.repeats ? 'once' : 'repeatable'
  return [flags, about, times, under, wordsInSchema(kind.schema), parameter]
}

/** An option that takes one of some words. */
export function choiceOption(flags: string, help: string, values: readonly string[]): OptionSpec {
  return [flags, help, 'once', undefined, values]
}

/** An example of a value for an option; null if none is known. */
export function exampleOf([flags, help, , , words = [], parameter]: OptionSpec): string | null {
  const [, name] = /--([\w-]+)/.exec(flags)!
  if (flags.includes('<FILE>')) {
    // The help of an option that writes a file lists the endings, such as ` .csv`.
    const ending = /(?<=[ :])\.[a-z]+\b/.exec(help)
    if (ending !== null) return name! + ending[0]
  }
  if (parameter === undefined) return words[0] ?? null
  const { kind, fallback } = parameter
  // A day is a number.
  const isPlain = typeof fallback === 'string' || (typeof fallback === 'number' && kind.schema.format !== 'date')
  return kind.example ?? (isPlain ? String(fallback) : exampleInSchema(kind.schema))
}

/** A value that a schema allows; null if the schema shows none. */
function exampleInSchema({ enum: words, examples, anyOf, minimum, format }: JsonSchema): string | null {
  if (format === 'date') return '2017-01-03'
  const values = words ?? examples
  if (Array.isArray(values)) return String(values[0])
  if (typeof minimum === 'number') return String(Math.max(minimum, 1))
  return Array.isArray(anyOf) ? exampleInSchema(anyOf[0] as JsonSchema) : null
}

/** The words that a schema allows, for a single value or a list; empty if it lists none. */
function wordsInSchema({ enum: words, anyOf }: JsonSchema): readonly string[] {
  if (Array.isArray(words)) return words.map(String)
  return Array.isArray(anyOf) ? anyOf.flatMap((schema: JsonSchema) => wordsInSchema(schema)) : []
}

/** A part of a document, such as `exit` of a strategy: a mapping of values, or of parts in it. */
export interface Section<Rows = Nodes, Parsed = unknown> {
  readonly rows: Rows
  /** null if a file does not have it. */
  readonly optional?: true
  /** The text form of the part; its `toDocumentForm` makes the mapping. */
  readonly kind?: Kind<unknown, Text>
  /** At least one of these keys is required, because the others are derived from it. */
  readonly either?: readonly string[]
  /** Converts the written keys to the parsed ones. Throws InvalidParameter. */
  convertKeys?(written: Written, at: string, fields: FieldSet): Written
  /** Values as they were read → the part. `field` is that of the entry. Throws InvalidParameter. */
  finish?(values: Readonly<Record<string, unknown>>, at: string, field: string): Parsed
  /** Only for the type: no object has this key. */
  readonly kept?: Parsed
}

/** The parameter that sets a value, or a part as a whole. */
export interface Named<Name> {
  readonly param: Name
}

export type Node = (Parameter | Section) & Partial<Named<string>>
export type Nodes = Readonly<Record<string, Node>>
type ValueOf<N> = N extends Section<unknown, infer Parsed> & { rows: object } ? Parsed : ParsedOf<N>
export type Values<Rows> = { readonly [Key in Exclude<keyof Rows, OptionalNames<Rows>>]: ValueOf<Rows[Key]> } & {
  readonly [Key in OptionalNames<Rows>]?: Exclude<ValueOf<Rows[Key]>, undefined>
}

/** A part of a document. `finish` converts its values; without it they stay as they are. */
export function section<Rows extends Nodes, Parsed = Values<Rows>>(
  rows: Rows,
  finish?: NonNullable<Section<Rows, Parsed>['finish']>,
): Section<Rows, Parsed> {
  return finish === undefined ? { rows } : { rows, finish }
}

/** A value of a document, with the name of the parameter that sets it. */
export function setBy<Name extends string, P extends Parameter>(param: Name, row: P): P & Named<Name> {
  return { ...row, param }
}

/** Makes of a part of a document one that may be missing, and that a parameter sets in one text. */
export function sectionSetBy<Name extends string, Rows extends Nodes, Parsed, Written extends Text>(
  param: Name,
  row: Parameter<unknown, Written>,
  part: Section<Rows, Parsed>,
): Section<Rows, Parsed | null> & Named<Name> & Spelled<Written> {
  return { ...textSetBy(param, row, part), optional: true }
}

type Spelled<Written> = Pick<Parameter<unknown, Written>, 'kind' | 'help' | 'about' | 'under'>

/** Adds to a part of a document the parameter that sets it in one text. A file may have that text or a mapping. */
export function textSetBy<Name extends string, Rows extends Nodes, Parsed, Written extends Text>(
  param: Name,
  { kind, help, about, under }: Parameter<unknown, Written>,
  part: Section<Rows, Parsed>,
): Section<Rows, Parsed> & Named<Name> & Spelled<Written> {
  return { help, about, ...(under !== undefined && { under }), ...part, kind, param }
}

/** The JSON Schema of a document. @param needed the required parts @param either one of these keys is required */
export function schemaOf(
  rows: Nodes,
  { needed = [], either = [] }: { needed?: readonly string[]; either?: readonly string[] } = {},
): JsonSchema {
  const isNeeded = (key: string, node: Node): boolean =>
    isSection(node) ? needed.includes(key) : node.required === true && !either.includes(key)
  const entries = Object.entries(rows)
  const required = entries.filter(([key, node]) => isNeeded(key, node)).map(([key]) => key)
  const properties = Object.fromEntries(entries.map(([key, node]) => [key, schemaOfNode(node)]))
  const schema: Record<string, unknown> = { type: 'object', properties }
  if (required.length > 0) schema.required = required
  if (either.length > 0) schema.anyOf = either.map(key => ({ properties: { [key]: true }, required: [key] }))
  schema.additionalProperties = false
  return schema
}

export function isSection(node: Node): node is Section & Partial<Named<string>> {
  return 'rows' in node
}

/** The JSON Schema of a value or a part of a document. */
function schemaOfNode(node: Node): JsonSchema {
  if (!isSection(node)) {
    const { kind, about, fallback, required } = node
    const schema = { description: about, ...kind.schema }
    if (fallback !== undefined && fallback !== null) return { ...schema, default: fallback }
    // A printed file has null for an unused value.
    return required ? schema : { anyOf: [schema, { type: 'null' }] }
  }
  const { rows, either = [] } = node
  const forms: JsonSchema[] = [schemaOf(rows, { either })]
  if (node.kind !== undefined) forms.push(node.kind.schema)
  if (node.optional) forms.push({ type: 'null' })
  return forms.length === 1 ? forms[0]! : { anyOf: forms }
}
