import type { Parameter } from '../../query/parameters.js'
import type { ParameterObject } from './document.js'
import { kindRef } from './schemas.js'
import { fieldsInWords } from './tiers.js'

/** The query parameters of a table, in its order. */
export function parametersIn(table: Readonly<Record<string, Parameter>>): ParameterObject[] {
  return Object.entries(table).map(([name, { kind, about, required, fallback }]) => ({
    name,
    in: 'query',
    description: name === 'field' ? `${about} ${fieldsInWords()}.` : about,
    ...(required && { required }),
    schema: { ...kindRef(kind), ...(fallback !== undefined && { default: fallback }) },
  }))
}
