import type { FieldSet } from '../fields/index.js'
import { isRuled } from '../language/as-field.js'
import { readRank } from '../language/rank.js'
import { fieldRead } from '../params/values.js'

/** What an answer says of a user's own fields. */
export interface OwnFields {
  /** The hash of each definition that it stands on, by the name of the field; absent where there are none. */
  own_fields?: Record<string, string>
}

/** The keys by which answers name a field, or a condition in its place. */
const NAMING = ['field', 'when', 'condition']

/** The definitions that an answer stands on: of the fields that it names, and of those below them; null without any. */
export function definitionsIn(answer: object, fields: FieldSet): Record<string, string> | null {
  if (fields.all.every(({ hash }) => hash === undefined)) return null
  const used = new Map<string, string>()
  for (const name of namesIn(answer)) addTo(used, name, fields)
  return used.size === 0 ? null : Object.fromEntries(used)
}

function addTo(used: Map<string, string>, name: string, fields: FieldSet): void {
  const field = fieldRead(name, fields)
  if (field === undefined || used.has(name)) return
  if (field.hash !== undefined) used.set(name, field.hash)
  if (isRuled(field)) for (const subject of field.subjects) addTo(used, subject.field, fields)
}

/** What ranks signals may be an expression as well; a minus before it is no part of the name. */
function addRanking(names: Set<string>, rank: string): void {
  const { of } = readRank(rank)
  if (of.is === 'field') names.add(of.field)
}

/** Every name in a document, each once: of a whole market there are rows and rows of the same. */
function namesIn(document: object): Set<string> {
  const names = new Set<string>()
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (NAMING.includes(key) || key === 'fields') names.add(value)
      else if (key === 'rank') addRanking(names, value)
    } else if (Array.isArray(value)) for (const one of value) walk(one, key)
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) walk(inner, name)
  }
  walk(document, '')
  return names
}
