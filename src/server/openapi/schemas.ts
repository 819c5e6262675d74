import { DEFINITIONS } from '../../model/definitions.js'
import { PERFORMANCES, STABILITIES } from '../../model/record.js'
import { TIER_NAMES } from '../../model/tier.js'
import { EVENTS, type Kind, OVERSOLD } from '../../query/parameters.js'
import type { ErrorShape } from '../../wire/error-body.js'
import { schemaName, wireSchemas } from '../../wire/json-schemas.js'
import { type Reference, SCHEMAS_AT, type Schema, schemaRef } from './document.js'
import { withMeanings } from './keys.js'

/** Every schema of the document by its name: the values of parameters, and the bodies of answers made of the same words. */
export function schemas(shape: ErrorShape): Record<string, Schema> {
  const bodies = Object.entries(wireSchemas(shape, SCHEMAS_AT)).map(([name, schema]) => [
    name,
    withMeanings(name, inWords(schema)),
  ])
  const words = Object.entries(WORDS).map(([name, schema]) => [name, told(name, schema)])
  return Object.fromEntries([...bodies, ...words])
}

/** Where the schema of a kind of parameter lies. */
export function kindRef(kind: Kind<unknown>): Reference {
  return schemaRef(NAMES.get(JSON.stringify(kind.schema))!)
}

/** Schemas that are named otherwise than after the first parameter of their kind. */
const RENAMED: Readonly<Record<string, string>> = { before: 'Date', min_severity: 'Severity', sort_by: 'OversoldOrder' }

const WORDS: Readonly<Record<string, Schema>> = {
  ...kindSchemas(),
  Tier: { type: 'string', enum: TIER_NAMES },
  Stability: { type: 'string', enum: STABILITIES },
  Performance: { type: 'string', enum: PERFORMANCES },
}
const NAMES = new Map(Object.entries(WORDS).map(([name, schema]) => [JSON.stringify(schema), name]))

const ABOUT: Readonly<Record<string, string>> = {
  Ticker: 'Letters in either case; answers have them in upper case.',
  Sector: 'Neither blank nor with control characters.',
  Field: 'Which of them a tier may ask for, and which bands they have, is listed with the fields.',
  Band: 'Which of them a field has is listed with the fields.',
  Date: 'A calendar date, as 2024-02-29.',
  Performance: `How a return ranked among those of the same ticker over as many bars: ${percentilesInWords()}.`,
}

function kindSchemas(): Record<string, Schema> {
  const found = new Set<string>()
  const words: Record<string, Schema> = {}
  for (const [param, { kind }] of [...Object.entries(EVENTS), ...Object.entries(OVERSOLD)]) {
    const text = JSON.stringify(kind.schema)
    if (!found.has(text)) words[RENAMED[param] ?? schemaName(param)] = kind.schema
    found.add(text)
  }
  return words
}

function told(name: string, schema: Schema): Schema {
  const description = ABOUT[name]
  return description === undefined ? schema : { ...schema, description }
}

function percentilesInWords(): string {
  const edges = [0, ...DEFINITIONS.performance.cuts, 100]
  return PERFORMANCES.map((name, i) => `${name} from ${edges[i]} to ${edges[i + 1]} %`).join(', ')
}

/** The schema with a reference wherever it spells out words that have a name; what it says of them stays. */
function inWords(schema: object): Schema {
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, partInWords(part)]))
}

function partInWords(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(partInWords)
  if (typeof part !== 'object' || part === null) return part
  const { description, ...words } = part as Schema
  const name = NAMES.get(JSON.stringify(words))
  if (name === undefined) return inWords(part)
  return description === undefined ? schemaRef(name) : { ...schemaRef(name), description }
}
