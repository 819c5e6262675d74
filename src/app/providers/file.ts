import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { BadData, didYouMean, NotFound, quoted, remedy, StorageError, suggest } from '../../core/errors.js'
import { parseDay } from '../../core/model/day.js'
import { isMapping } from '../../core/params/arguments.js'
import { readYaml } from '../../core/params/strategy-file.js'
import { addressOf } from '../remote/address.js'
import { BUILT_IN_PROVIDERS, type Provider } from './provider.js'

/** Reads the vendors of `providers.yaml`, which add to the built-in ones. */

const PROVIDER_NAME = /^[a-z][a-z0-9_-]{0,29}$/
const EXAMPLE_PATH = '/time_series?symbol={symbol}&start_date={from}&end_date={to}'

// Schemas of values. @param what the allowed value, as the error names it
const text = (what: string) => z.string(`it is ${what}`).min(1, `it is ${what}`)
const number = (what: string) => z.number(`it is ${what}`).int(`it is ${what}`).positive(`it is ${what}`)
const pair = (what: string) => z.tuple([text(what), text(what)], `it is ${what}`)

/** The keys of a row. The path of an issue is also its path in the file. */
const ROW_SHAPE = z.strictObject({
  like: text('the name of another vendor, whose row it begins with').optional(),
  about: text('a sentence about the data').default('a vendor of your own'),
  terms: text('a sentence about what the vendor allows').default('See the terms of the vendor.'),
  terms_url: text('an address').default(''),
  needs: z.enum(['nothing', 'key', 'id:secret', 'contact'], 'it is nothing, key, id:secret or contact').default('key'),
  key_url: text('an address').optional(),
  base: text('scheme and host: https://api.example.com'),
  path: text(`a path such as ${EXAMPLE_PATH}`)
    .startsWith('/', 'it begins with /')
    .refine(path => /\{symbols?\}/.test(path), 'it has {symbol}, or {symbols} for several in a call'),
  headers: z.record(z.string(), text('a text'), 'it is a mapping of headers').default({}),
  pace: z
    .tuple([number('[calls, seconds]'), number('[calls, seconds]')], 'it is [calls, seconds], such as [8, 60]')
    .default([1, 1]),
  symbols: number('a number of tickers').default(1),
  days: number('a number of days').optional(),
  bars: number('a number of bars').optional(),
  first: text('a day as YYYY-MM-DD')
    .refine(day => parseDay(day) !== null, 'it is a day as YYYY-MM-DD')
    .default('1960-01-01'),
  holds: z.enum(['bars', 'facts'], 'it is bars or facts').default('bars'),
  prices: z.enum(['raw', 'adjusted'], 'it is raw or adjusted'),
  class_mark: text('the mark before a class of shares, such as -').optional(),
  suffix: text('what follows a symbol, such as .US').optional(),
  next: pair('[key of the answer, parameter]').optional(),
  refusal: z.strictObject({ status: text('a key'), message: text('a key') }, 'it has status and message').optional(),
  reset: text('the name of a header').optional(),
  final: z
    .strictObject(
      {
        zone: text('a time zone such as America/New_York').refine(isZone, 'it is a time zone such as America/New_York'),
        hour: z.number('it is an hour from 1 to 24').int().min(1, 'it is an hour from 1 to 24').max(24),
      },
      'it is a mapping of zone and hour',
    )
    .default({ zone: 'UTC', hour: 24 }),
  market: text('a path with {day}').optional(),
  numbers: z
    .strictObject(
      {
        url: text('an address'),
        ticker: text('a key'),
        number: text('a key'),
        digits: number('a number of digits').default(1),
      },
      'it is a mapping of url, ticker, number and digits',
    )
    .optional(),
})

/** Whether this program knows a time zone of that name. */
function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/**
 * Parses the vendors in a text of YAML. A row with `like` begins with the properties of that built-in vendor. Throws
 * BadData at file:line:column.
 * @param file the name of the text in errors
 */
export function parseProviders(source: string, file: string): Provider[] {
  const { value, placeOf } = readYaml(source, file)
  if (value == null) return []
  if (!isMapping(value)) throw new BadData({ file, line: 1, column: 1 }, 'it is a mapping of names to vendors')
  return Object.entries(value).map(([name, row]) => {
    const fault = (path: readonly PropertyKey[], what: string, part: 'key' | 'value' = 'value'): BadData =>
      new BadData(placeOf([name, ...path], part), what)
    if (!PROVIDER_NAME.test(name))
      throw fault([], `${quoted(name)} is no name of a vendor: small letters, digits, _ and -, a letter first`, 'key')
    if (!isMapping(row)) throw fault([], `${name} is a mapping that has at least base, path and prices`)
    const parsed = ROW_SHAPE.safeParse({ ...baseRow(row, fault), ...row })
    if (!parsed.success) {
      const { issues } = parsed.error
      // A misspelt key first, because the intended key is then missing, too.
      const misspeltKey = issues.find(({ code }) => code === 'unrecognized_keys')
      throw rowFault(name, misspeltKey ?? issues[0]!, row, fault)
    }
    const { like: _, ...properties } = parsed.data
    const provider = { name, ...properties } as Provider
    refuseWrongAddress(provider, fault)
    return provider
  })
}

type FaultAt = (path: readonly PropertyKey[], what: string, part?: 'key' | 'value') => BadData

/** The row of the built-in vendor that `like` names, without its name; empty without `like`. */
function baseRow({ like, base }: Record<string, unknown>, fault: FaultAt): Partial<Provider> {
  if (like === undefined) return {}
  const builtIn = BUILT_IN_PROVIDERS.find(({ name }) => name === like)
  const names = BUILT_IN_PROVIDERS.map(({ name }) => name)
  if (builtIn === undefined) throw fault(['like'], `like ${quoted(String(like))} is none of ${names.join(', ')}`)
  const { name: _, numbers, ...rest } = builtIn
  // `numbers` is a list of tickers at the vendor's own address, and not at another `base`.
  return base === undefined && numbers !== undefined ? { ...rest, numbers } : rest
}

/** The error for the row of a vendor: a misspelt key, a missing one, or a wrong value. @param fault makes an error */
function rowFault(name: string, issue: z.core.$ZodIssue, row: object, fault: FaultAt): BadData {
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys
    const known = Object.keys(ROW_SHAPE.shape)
    const advice = `${didYouMean(suggest(key, known))} It may have ${known.join(', ')}`
    return fault([...issue.path, key], `there is no key ${quoted(key)} in a vendor.${advice}`, 'key')
  }
  const [key = ''] = issue.path
  if (!(String(key) in row)) return fault([], `${name} lacks ${String(key)}: ${issue.message}`, 'key')
  return fault(issue.path, `${issue.path.join('.')}: ${issue.message}`)
}

/** Throws BadData for an address, placeholder or `needs` that would send a key to the wrong place, or not at all. */
function refuseWrongAddress({ base, path, headers, needs, numbers }: Provider, fault: FaultAt): void {
  let origin: string
  try {
    origin = addressOf(base).origin
    if (new URL(base).pathname !== '/')
      throw new Error(`it is scheme and host; ${base.slice(origin.length)} begins path`)
  } catch (error) {
    throw fault(['base'], `base: ${(error as Error).message.replace(/\.$/, '')}`)
  }
  // `numbers` is a list of tickers, fetched with the same headers. A contact, sent as {key}, is no secret.
  if (numbers !== undefined && needs !== 'contact' && !numbers.url.startsWith(`${origin}/`))
    throw fault(['numbers', 'url'], `numbers.url: it begins with ${origin}/, because a key is sent only there`)
  const texts = [path, ...Object.values(headers)]
  const placeholders = texts.flatMap(text => [...text.matchAll(/\{(\w+)\}/g)].map(([, placeholder]) => placeholder!))
  const unknown = placeholders.find(placeholder => !PLACEHOLDERS.includes(placeholder))
  if (unknown !== undefined) throw fault(['path'], `there is no {${unknown}}; a row has {${PLACEHOLDERS.join('}, {')}}`)
  const sendsKey = placeholders.some(placeholder => ['key', 'id', 'secret'].includes(placeholder))
  if (sendsKey && needs === 'nothing') throw fault(['needs'], 'needs is nothing, and a header or the path has a key')
  if (!sendsKey && needs !== 'nothing') throw fault(['needs'], `needs is ${needs}, and no header or path has {key}`)
}

const PLACEHOLDERS = ['symbol', 'symbols', 'from', 'to', 'key', 'id', 'secret']

/** Reads the vendors of a file. Throws NotFound, StorageError, BadData. */
export async function readProviders(file: string): Promise<Provider[]> {
  if (!existsSync(file)) throw new NotFound(`there is no file ${file}.`, [], { missing: { kind: 'file', name: file } })
  const source = await readFile(file, 'utf8').catch(cause => {
    throw new StorageError(`cannot read ${file}: ${(cause as Error).message}`, { cause })
  })
  return parseProviders(source, file)
}

/** The user's own vendors; none without the file. */
export async function ownProviders(file: string | null): Promise<Provider[]> {
  return file === null || !existsSync(file) ? [] : readProviders(file)
}

/** All vendors: the built-in ones, then the user's own, which replace a built-in one of the same name. */
export async function allProviders(file: string | null): Promise<Provider[]> {
  const own = await ownProviders(file)
  const ownNames = own.map(provider => provider.name)
  return [...BUILT_IN_PROVIDERS.filter(({ name }) => !ownNames.includes(name)), ...own]
}

/** The vendor of that name. Throws NotFound with the nearest name. */
export function providerNamed(name: string, providers: readonly Provider[]): Provider {
  const provider = providers.find(other => other.name === name)
  if (provider !== undefined) return provider
  const names = providers.map(other => other.name)
  throw new NotFound(`there is no vendor ${quoted(name)}; there are ${names.join(', ')}.`, suggest(name, names), {
    missing: { kind: 'provider', name },
    remedy: remedy('providers'),
  })
}
