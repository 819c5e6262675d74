import {
  BadData,
  counted,
  parameter,
  quoted,
  sentence,
  typedLineWith,
  type Words,
  wordsAsText,
} from '../../core/errors.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../core/model/facts.js'
import { isMapping } from '../../core/params/arguments.js'
import type { Rejected, Remark } from './feed.js'
import { type Layout, missingBarRoles } from './layout.js'
import { type Decimal, guessDateFormat, guessDecimal, isNullWord, readNumber } from './values.js'

const IMPORT_INSTEAD = `import the company facts of the SEC, or ${describeOwnTable('reports')}`

/** Names that only tables of facts have: earnings, ratings, filings, ratios. */
const FACT_NAMES =
  /eps|revenue|fiscal|income|filed|filer|insider|grade|rating|analyst|marketcap|enterpriseval|peratio|strongbuy|surprise|sector/i

/** The error for a table that is neither daily bars nor facts of a known layout: says what it looks like. */
export function unknownLayoutError(file: string, line: number, layout: Layout, samples: readonly string[][]): BadData {
  const columnsShown = `its columns are ${shownNames(layout.names)}`
  const missing = missingBarRoles(layout.columns).join(', ')
  const isRow = layout.names.some(startsWithDate)
  const header = likelyHeader(isRow ? [[...layout.names], ...samples] : samples)
  const headerRemedy = header === null ? {} : { remedy: typedLineWith('import', [file], { header }) }
  if (isRow) {
    const what = `the first line (${shownNames(layout.names)}) is a row, and no header stands above it`
    const advice = sentence`give the names of the columns with ${parameter('header')}`
    return new BadData({ file, line }, sentence`${what}; ${advice}`, headerRemedy)
  }
  const factNames = layout.names.filter(name => FACT_NAMES.test(name.replace(/[^a-z]/gi, '')))
  if (header === null && factNames.length < 2 && hasOnePriceADay(layout, samples)) {
    const what = 'daily bars need open, high, low and close; this file has only one price a day'
    return new BadData({ file, line }, `${what} (${columnsShown})`)
  }
  if (factNames.length > 0) {
    const kinds = FACT_KINDS.map(describeOwnTable).join('; ')
    return new BadData(
      { file, line },
      `these look like facts in no layout that is known (${columnsShown}); known are ${kinds}`,
    )
  }
  const advice = sentence`daily bars need date, open, high, low and close; ${columnsShown}; give names that are read with ${parameter('header')}`
  return new BadData({ file, line }, sentence`the header has no ${missing}; ${advice}`, headerRemedy)
}

/** Whether a table has a close and no other price, or a date and one number. */
export function hasOnePriceADay({ columns, names }: Layout, samples: readonly string[][]): boolean {
  const { open, high, low, close, ticker } = columns
  if (close !== undefined) return [open, high, low].every(column => column === undefined)
  const [first = []] = samples
  return names.length === 2 && ticker === undefined && first.filter(field => isNumber(field)).length === 1
}

/** Whether a text is a number with a decimal point or a decimal comma. */
function isNumber(text: string): boolean {
  return !isNullWord(text) && ['.', ','].some(sign => !Number.isNaN(readNumber(text, sign as Decimal)))
}

/**
 * The likely header of rows, judged by their values: a date, four prices side by side, then a volume. Other columns are
 * named `other`. null if the values are ambiguous.
 */
function likelyHeader(rows: readonly string[][]): string | null {
  const [firstRow = []] = rows
  const textsOf = (column: number) => rows.map(fields => fields[column] ?? '')
  const isDate = (column: number) => {
    const guess = guessDateFormat(textsOf(column))
    // Prices and volumes may look like serial numbers, so those count only in the first column.
    return 'format' in guess && (guess.format !== 'Excel serial' || column === 0)
  }
  const dateColumn = firstRow.findIndex((_, column) => isDate(column))
  if (dateColumn < 0) return null
  const isNumeric = (column: number) => column !== dateColumn && textsOf(column).every(isNumber)
  for (let from = 0; from + 4 <= firstRow.length; from++) {
    const priceColumns = [from, from + 1, from + 2, from + 3]
    const names = priceColumns.every(isNumeric) ? namesOfPrices(priceColumns, rows) : null
    if (names === null) continue
    names[dateColumn] = 'date'
    const volumeColumn = firstRow.findIndex((_, column) => column > from + 3 && isNumeric(column))
    if (volumeColumn >= 0) names[volumeColumn] = 'volume'
    return firstRow.map((_, column) => names[column] ?? 'other').join(',')
  }
  return null
}

/** Maximum ratio of the highest to the lowest value of a row, for the values to count as prices of one day. */
const MAX_HIGH_TO_LOW = 3

/**
 * The names of four columns of numbers, by column: one is the highest in each row, another the lowest. Of the two
 * others, the open comes before the close. null if they are not prices of one day.
 */
function namesOfPrices(columns: readonly number[], rows: readonly string[][]): Record<number, string> | null {
  const texts = rows.flatMap(fields => columns.map(column => fields[column]!))
  const decimal = guessDecimal(texts, []) ?? '.'
  const values = rows.map(fields => columns.map(column => readNumber(fields[column]!, decimal)))
  if (values.some(row => Math.max(...row) > MAX_HIGH_TO_LOW * Math.min(...row))) return null
  // In rows of equal prices both would be the same column: the usual order has the high first.
  const high = columns.find((_, i) => values.every(row => row[i] === Math.max(...row)))
  const low = columns.findLast((_, i) => values.every(row => row[i] === Math.min(...row)))
  if (high === undefined || low === undefined || high === low) return null
  const [open, close] = columns.filter(column => column !== high && column !== low)
  return { [open!]: 'open', [high]: 'high', [low]: 'low', [close!]: 'close' }
}

/** Whether a field is a date; no column name is. */
export function startsWithDate(field: string): boolean {
  return /^\d{4}-\d{2}-\d{2}/.test(field)
}

/** The error for rows without a header that are not in the project's own order. */
export function headerlessError(file: string, fields: readonly string[]): BadData {
  const errorOf = (what: Words) => new BadData({ file, line: 1 }, what)
  const text = fields.join(',')
  if (/^[A-Z0-9.]+ [A-Z0-9]{8,},[^,]+,[\d.]+,\d+,/.test(text))
    return errorOf(
      'this is a LEAN coarse universe file, one day of many tickers with only their closes, not daily bars',
    )
  if (/^\d{8},[\d.]+,[\d.]+(,[\d.]+)?$/.test(text))
    return errorOf('this is a LEAN factor file (splits and dividends), not daily bars; import the zip of bars')
  if (/^\d{1,8},\d+,\d+,\d+,\d+,[\d.]+/.test(text))
    return errorOf(
      'these are LEAN bars of minutes or seconds (time in milliseconds of a day); only daily bars are imported',
    )
  const usualOrder = 'date,open,high,low,close,volume'
  const what = `the first line (${shownNames(fields)}) is neither a header nor a row of ${usualOrder}`
  const header = likelyHeader([[...fields]])
  const headerRemedy = header === null ? {} : { remedy: typedLineWith('import', [file], { header }) }
  return new BadData(
    { file, line: 1 },
    sentence`${what}; give the names of the columns with ${parameter('header')}`,
    headerRemedy,
  )
}

/** The error for a web page or an XML document; null for other text, which may be a table. */
export function notTextTableError(file: string, text: string): BadData | null {
  const start = text.trimStart().slice(0, 2000)
  if (/^<(!doctype html|html)/i.test(start))
    return new BadData({ file }, 'this is a web page, neither daily bars nor facts')
  if (/^<\?xml|^<[a-z]+[\s>]/.test(start))
    return new BadData({ file }, 'this is an XML document, neither daily bars nor a Form 4 of the SEC')
  return null
}

/** Kinds of JSON without readable bars or facts; the first match applies. */
const JSON_KINDS: readonly (readonly [holds: (keys: Keys) => boolean, sentence: string])[] = [
  [
    hasAllKeys('facts', 'cik'),
    'these are company facts of the SEC in another form than the SEC writes them; take them as they come',
  ],
  [
    hasAllKeys('annualReports'),
    `these are statements of Alpha Vantage, which do not say when they became known; ${IMPORT_INSTEAD}`,
  ],
  [
    hasAllKeys('AssetType'),
    `this is a company overview of Alpha Vantage, of one day and without its quarters; ${IMPORT_INSTEAD}`,
  ],
  [hasAllKeys('financials'), `these are financial statements of Polygon, which are not read; ${IMPORT_INSTEAD}`],
  [
    hasAllKeys('statementData'),
    `these are statements of Tiingo, which do not say when they became known; ${IMPORT_INSTEAD}`,
  ],
  [
    hasAllKeys('marketCap', 'peRatio'),
    `these are daily ratios of Tiingo; ratios are computed here from reports and prices; ${IMPORT_INSTEAD}`,
  ],
]

type Keys = ReadonlySet<string>

/** The error for JSON without bars or facts: its kind if that is known, a message of the vendor in it, or its keys. */
export function unreadableJsonError(file: string, root: unknown): BadData {
  const keys = keysOfDocument(root)
  const knownKind = JSON_KINDS.find(([holds]) => holds(keys))
  if (knownKind !== undefined) return new BadData({ file }, knownKind[1])
  const messageKey = ['Error Message', 'Note', 'Information', 'message', 'error', 'detail'].find(key => keys.has(key))
  const value = messageKey === undefined ? undefined : (root as Record<string, unknown>)[messageKey]
  const text = Array.isArray(value) ? value[0] : value
  if (typeof text === 'string' && text !== '')
    return new BadData({ file }, `there are no bars in it, only a message of the vendor: ${quoted(text)}`)
  const keysShown = keys.size === 0 ? '' : ` (its keys are ${shownNames([...keys])})`
  return new BadData({ file }, `no daily bars are found in this JSON${keysShown}`)
}

export function onlyUnfinishedError(file: string): BadData {
  return new BadData({ file }, 'there are no bars in it, only a candle that is still being traded')
}

/** The keys of an object or of the first one in a list, and those of its `results` and `data`. */
function keysOfDocument(root: unknown): Keys {
  const keys = new Set<string>()
  const addKeys = (value: unknown): unknown => {
    const object: unknown = Array.isArray(value) ? value[0] : value
    if (isMapping(object)) for (const key of Object.keys(object)) keys.add(key)
    return object
  }
  const object = addKeys(root)
  if (isMapping(object)) for (const key of ['results', 'data']) addKeys(object[key])
  return keys
}

function hasAllKeys(...names: string[]): (keys: Keys) => boolean {
  return keys => names.every(name => keys.has(name))
}

/** The first `maxNames` names of columns or keys as text, and the number of the others. */
export function shownNames(names: readonly string[], maxNames = 8): string {
  // `quoted` escapes and shortens a name; its quotes are cut off.
  const shown = names.slice(0, maxNames).map(name => (name === '' ? '(unnamed)' : quoted(name).slice(1, -1)))
  return shown.join(', ') + (names.length > maxNames ? ` and ${names.length - maxNames} more` : '')
}

/** Text about the project's own table of one kind of facts: its required columns, and those of numbers. */
function describeOwnTable(kind: FactKind): string {
  const importantColumns = FACT_COLUMNS[kind].filter(({ required, holds }) => required || holds === 'number')
  const columns = importantColumns.length === 0 ? FACT_COLUMNS[kind] : importantColumns
  return `${kind}.csv with ${['ticker', ...columns.map(({ name }) => name)].join(', ')}`
}

const MAX_PLACES_SHOWN = 3

/** Remarks about omissions and assumptions in a file. Equal remarks are counted. */
export class Remarks {
  readonly #remarks = new Map<string, Remark>()

  /** Adds a remark, or counts an equal one. @param place its `file:line` or value, if any; the first are kept */
  add(what: Words, place?: string): void {
    const text = wordsAsText(what)
    const remark = this.#remarks.get(text) ?? { what, count: 0, first: [] }
    this.#remarks.set(text, remark)
    remark.count++
    if (place !== undefined && remark.first.length < MAX_PLACES_SHOWN && !remark.first.includes(place))
      remark.first.push(place)
  }

  get all(): Remark[] {
    return [...this.#remarks.values()]
  }
}

/** The bad rows of a file: all of them if they are skipped, otherwise the first and the number of the others. */
export class Rejections {
  readonly rows: Rejected[] = []
  readonly #file: string
  readonly #skip: boolean
  #badRows = 0

  constructor(file: string, skip: boolean) {
    this.#file = file
    this.#skip = skip
  }

  /** Counts a bad row. It is described only if it is the first one, or all of them are returned. */
  add(describe: () => Rejected): void {
    this.#badRows++
    if (this.#skip || this.#badRows === 1) this.rows.push(describe())
  }

  /** Throws BadData if a file has bad rows that are not skipped, or no good row. @param rows the number of all rows */
  throwIfBad(rows: number): void {
    const [first] = this.rows
    if (first === undefined && rows > 0) return
    if (first === undefined) throw new BadData({ file: this.#file }, 'there are no rows in it')
    const place = { file: this.#file, line: first.line, column: first.column }
    if (this.#badRows === rows) {
      const extent = rows === 1 ? 'the only row is bad' : `all ${counted(rows, 'row')} are bad`
      throw new BadData(place, sentence`${first.reason}; ${extent}, so nothing can be loaded`)
    }
    if (this.#skip) return
    const more = this.#badRows === 1 ? '' : `; ${counted(this.#badRows - 1, 'more bad row')} in this file`
    throw new BadData(place, sentence`${first.reason}${more}; ${parameter('skip_bad_rows')} loads the rest`, {
      remedy: typedLineWith('import', [this.#file], { skip_bad_rows: true }),
    })
  }
}
