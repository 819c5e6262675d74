import { InvalidParameter } from '../errors.js'
import { FACT_COLUMNS, type FactColumn, type FactKind, type FactRecord, type FactRecords } from '../model/facts.js'

/**
 * A record as it is kept: its columns in their order and nothing else, so that the same record is the same however its
 * giver writes it. Throws InvalidParameter for a value that a column cannot hold: readers have refused those with their
 * place, but records also come from programs.
 */
export function checkedRecord<Kind extends FactKind>(kind: Kind, ticker: string, given: FactRecords[Kind]): FactRecord {
  const values = given as unknown as Readonly<Record<string, unknown>>
  const columns = FACT_COLUMNS[kind].filter(({ name, rare }) => rare !== true || values[name] != null)
  return Object.fromEntries(
    columns.map(column => [column.name, checked(column, values[column.name], `${kind} of ${ticker}`)]),
  ) as unknown as FactRecord
}

function checked(column: FactColumn, value: unknown, where: string): unknown {
  const { name, holds, required } = column
  if (value === undefined || value === null) {
    if (required !== true) return holds === 'basis' ? 'bars' : null
    throw refusal(where, name, value, 'a value, which every record needs')
  }
  const { holds: fits, allowed } = RULES[holds]
  if (!fits(value)) throw refusal(where, name, value, allowed)
  // There is one zero: the other would not come back from the store as it was.
  return typeof value === 'number' ? value + 0 : value
}

function refusal(where: string, param: string, value: unknown, allowed: string): InvalidParameter {
  return new InvalidParameter(`${where}: ${param} ${String(value)} is not ${allowed}.`, { param, value, allowed })
}

type Rule = { holds(value: unknown): boolean; allowed: string }

const RULES: Readonly<Record<FactColumn['holds'], Rule>> = {
  date: { holds: value => Number.isInteger(value), allowed: 'a day, counted from 1970-01-01' },
  session: word('pre', 'post'),
  number: { holds: Number.isFinite, allowed: 'a finite number' },
  amount: number(value => value >= 0, 'a finite number from 0 on'),
  count: number(value => value >= 0 && Number.isInteger(value), 'a whole number from 0 on'),
  positive: number(value => value > 0, 'a finite number above 0'),
  return: number(value => value >= -1, 'a finite number from -1 on'),
  text: { holds: value => typeof value === 'string' && value !== '', allowed: 'text' },
  side: word('buy', 'sell'),
  basis: word('bars', 'filed'),
  asset_class: word('stock', 'crypto', 'etf'),
}

function number(fits: (value: number) => boolean, allowed: string): Rule {
  return { holds: value => typeof value === 'number' && Number.isFinite(value) && fits(value), allowed }
}

function word(...words: readonly string[]): Rule {
  return { holds: value => words.includes(value as string), allowed: words.join(' or ') }
}
