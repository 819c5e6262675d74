import { createReadStream } from 'node:fs'
import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { applyEdits, getNodeValue, modify, type Node, type ParseError, parseTree } from 'jsonc-parser'
import { ConfigError, didYouMean, InvalidParameter, quoted, suggest } from '../../core/errors.js'
import type { Tier } from '../../core/model/terms.js'
import { listKind } from '../../core/params/figures.js'
import { TICKER } from '../../core/params/kinds.js'
import {
  type Kind,
  optional,
  type Parameter,
  plainText,
  readParams,
  type Table,
  type Text,
} from '../../core/params/row.js'
import { COSTS_TEXT } from '../../core/params/short-forms.js'
import { exceededBound, readSmallText, TOO_LONG } from '../../core/params/small-text.js'
import { COSTS } from '../../core/params/strategy.js'
import { refuse, textOf as textValueOf, tierValue } from '../../core/params/values.js'
import { addressOf } from '../remote/address.js'
import { configPath, type SavedSettings, SETTINGS } from './config.js'

const ADDRESS: Kind<string, string> = {
  schema: { type: 'string', format: 'uri' },
  placeholder: 'URL',
  parse: (param, written) => {
    const text = textValueOf(param, written)
    return /^https?:/.test(text) && URL.canParse(text)
      ? text
      : refuse(param, text, 'an address that begins with https://')
  },
}

/** Checks the costs of a backtest, and keeps their text as written. */
const COSTS_AS_TEXT: Kind<string, Text> = {
  schema: COSTS_TEXT.schema,
  placeholder: COSTS_TEXT.placeholder,
  parse: (param, written) => {
    COSTS_TEXT.parse(param, written)
    return plainText(param, written)
  },
}

/** The keys of config.json in addition to profiles. `bands config set` writes, options and variables override them. */
export const CONFIG_KEYS = {
  db: SETTINGS.db,
  tickers: optional(listKind(TICKER, 'TICKERS'), 'the tickers of questions that name none'),
  // The costs of a backtest, unless an option or a strategy file sets them.
  costs: optional(COSTS_AS_TEXT, COSTS.help),
  color: SETTINGS.color,
  progress: SETTINGS.progress,
  threads: SETTINGS.threads,
  upgrade_url: optional(ADDRESS, 'the address of a higher tier, shown when a tier is refused'),
} as const satisfies Table

export type ConfigKey = keyof typeof CONFIG_KEYS

export interface ConfigFile {
  /** The default profile, and its position in the file. */
  profile: { name: string; position: string } | null
  profiles: ReadonlyMap<string, Profile>
  saved: SavedSettings
}

export interface Profile {
  name: string
  url: string
  /** The tier of its key, as reported at the login. */
  tier: Tier | null
  /** `…/config.json:3` */
  position: string
}

/** Reads config.json, with comments; empty if there is no file. Throws ConfigError with file:line:column. */
export async function readConfigFile(env: NodeJS.ProcessEnv): Promise<ConfigFile> {
  const path = configPath(env)
  const text = await readTextFile(path)
  return text === null || text.trim() === '' ? EMPTY_CONFIG : parseConfig(new JsonSource(path, text))
}

const EMPTY_CONFIG: ConfigFile = { profile: null, profiles: new Map(), saved: { values: {}, positions: {} } }

/** Parses the text of config.json. Throws ConfigError. */
function parseConfig(file: JsonSource): ConfigFile {
  const members = file.membersOf(file.parse(), ['profile', 'profiles', ...Object.keys(CONFIG_KEYS)], 'setting')
  const saved = parseSettings(file, members)
  const profiles = new Map<string, Profile>()
  const profilesNode = members.get('profiles')
  if (profilesNode !== undefined)
    for (const [name, node] of file.membersOf(profilesNode, null, 'profile'))
      profiles.set(name, parseProfile(file, name, node))
  const defaultNode = members.get('profile')
  if (defaultNode === undefined) return { profile: null, profiles, saved }
  const name = file.textAt(defaultNode, 'profile')
  if (!profiles.has(name)) throw file.faultAt(defaultNode, noProfileMessage(name, [...profiles.keys()]))
  return { profile: { name, position: file.lineAt(defaultNode) }, profiles, saved }
}

/** The message for an unknown profile. @param names the profiles that exist */
export function noProfileMessage(name: string, names: readonly string[]): string {
  const namedProfiles = names.length > MAX_NAMED_PROFILES ? [...names.slice(0, MAX_NAMED_PROFILES), '…'] : names
  const known = names.length === 0 ? 'none is set up' : `there are ${namedProfiles.join(', ')}`
  return `there is no profile ${quoted(name)}; ${known}.${didYouMean(suggest(name, names))}`
}

const MAX_NAMED_PROFILES = 24

/**
 * Writes a profile into config.json, which is made if missing; comments and other keys stay. If `tier` is null, its key
 * is removed. Throws ConfigError.
 */
export async function writeProfile(
  env: NodeJS.ProcessEnv,
  { name, url, tier }: Pick<Profile, 'name' | 'url' | 'tier'>,
): Promise<void> {
  await changeConfig(env, [
    [['profiles', name, 'url'], url],
    [['profiles', name, 'tier'], tier ?? undefined],
  ])
}

/** Writes settings to config.json; undefined removes one. Throws InvalidParameter; ConfigError for a broken file. */
export async function saveSettings(env: NodeJS.ProcessEnv, written: Readonly<Record<string, unknown>>): Promise<void> {
  const parsed: Record<string, unknown> = readParams(CONFIG_KEYS, written)
  const edits = Object.keys(written).map(
    (name): Edit => [[name], written[name] === undefined ? undefined : parsed[name]],
  )
  await changeConfig(env, edits)
}

/** The new value of a key; undefined removes the key. */
type Edit = readonly [path: string[], value: unknown]

const EDIT_STYLE = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } }

/** Applies edits to config.json, which is made if missing; comments and other keys stay. Throws ConfigError. */
async function changeConfig(env: NodeJS.ProcessEnv, edits: readonly Edit[]): Promise<void> {
  const path = configPath(env)
  await changeFile(path, before => {
    let text = before?.trim() ? before : '{}'
    // Throws for a broken file, which its author has to repair.
    parseConfig(new JsonSource(path, text))
    for (const [keyPath, value] of edits) text = applyEdits(text, modify(text, keyPath, value, EDIT_STYLE))
    return text.endsWith('\n') ? text : `${text}\n`
  })
}

/** The settings in the members of config.json, each parsed by its row of CONFIG_KEYS. Throws ConfigError. */
function parseSettings(file: JsonSource, members: ReadonlyMap<string, Node>): SavedSettings {
  const values: Record<string, unknown> = {}
  const positions: Record<string, string> = {}
  for (const [name, row] of Object.entries<Parameter>(CONFIG_KEYS)) {
    const node = members.get(name)
    if (node === undefined) continue
    values[name] = file.withPosition(node, () => readParams({ [name]: row }, { [name]: getNodeValue(node) }))[name]
    if (name === 'db' && !isAbsolute(String(values.db)))
      throw file.faultAt(node, 'db should be a whole path, from the root on: a run may begin in any folder.')
    positions[name] = file.lineAt(node)
  }
  return { values, positions }
}

/** Parses one member of `profiles`. Throws ConfigError. */
function parseProfile(file: JsonSource, name: string, node: Node): Profile {
  if (!NAME.test(name)) throw file.faultAt(node, `${quoted(name)} cannot be the name of a profile: ${NAME_SHAPE}.`)
  const members = file.membersOf(node, ['url', 'tier'], 'setting of a profile')
  const urlNode = members.get('url')
  if (urlNode === undefined) throw file.faultAt(node, `profile ${quoted(name)} has no url.`)
  const url = file.textAt(urlNode, 'url')
  // Throws for an invalid address.
  file.withPosition(urlNode, () => addressOf(url, { allowPlainHttp: true }))
  const tierNode = members.get('tier')
  const tier =
    tierNode === undefined ? null : file.withPosition(tierNode, () => tierValue('tier', file.textAt(tierNode, 'tier')))
  return { name, url, tier, position: file.lineAt(urlNode) }
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const NAME_SHAPE = 'letters, digits, _ . and -, at most 64'

/** Returns a typed name of a profile unchanged. Throws InvalidParameter for one that is not allowed. */
export function profileName(text: string): string {
  if (NAME.test(text)) return text
  const offence = { param: 'profile', value: text, allowed: NAME_SHAPE }
  throw new InvalidParameter(`profile ${quoted(text)} is not ${NAME_SHAPE}.`, offence)
}

/** JSON with comments that can report the position of its values. */
class JsonSource {
  readonly #path: string
  readonly #text: string
  /** The offset of the last lookup, and its line. */
  #lastFound = { offset: 0, line: 1 }

  constructor(path: string, text: string) {
    this.#path = path
    this.#text = text
  }

  /** The root of the document. Throws ConfigError at the first error. */
  parse(): Node {
    const exceeded = exceededBound(this.#text)
    if (exceeded !== null) throw this.faultAt(exceeded, `${exceeded.what}.`)
    const errors: ParseError[] = []
    const root = parseTree(this.#text, errors, { allowTrailingComma: true })
    const [firstError = { offset: 0 }] = errors
    if (errors.length === 0 && root !== undefined) return root
    const [badText = ''] = this.#text.slice(firstError.offset, firstError.offset + 20).split('\n')
    throw this.faultAt(
      firstError,
      badText === '' ? 'the JSON ends here, unfinished.' : `JSON does not allow ${quoted(badText)} here.`,
    )
  }

  /** The members of an object by name. Throws ConfigError for a name that is there twice or not allowed. */
  membersOf(node: Node, allowed: readonly string[] | null, what: string): Map<string, Node> {
    if (node.type !== 'object') throw this.faultAt(node, 'here should be an object: { … }.')
    const members = new Map<string, Node>()
    for (const { children } of node.children ?? []) {
      const [key, value] = children as [Node, Node]
      const name = String(key.value)
      if (members.has(name)) throw this.faultAt(key, `${what} ${quoted(name)} is there twice.`)
      if (allowed !== null && !allowed.includes(name)) {
        const message = `there is no ${what} ${quoted(name)}; allowed are ${allowed.join(', ')}.`
        throw this.faultAt(key, message + didYouMean(suggest(name, allowed)))
      }
      members.set(name, value)
    }
    return members
  }

  /** The text of a node. Throws ConfigError if it is not a text. @param what the node as the message calls it */
  textAt(node: Node, what: string): string {
    if (node.type === 'string') return String(node.value)
    throw this.faultAt(node, `${what} should be a text in quotes.`)
  }

  /** Runs a parser of a node's value. An InvalidParameter becomes a ConfigError with the position of the node. */
  withPosition<Value>(node: Node, parseValue: () => Value): Value {
    try {
      return parseValue()
    } catch (error) {
      throw error instanceof InvalidParameter ? this.faultAt(node, error.message) : error
    }
  }

  /** An error with `file:line:column`. */
  faultAt({ offset }: { offset: number }, what: string): ConfigError {
    const column = offset - this.#text.lastIndexOf('\n', offset - 1)
    return new ConfigError(`${this.lineAt({ offset })}:${column}: ${what}`)
  }

  /** The path with the line of an offset: `…/config.json:3` */
  lineAt({ offset }: { offset: number }): string {
    // Positions are usually looked up in ascending order, so only the text since the last one is scanned.
    if (offset < this.#lastFound.offset) this.#lastFound = { offset: 0, line: 1 }
    const { offset: lastOffset, line: lastLine } = this.#lastFound
    const line = lastLine + this.#text.slice(lastOffset, offset).split('\n').length - 1
    this.#lastFound = { offset, line }
    return `${this.#path}:${line}`
  }
}

/** The text of a configuration file; null if there is none. Throws ConfigError. */
export async function readTextFile(path: string): Promise<string | null> {
  try {
    const text = await readSmallText(createReadStream(path))
    // Editors of Windows begin a file with a mark of its byte order.
    if (text !== null) return text.replace(/^\ufeff/, '')
    throw new ConfigError(`${path}: ${TOO_LONG}.`)
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ConfigError(`cannot read ${path}: ${(cause as Error).message}.`, { cause })
  }
}

/** Replaces a whole file, readable only by its owner; a link stays. @param change gets null without a file */
export async function changeFile(path: string, change: (text: string | null) => string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const target = await realpath(path).catch(() => path)
    const text = change(await readTextFile(target))
    const partial = `${target}.${process.pid}.new`
    try {
      await writeFile(partial, text, { mode: 0o600, flush: true })
      await rename(partial, target)
    } catch (error) {
      await rm(partial, { force: true })
      throw error
    }
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`cannot write ${path}: ${(cause as Error).message}.`, { cause })
  }
}
