import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { BadData, type FilePosition, parameter, quoted, sentence } from '../../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../../core/model/day.js'
import { assumedFiling, type InsiderTrade } from '../../../core/model/facts.js'
import { parseTicker } from '../../../core/model/terms.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { MAX_NESTING } from '../json-text.js'
import { parseTickerOption, tickerOfSymbol } from '../layout.js'
import { futureDateReason, latestBar } from '../price-rows.js'
import { type Source, textOf } from '../source.js'
import { isNullWord, readNumber } from '../values.js'
import { FactsSink, FILED_LATER, WITHOUT_SHARES } from './sink.js'

const SIDE_OF_CODE = new Map<string, 'buy' | 'sell'>([
  ['P', 'buy'],
  ['S', 'sell'],
])

/**
 * The open-market trades of a Form 4 of the SEC, from the XML document or the submission around it. A form may have
 * none. Their filing date is `options.known`, or that of the submission. Throws BadData, with `file:line:column` where
 * the XML or a trade is bad.
 */
export async function readForm4(source: Source, options: ReadOptions): Promise<FactsResult> {
  const { file } = source
  const form = findDocument(file, (await textOf(source)).replace(/\r\n?/g, '\n'), options)
  const root = parseRoot(form)
  const type = textAt(root, 'documentType')
  if (type !== '4' && type !== '4/A') {
    const what = type === null ? 'this XML does not name its form (documentType)' : `this is Form ${type}`
    throw new BadData({ file }, `${what}; of the SEC's forms on insiders only 4 is read`)
  }
  const sink = new FactsSink()
  if (type === '4/A') sink.remark('amendments repeat trades; do not load the form that they amend as well', file)
  const ticker = tickerOf(file, root, options)
  const issuer = textAt(root, 'issuer', 'issuerTradingSymbol')
  if (issuer !== null && parseTicker(issuer) !== ticker)
    sink.remark(
      sentence`the form is of ${quoted(issuer)}, and is taken for ${ticker} because ${parameter('ticker')} says so`,
      file,
    )
  const transactions = childrenOf(root, 'nonDerivativeTable', 'nonDerivativeTransaction')
  const derivatives = childrenOf(root, 'derivativeTable', 'derivativeTransaction')
  const insider = transactions.length === 0 ? '' : ownerNames(file, root)
  for (const transaction of transactions) {
    const trade = readTrade(transaction, form, insider, sink)
    if (trade !== null) sink.add('insiders', ticker, trade)
  }
  for (const element of derivatives) sink.remark('transactions in derivatives are not loaded', lineText(form, element))
  const rows = transactions.length + derivatives.length
  options.onProgress?.({ bytes: source.bytesTaken(), total: source.total, rows })
  const issuerName = textAt(root, 'issuer', 'issuerName') ?? ''
  const dialect = { encoding: source.encoding, compression: source.compression, issuer: issuerName }
  return sink.result(file, 'SEC Form 4', rows, { dialect })
}

/** The trade of a transaction; null, and a remark, where it is not loaded. Throws BadData where it is bad. */
function readTrade(transaction: Element, form: Form, insider: string, sink: FactsSink): InsiderTrade | null {
  const { filed } = form
  const place = lineText(form, transaction)
  const code = textAt(transaction, 'transactionCoding', 'transactionCode') ?? ''
  const side = SIDE_OF_CODE.get(code)
  const shares = amountAt(transaction, 'transactionShares')
  if (side === undefined || shares === null || shares <= 0) {
    const otherCode = `transactions of code ${quoted(code)} are no open-market trades and are not loaded`
    sink.remark(side === undefined ? otherCode : WITHOUT_SHARES, place)
    return null
  }
  const traded = dayOfTrade(form, transaction)
  // Neither the trade nor its filing may lie in the future.
  for (const [name, day] of Object.entries({ transactionDate: traded, 'the day of filing': filed ?? traded }))
    if (day > form.latest) throw new BadData(positionOf(form, transaction), futureDateReason(name, formatDay(day)))
  if (filed !== null && filed < traded) {
    const what = `the trade is of ${formatDay(traded)}, after the day on which it became known (${formatDay(filed)})`
    throw new BadData(positionOf(form, transaction), what)
  }
  const price = amountAt(transaction, 'transactionPricePerShare')
  if (price === null) sink.remark('trades have no price, so that their value is unknown', place)
  if (filed === null) sink.remark(FILED_LATER, place)
  sink.remark('sessions are unknown: a trade counts from the day after it became known', place)
  const value = price === null ? null : shares * price
  return { known: filed ?? assumedFiling(traded), session: null, insider, side, shares, value }
}

/** The user's ticker, otherwise the issuer's. Throws BadData if there is none. */
function tickerOf(file: string, root: Element, options: ReadOptions): string {
  const hint = parseTickerOption(options.ticker)
  if (hint !== null) return hint
  const symbol = textAt(root, 'issuer', 'issuerTradingSymbol') ?? ''
  if (!isNullWord(symbol)) return tickerOfSymbol(file, symbol)
  throw new BadData({ file }, sentence`the issuer has no trading symbol; give one with ${parameter('ticker')}`)
}

/** The names of the reporting owners, separated by semicolons. Throws BadData if there are none. */
function ownerNames(file: string, root: Element): string {
  const names = childrenOf(root, 'reportingOwner').map(owner => textAt(owner, 'reportingOwnerId', 'rptOwnerName'))
  const owners = names.filter(name => name !== null).map(name => name.replace(/\s+/g, ' '))
  if (owners.length > 0) return owners.join('; ')
  throw new BadData({ file }, 'no reporting owner is named in it (reportingOwner, rptOwnerName)')
}

/** The day of a trade, whose text may end with a time zone: `2022-12-13-05:00`. Throws BadData for no date. */
function dayOfTrade(form: Form, trade: Element): Day {
  const text = textAt(trade, 'transactionDate', 'value') ?? ''
  const day = parseDay(text.replace(/(?<=^.{10})(Z|[+-]\d{2}:\d{2})$/, ''))
  if (day !== null) return day
  const what =
    text === '' ? 'transactionDate is empty' : `transactionDate ${quoted(text)} is no calendar date as YYYY-MM-DD`
  throw new BadData(positionOf(form, trade), what)
}

/** The number under a name among a trade's amounts; null where it is missing or no number. */
function amountAt(trade: Element, name: string): number | null {
  const text = textAt(trade, 'transactionAmounts', name, 'value')
  const value = text === null ? Number.NaN : readNumber(text)
  return Number.isFinite(value) ? value : null
}

/** The key under which the parser stores an element's position. */
const POSITION_KEY = XMLParser.getMetaDataSymbol() as unknown as symbol

/** The XML of a form, its start in the file, and its filing date, if known from user or file. */
interface Form {
  file: string
  text: string
  linesBefore: number
  filed: Day | null
  /** The last day on which something can have happened. */
  latest: Day
}

/** An element: its children by name, one or a list of them; an element with only text is that text. */
type Element = Readonly<Record<string | symbol, unknown>>

/** Finds the XML document in a file: all of it, or the part below a submission's header, which has the filing date. */
function findDocument(file: string, content: string, { known, today }: ReadOptions): Form {
  const latest = latestBar(today)
  const start = content.indexOf('<ownershipDocument')
  const end = content.lastIndexOf('</ownershipDocument>')
  if (!/^\s*(<SEC-DOCUMENT>|-----BEGIN)/.test(content) || start < 0 || end < 0)
    return { file, text: content, linesBefore: 0, filed: known ?? null, latest }
  const header = content.slice(0, start)
  const date = /^FILED AS OF DATE:\s*(\d{4})(\d{2})(\d{2})\s*$/m.exec(header)
  const filed = known ?? (date === null ? null : parseDay(date.slice(1).join('-')))
  const text = content.slice(start, end + '</ownershipDocument>'.length)
  return { file, text, linesBefore: header.split('\n').length - 1, filed, latest }
}

/** The root element of a Form 4. Throws BadData for other XML, and for entities, which can make a small file huge. */
function parseRoot({ file, text, linesBefore }: Form): Element {
  if (/<!DOCTYPE/i.test(text)) throw new BadData({ file }, 'the XML declares a document type, which no Form 4 does')
  if (isTooDeep(text))
    throw new BadData({ file }, `the XML is nested more than ${MAX_NESTING} levels deep, as no Form 4 is`)
  const verdict = XMLValidator.validate(text)
  if (verdict !== true) {
    const { line, col, msg } = verdict.err
    const what = `the XML is not well formed: ${msg.slice(0, 200)}`
    throw new BadData({ file, line: line + linesBefore, column: col ?? 1 }, what)
  }
  const document: unknown = new XMLParser({
    ignoreAttributes: true,
    ignoreDeclaration: true,
    ignorePiTags: true,
    removeNSPrefix: true,
    parseTagValue: false,
    captureMetaData: true,
  }).parse(text)
  const names = isElement(document) ? Object.keys(document) : []
  const root = isElement(document) ? document.ownershipDocument : undefined
  if (isElement(root) && names.length === 1) return root
  if (names.includes('ownershipDocument')) throw new BadData({ file }, 'the form is empty, or not alone in its file')
  throw new BadData({ file }, `this is an XML document (${names.join(', ')}), not a Form 4 of the SEC`)
}

/** Whether elements are nested too deeply for the recursive parser. */
function isTooDeep(text: string): boolean {
  let level = 0
  for (const [tag] of text.matchAll(/<\/?[\w:][^<>]*>/g)) {
    if (tag.startsWith('</')) level--
    else if (!tag.endsWith('/>') && ++level > MAX_NESTING) return true
  }
  return false
}

/** The text of the element at a path, null where there is none or it is empty. */
function textAt(element: Element, ...path: string[]): string | null {
  const value = valueAtPath(element, path)
  const text = isElement(value) ? value['#text'] : value
  return typeof text === 'string' && text !== '' ? text : null
}

/** The elements at a path, as a list; the parser gives a single one without a list. */
function childrenOf(element: Element, ...path: string[]): Element[] {
  const children = valueAtPath(element, path)
  return (Array.isArray(children) ? children : [children]).filter(isElement)
}

/** The value at a path of element names; undefined where there is none. */
function valueAtPath(element: Element, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isElement(value) ? value[name] : undefined), element)
}

function isElement(value: unknown): value is Element {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The position of an element in the file, from 1. */
function positionOf({ file, text, linesBefore }: Form, element: Element): FilePosition {
  const data = element[POSITION_KEY] as { startIndex?: number } | undefined
  const before = text.slice(0, data?.startIndex ?? 0).split('\n')
  return { file, line: linesBefore + before.length, column: before.at(-1)!.length + 1 }
}

/** The position of an element as `file:line`. */
function lineText(form: Form, element: Element): string {
  return `${form.file}:${positionOf(form, element).line}`
}
