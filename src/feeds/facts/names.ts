import { FACT_COLUMNS, FACT_KINDS } from '../../model/facts.js'

/** A name of a column without case, blanks and signs. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

const NAMES = new Set(FACT_KINDS.flatMap(kind => FACT_COLUMNS[kind].map(column => plainName(column.name))))

/** Whether a name is that of a column of facts in the project's own form. */
export function isFactName(name: string): boolean {
  return NAMES.has(plainName(name))
}
