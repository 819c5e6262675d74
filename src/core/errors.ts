// For: the words that all wings share: errors, sources, tiers, reasons for empty answers.
// In: nothing but `core`.
// Out: types and pure functions; `built.ts` alone reads files.

/**
 * Every error of the product as data: its kind (`code`), its subject, and its remedy. The caller adds the cost (exit
 * code, HTTP status) and the spelling: a sentence here names parameters as in the specification, and the terminal
 * replaces them by options and a line to paste (app/cli/errors.ts).
 *
 * How to raise one:
 *   throw invalid('not_allowed', { param: 'limit', value: text, allowed: 'an integer from 1 to 100' })
 *   throw invalid('missing', { param: 'field' })                       kinds with a common text: FAULTS
 *   throw wrong('embargo', sentence`${parameter('embargo')} is for a ${parameter('split')}.`)   a special case
 *   throw new StorageError(`${path} is empty.`, { remedy: remedy('import', ['FILE']) })
 * A sentence mentions a parameter with `parameter()` and a command with `remedy()`; never as `--option` or `bands X`.
 */
export type ErrorCode =
  | 'invalid_parameter'
  | 'not_found'
  | 'unauthorized'
  | 'tier_restricted'
  | 'bad_data'
  | 'storage'
  | 'config'
  | 'busy'
  | 'method_not_allowed'
  | 'rate_limit_exceeded'
  | 'data_unavailable'
  | 'upstream'

/** A parameter in a sentence, by its specified name; with a value if the sentence means that value. */
export interface ParamMention {
  param: string
  value?: string
}

/** A command that repairs an error: its words, and its parameters by their specified names (true: a flag). */
export interface Remedy {
  command: string
  words?: readonly string[]
  params?: Readonly<Record<string, string | true>>
  /** Whether the command is the typed line again, with these parameters added. */
  again?: boolean
}

export type Mention = ParamMention | Remedy

/** A sentence with its parameters and commands as data, so that each output spells them in its own way. */
export type Sentence = readonly (string | Mention)[]

/** A sentence with or without mentions. */
export type Words = string | Sentence

/** Template tag: a sentence of texts, numbers, mentions and other sentences. */
export function sentence(texts: TemplateStringsArray, ...values: (string | number | Mention | Sentence)[]): Sentence {
  const parts = texts.flatMap((text, i) => {
    const value = values[i] ?? ''
    if (isSentence(value)) return [text, ...value]
    return [text, typeof value === 'number' ? String(value) : value]
  })
  return parts.filter(part => part !== '')
}

export const parameter = (name: string, value?: string): ParamMention =>
  value === undefined ? { param: name } : { param: name, value }

/** A command line that helps, also in a sentence. */
export function remedy(command: string, words: readonly string[] = [], params: Remedy['params'] = {}): Remedy {
  return { command, words, params }
}

/** A remedy: the typed line with these parameters added; `command` and `words` are what that line has at least. */
export function typedLineWith(command: string, words: readonly string[], params: Remedy['params'] = {}): Remedy {
  return { command, words, params, again: true }
}

/** Several parameters in a sentence: `a, b and c`. @param beforeLast the words before the last name */
export function parameterList(names: readonly string[], beforeLast = ' and '): Sentence {
  return names.flatMap((name, i) => {
    if (i === 0) return [parameter(name)]
    return [i === names.length - 1 ? beforeLast : ', ', parameter(name)]
  })
}

/** A sentence as text. @param spell the spelling of a mention (default: the specified name) */
export function wordsAsText(words: Words, spell: (mention: Mention) => string = spellAsSpecified): string {
  if (typeof words === 'string') return words
  return words.map(part => (typeof part === 'string' ? part : spell(part))).join('')
}

function spellAsSpecified(mention: Mention): string {
  if ('command' in mention) return mention.command
  return mention.value === undefined ? mention.param : `${mention.param} ${mention.value}`
}

const isSentence = (value: unknown): value is Sentence => Array.isArray(value)

export interface ErrorAbout extends ErrorOptions {
  remedy?: Remedy
}

export class BandsError extends Error {
  override readonly name: string = 'BandsError'
  readonly code: ErrorCode
  /** The message before its mentions are spelled. */
  readonly words: Words
  readonly remedy: Remedy | null
  readonly #payload: object

  /** @param payload machine-readable data, besides `error` and `message` */
  constructor(code: ErrorCode, words: Words, { remedy, ...options }: ErrorAbout = {}, payload: object = {}) {
    super(wordsAsText(words), options)
    this.code = code
    this.words = words
    this.remedy = remedy ?? null
    this.#payload = payload
  }

  payload(): Record<string, unknown> {
    return { ...this.#payload }
  }
}

export interface InvalidValue {
  param: string
  value?: unknown
  /** The allowed values, or one phrase such as "an integer from 1 to 100". */
  allowed?: readonly string[] | string
  /** The nearest allowed values, best first. */
  suggestions?: readonly string[]
  /** Position of the error in a text, both from 1; `value` is then the word there. */
  line?: number
  column?: number
}

/** The kind of thing that a parameter's value names. */
export type NamedThing = { kind: 'field' } | { kind: 'band'; field: string }

/** Further data for the text of an error; not part of the payload. */
interface About {
  thing?: NamedThing
  /** The error of a part of the value. */
  part?: InvalidParameter
  remedy?: Remedy
}

/** The kinds of error with a common text. */
const FAULTS = {
  not_allowed: ({ param, value, allowed = '', suggestions = [] }) =>
    typeof allowed === 'string'
      ? sentence`${{ param }} ${describeValue(value)} is not ${allowed}.`
      : sentence`${{ param }} ${describeValue(value)} is not one of ${allowed.join(', ')}.${didYouMean(suggestions)}`,
  missing: ({ param }) => sentence`${{ param }} is missing.`,
  empty: ({ param }) => sentence`${{ param }} is empty.`,
  not_text: ({ param }) => sentence`${{ param }} must be text or a number.`,
  unknown: ({ param, allowed = [], suggestions = [] }) =>
    sentence`there is no parameter ${quoted(param)}; allowed are ${[allowed].flat().join(', ')}.${didYouMean(suggestions)}`,
  in_part: ({ param, value }, { part }) =>
    sentence`${{ param }} ${describeValue(value)}: ${part === undefined ? '' : part.words}`,
} satisfies Record<string, (offence: InvalidValue, about: About) => Sentence>

export type Fault = keyof typeof FAULTS

/** A parameter with an invalid value; `param` is spelled as in the specification (`context_ticker`). */
export class InvalidParameter extends BandsError {
  override readonly name = 'InvalidParameter'
  readonly offence: InvalidValue
  /** The kind of error; null for a special case, which only its sentence describes. */
  readonly fault: Fault | null
  readonly about: About

  /** If a plain text begins with the parameter's name, the name becomes a mention. */
  constructor(words: Words, offence: InvalidValue, about: About = {}, fault: Fault | null = null) {
    super('invalid_parameter', mentionParameter(words, offence.param), about, offence)
    this.offence = offence
    this.about = about
    this.fault = fault
  }

  get param(): string {
    return this.offence.param
  }

  /** The same error for the parameter under another name. */
  withParam(name: string): InvalidParameter {
    const { words, offence, about, fault } = this
    const rename = (part: string | Mention): string | Mention =>
      typeof part !== 'string' && 'param' in part && part.param === offence.param ? { ...part, param: name } : part
    const renamed = typeof words === 'string' ? words : words.map(rename)
    return new InvalidParameter(renamed, { ...offence, param: name }, about, fault)
  }
}

/** An error with a common text. */
export function invalid(fault: Fault, offence: InvalidValue, about: About = {}): InvalidParameter {
  return new InvalidParameter(FAULTS[fault](offence, about), offence, about, fault)
}

/** An error about a parameter that is none of FAULTS, with its own text. @param about its remedy and other context */
export function wrong(
  param: string,
  words: Words,
  more: Omit<InvalidValue, 'param'> = {},
  about?: About,
): InvalidParameter {
  return new InvalidParameter(words, { param, ...more }, about)
}

/** The kind of error that has a message, given its data; null for a special case. */
export function faultOfMessage(message: string, offence: InvalidValue): Fault | null {
  const faults = Object.keys(FAULTS) as Fault[]
  return faults.find(fault => wordsAsText(FAULTS[fault](offence, {})) === message) ?? null
}

/** The words, with the parameter's name at the beginning of a plain text as a mention. */
function mentionParameter(words: Words, name: string): Words {
  if (typeof words !== 'string' || !words.startsWith(name)) return words
  const rest = words.slice(name.length)
  return /^[ :,]/.test(rest) ? [parameter(name), rest] : words
}

interface MissingItem {
  kind: 'ticker' | 'file' | 'account' | 'key' | 'list' | 'provider'
  name: string
}

/** A well-formed ticker, file or thing that does not exist. */
export class NotFound extends BandsError {
  override readonly name = 'NotFound'
  readonly suggestions: readonly string[]
  readonly missing: MissingItem | null

  constructor(
    words: Words,
    suggestions: readonly string[] = [],
    { missing, ...options }: ErrorAbout & { missing?: MissingItem } = {},
  ) {
    super('not_found', words, options, suggestions.length > 0 ? { suggestions } : {})
    this.suggestions = suggestions
    this.missing = missing ?? null
  }
}

/** The payload of an error, with the address for a higher tier: errors raised here have none of their own. */
export function payloadAt(error: BandsError, upgradeUrl: string | null): Record<string, unknown> {
  const payload = error.payload()
  return payload.upgrade_url === null ? { ...payload, upgrade_url: upgradeUrl } : payload
}

/** A field or feature above the caller's tier. */
export class TierRestricted extends BandsError {
  override readonly name = 'TierRestricted'
  readonly feature: string
  readonly tier: string
  readonly requiredTier: string
  /** Where a higher tier is available; null where unknown. */
  readonly upgradeUrl: string | null

  /** `message`, `upgradeUrl`: the refusing server's own text and address. */
  constructor(
    feature: string,
    tier: string,
    requiredTier: string,
    { message, upgradeUrl = null, ...about }: ErrorAbout & { message?: Words; upgradeUrl?: string | null } = {},
  ) {
    const needs = `${feature} needs the ${title(requiredTier)} tier; you asked as ${title(tier)}.`
    const payload = { feature, tier, required_tier: requiredTier, upgrade_url: upgradeUrl }
    super('tier_restricted', message ?? needs, about, payload)
    this.feature = feature
    this.tier = tier
    this.requiredTier = requiredTier
    this.upgradeUrl = upgradeUrl
  }
}

/** An invalid setting of this machine (a configuration or credentials file, an address to listen on). */
export class ConfigError extends BandsError {
  override readonly name = 'ConfigError'
  constructor(words: Words, options?: ErrorAbout) {
    super('config', words, options)
  }
}

/** A position in a file: line and column count from 1; column is the first character of the faulty value. */
export interface FilePosition {
  file: string
  line?: number
  column?: number
}

/** Input that cannot be read; the message starts with `file:line:column`. */
export class BadData extends BandsError {
  override readonly name = 'BadData'
  readonly place: FilePosition

  constructor(place: FilePosition, what: Words, options?: ErrorAbout) {
    super('bad_data', sentence`${positionText(place)}: ${what}`, options, place)
    this.place = place
  }
}

/** The store or this machine's disk fails; the message says what to do. */
export class StorageError extends BandsError {
  override readonly name = 'StorageError'
  constructor(words: Words, options?: ErrorAbout) {
    super('storage', words, options)
  }
}

/** A StorageError after which the last write is not in the store. All earlier writes are stored. */
export class NotWritten extends StorageError {}

/** The written file was deleted, moved or replaced in the meantime. */
export class FileLost extends StorageError {}

/** Another process holds the store's writer lock; try later. */
export class Busy extends BandsError {
  override readonly name = 'Busy'
  constructor(words: Words, options?: ErrorAbout) {
    super('busy', words, options)
  }
}

/** Only the writer lock is missing, so that waiting for it helps. */
export class WriterBusy extends Busy {}

/** `file:line:column`, as far as known. */
function positionText(place: FilePosition): string {
  const { file, line, column } = place
  return [file, line, column].filter(part => part !== undefined).join(':')
}

/**
 * A number with thousands separators, the same in every locale. Implemented here, because the first number that `Intl`
 * formats costs a command 12 ms and 8 MB.
 */
export function numberText(number: number): string {
  const [integer, ...decimals] = String(number).split('.')
  const isPlain = /^-?\d+$/.test(integer!) && (decimals[0]?.length ?? 0) <= 3 && !Object.is(number, -0)
  if (!isPlain) return number.toLocaleString('en-US')
  return [integer!.replace(/\B(?=(?:\d{3})+$)/g, ','), ...decimals].join('.')
}

/** `1 row`, `2 rows`, `1,259 rows`. */
export function counted(number: number, thing: string, things = `${thing}s`): string {
  return `${numberText(number)} ${number === 1 ? thing : things}`
}

/** A value for a message: quoted, printable, shortened when long. */
export function quoted(text: string): string {
  const signs = [...text]
  const cut = signs.length > 40 ? `${signs.slice(0, 40).join('')}…` : text
  return printable(JSON.stringify(cut))
}

/**
 * Foreign text for a terminal. Control characters, bidirectional controls and line separators are escaped as in JSON,
 * so a terminal cannot obey them. Line feeds remain.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

export function describeValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  return quoted(jsonOrText(value)).slice(1, -1).replaceAll('\\"', '"')
}

/** A value without JSON, such as NaN or a cyclic list, as text or by its kind. */
function jsonOrText(value: unknown): string {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return typeof value === 'bigint' ? String(value) : Object.prototype.toString.call(value)
  }
}

/** A tier in a sentence. */
export const title = (tier: string): string => tier.charAt(0).toUpperCase() + tier.slice(1)

// Errors of an HTTP service, on both sides of the connection.

/** A key that is missing, unknown, expired or revoked: the error does not say which, so strangers learn nothing. */
export class Unauthorized extends BandsError {
  override readonly name = 'Unauthorized'
  constructor(words: Words = 'Missing or invalid Bearer token.', options?: ErrorAbout) {
    super('unauthorized', words, options)
  }
}

/** The credits of the day or the hour are used up; `reset` is the time of the next ones. */
export class RateLimited extends BandsError {
  override readonly name = 'RateLimited'
  /** UTC, as 2026-03-24T00:00:00Z; null where a server did not say. */
  readonly reset: string | null
  /** Where a higher tier is available; null where unknown. */
  readonly upgradeUrl: string | null

  constructor(words: Words, reset: string | null, upgradeUrl: string | null = null) {
    super('rate_limit_exceeded', words, {}, { reset, upgrade_url: upgradeUrl })
    this.reset = reset
    this.upgradeUrl = upgradeUrl
  }
}

/** An existing path, requested with an unsupported method. */
export class MethodNotAllowed extends BandsError {
  override readonly name = 'MethodNotAllowed'
  readonly allow: readonly string[]

  constructor(method: string, path: string, allow: readonly string[]) {
    super('method_not_allowed', `${path} does not answer ${method}; allowed: ${allow.join(', ')}.`, {}, { allow })
    this.allow = allow
  }
}

/** A server that cannot answer now: its store is unreadable, or it is shutting down. */
export class Unavailable extends BandsError {
  override readonly name = 'Unavailable'
  constructor(words: Words, options?: ErrorAbout) {
    super('data_unavailable', words, options)
  }
}

/** A remote server that is unreachable, too slow, or answers in an unexpected way. */
export class Upstream extends BandsError {
  override readonly name = 'Upstream'
  readonly url: string
  /** The HTTP status, if there was an answer. */
  readonly status: number | null

  constructor(words: Words, url: string, status: number | null = null, options?: ErrorAbout) {
    super('upstream', words, options, { url, ...(status !== null && { status }) })
    this.url = url
    this.status = status
  }
}

/**
 * The nearest allowed words to a mistyped one, best first: within two edits (one for up to four letters),
 * case-insensitive. An edit is a letter missing, added, changed, or swapped with its neighbour (optimal string
 * alignment).
 */
export function suggest(word: string, allowed: readonly string[], most = 3): string[] {
  const typed = word.toLowerCase()
  const reach = typed.length <= 4 ? 1 : 2
  return wordsToCompare(typed, allowed)
    .map(candidate => ({ candidate, edits: editsBetween(typed, candidate.toLowerCase(), reach) }))
    .filter(({ edits }) => edits <= reach)
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate)
}

/** The words to compare with a mistyped one: all, or of too many those with the same first letter, up to a limit. */
function wordsToCompare(typed: string, allowed: readonly string[]): readonly string[] {
  if (allowed.length <= MAX_COMPARED) return allowed
  return allowed.filter(word => word.charAt(0).toLowerCase() === typed.charAt(0)).slice(0, MAX_COMPARED)
}

/** The most words to compare, which takes a few milliseconds. */
const MAX_COMPARED = 5_000

/** ` Did you mean "oversold"?`, or nothing. */
export function didYouMean(suggestions: readonly string[]): string {
  if (suggestions.length === 0) return ''
  return ` Did you mean ${suggestions.map(word => `"${word}"`).join(' or ')}?`
}

/** The number of edits that turn `a` into `b`, exact only up to `reach`. */
function editsBetween(a: string, b: string, reach: number): number {
  if (Math.abs(a.length - b.length) > reach) return reach + 1
  // row[j] is the number of edits from the first i letters of `a` to the first j letters of `b`.
  let rowBeforePrevious: number[] = []
  let previousRow = Array.from({ length: b.length + 1 }, (_, j) => j)
  let leastOfPrevious = 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      row[j] = Math.min(previousRow[j]! + 1, row[j - 1]! + 1, previousRow[j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, rowBeforePrevious[j - 2]! + 1)
      least = Math.min(least, row[j]!)
    }
    // Later rows depend only on the last two, so the number can only grow.
    if (least > reach && leastOfPrevious > reach) return least
    leastOfPrevious = least
    rowBeforePrevious = previousRow
    previousRow = row
  }
  return previousRow[b.length]!
}
