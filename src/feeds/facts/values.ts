import type { Day } from '../../model/day.js'
import type { FactValue, Report, Session } from '../../model/facts.js'
import type { AssetClass } from '../../model/series.js'
import type { DateReader } from '../value/dates.js'
import { dateReason } from '../value/judge.js'
import { type Decimal, readNumber } from '../value/numbers.js'
import { shown } from '../value/shown.js'

/** What each kind of value is, once it is read. */
export interface FactValues {
  date: Day
  session: Exclude<Session, null>
  number: number
  count: number
  positive: number
  amount: number
  return: number
  text: string
  side: 'buy' | 'sell'
  basis: Report['basis']
  asset_class: AssetClass
}

/** A field that is not empty, and how its file is to be read. */
export interface Cell {
  /** The name of its column, to be told when it cannot be read. */
  name: string
  text: string
  /** Those of a column of dates. */
  dates: DateReader | undefined
  decimal: Decimal
}

/** What is wrong with a row, and in which of its fields: by the name of the column, or by number where it has none. */
export class BadCell extends Error {
  readonly column: string | number

  constructor(column: string | number, reason: string) {
    super(reason)
    this.column = column
  }
}

/** The value of a field that is not empty; throws BadCell when it is none of its kind. */
export function readValue<Holds extends FactValue>(holds: Holds, cell: Cell): FactValues[Holds] {
  return READERS[holds](cell)
}

/** What people write for a session that nobody knows. */
export function isUnknown(holds: FactValue, text: string): boolean {
  return holds === 'session' && /^(unknown|unspecified|-)$/i.test(text.trim())
}

const SESSIONS = { pre: 'pre', bmo: 'pre', before: 'pre', post: 'post', amc: 'post', after: 'post' } as const
const SIDES = { buy: 'buy', purchase: 'buy', sell: 'sell', sale: 'sell' } as const
const BASES = { bars: 'bars', filed: 'filed' } as const
const ASSET_CLASSES = { stock: 'stock', crypto: 'crypto', etf: 'etf' } as const

const READERS: { readonly [Holds in FactValue]: (cell: Cell) => FactValues[Holds] } = {
  date: cell => {
    const dates = cell.dates!
    return dates.read(cell.text) ?? refuse(cell, dateReason(cell.name, cell.text, dates.format))
  },
  session: word(SESSIONS, 'pre or post (or bmo, before, amc, after), or empty where it is unknown'),
  number,
  count: cell => {
    const value = number(cell)
    return Number.isInteger(value) && value >= 0 ? value : refuse(cell, told(cell, 'is not a whole number, 0 or more'))
  },
  positive: cell => {
    const value = number(cell)
    return value > 0 ? value : refuse(cell, told(cell, 'is not above 0'))
  },
  amount: cell => {
    const value = number(cell)
    return value >= 0 ? value : refuse(cell, told(cell, 'is below 0; it is money paid or received, side tells which'))
  },
  return: cell => {
    const value = number(cell)
    return value >= -1 ? value : refuse(cell, told(cell, 'is below -1; it is a fraction, and -1 is a total loss'))
  },
  // A line break inside a name would break every table that it stands in.
  text: cell => cell.text.replace(/\s+/g, ' ').trim(),
  side: word(SIDES, 'buy or sell (or purchase, sale)'),
  basis: word(BASES, 'bars or filed'),
  asset_class: word(ASSET_CLASSES, 'stock, crypto or etf'),
}

/** A finite number; one below the least double is 0 to it, as to JavaScript. */
function number(cell: Cell): number {
  const value = readNumber(cell.text, cell.decimal)
  if (Number.isNaN(value)) return refuse(cell, told(cell, 'is no number; it may be written as 1234.5 or 1.2345e3'))
  return Number.isFinite(value) ? value + 0 : refuse(cell, told(cell, 'is too large for a number'))
}

function word<Meaning extends string>(words: Readonly<Record<string, Meaning>>, allowed: string) {
  return (cell: Cell): Meaning => {
    const said = cell.text.toLowerCase()
    return Object.hasOwn(words, said) ? words[said]! : refuse(cell, told(cell, `is not ${allowed}`))
  }
}

function told({ name, text }: Cell, what: string): string {
  return `${name} ${shown(text)} ${what}`
}

function refuse({ name }: Cell, reason: string): never {
  throw new BadCell(name, reason)
}
