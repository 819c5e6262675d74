import { BadData } from '../../errors.js'
import { type Day, formatDay, parseDay } from '../../model/day.js'
import { assumedFiling, type InsiderTrade } from '../../model/facts.js'
import { parseTicker, TICKER_SHAPE } from '../../model/ticker.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { allOf, type Source } from '../file/source.js'
import { givenTicker } from '../naming.js'
import { isNullWord, readNumber } from '../value/numbers.js'
import { shown } from '../value/shown.js'
import { FILED_LATER, WITHOUT_SHARES } from './assumed.js'
import { childrenOf, documentIn, type Element, type Form, locate, rootOf, textAt } from './form4/document.js'
import { FactsSink } from './sink.js'

const SIDES = new Map([
  ['P', 'buy'],
  ['S', 'sell'],
] as const)

/**
 * The open-market trades of a Form 4 of the SEC, as the XML document or as the submission that holds it; none is no
 * error. Their filing date is `options.known`, or that of the submission. Throws BadData, with `file:line:column` where
 * the XML or a trade is bad.
 */
export async function readForm4(source: Source, options: ReadOptions): Promise<FactsResult> {
  const { file } = source
  const content = (await allOf(source)).toString('utf8').replace(/^\ufeff/, '')
  const form = documentIn(content.replace(/\r\n?/g, '\n'))
  const root = rootOf(file, form)
  const type = textAt(root, 'documentType')
  if (type !== '4' && type !== '4/A')
    throw new BadData({ file }, `${formWords(type)}; of the SEC's forms on insiders only 4 is read`)
  const sink = new FactsSink()
  if (type === '4/A') sink.remark('amendments repeat trades; do not load the form that they amend as well', file)
  const ticker = tickerOf(file, root, options)
  const issuer = textAt(root, 'issuer', 'issuerTradingSymbol')
  if (issuer !== null && parseTicker(issuer) !== ticker)
    sink.remark(`the form is of ${shown(issuer)}, and is taken for ${ticker} because --ticker says so`, file)
  const trades = childrenOf(root, 'nonDerivativeTable', 'nonDerivativeTransaction')
  const derivatives = childrenOf(root, 'derivativeTable', 'derivativeTransaction')
  const filed = options.known ?? form.filed
  for (const trade of trades) addTrade(trade, { file, form, ticker, insider: ownersOf(file, root), filed, sink })
  for (const trade of derivatives)
    sink.remark('transactions in derivatives are not loaded', `${file}:${locate(file, form, trade).line}`)
  options.onProgress?.({ bytes: source.taken(), total: source.total, rows: trades.length + derivatives.length })
  const dialect = {
    encoding: 'UTF-8',
    compression: source.compression,
    issuer: textAt(root, 'issuer', 'issuerName') ?? '',
  }
  const { facts, remarks } = sink
  const rows = trades.length + derivatives.length
  return { holds: 'facts', file, format: 'SEC Form 4', dialect, header: null, rows, facts, rejected: [], remarks }
}

interface Trading {
  file: string
  form: Form
  ticker: string
  insider: string
  filed: Day | null
  sink: FactsSink
}

function addTrade(trade: Element, { file, form, ticker, insider, filed, sink }: Trading): void {
  const place = `${file}:${locate(file, form, trade).line}`
  const code = textAt(trade, 'transactionCoding', 'transactionCode') ?? ''
  const side = SIDES.get(code as 'P' | 'S')
  const shares = numberAt(trade, 'transactionShares')
  if (side === undefined) {
    sink.remark(`transactions of code ${shown(code)} are no open-market trades and are not loaded`, place)
    return
  }
  if (shares === null || !(shares > 0)) {
    sink.remark(WITHOUT_SHARES, place)
    return
  }
  const traded = dayOfTrade(file, form, trade)
  if (filed !== null && filed < traded) {
    const what = `the trade is of ${formatDay(traded)}, after the day on which it became known (${formatDay(filed)})`
    throw new BadData(locate(file, form, trade), what)
  }
  const price = numberAt(trade, 'transactionPricePerShare')
  if (price === null) sink.remark('trades have no price, so that their value is unknown', place)
  if (filed === null) sink.remark(FILED_LATER, place)
  sink.remark('sessions are unknown: a trade counts from the day after it became known', place)
  const known = filed ?? assumedFiling(traded)
  const value = price === null ? null : shares * price
  const record: InsiderTrade = { known, session: null, insider, side, shares, value }
  sink.add('insiders', ticker, record)
}

function formWords(type: string | null): string {
  return type === null ? 'this XML does not tell which form it is (documentType)' : `this is Form ${type}`
}

function tickerOf(file: string, root: Element, options: ReadOptions): string {
  const given = givenTicker(options.ticker)
  if (given !== null) return given
  const symbol = textAt(root, 'issuer', 'issuerTradingSymbol') ?? ''
  const ticker = isNullWord(symbol) ? null : parseTicker(symbol)
  if (ticker !== null) return ticker
  const what = isNullWord(symbol)
    ? 'the issuer has no trading symbol'
    : `its symbol ${shown(symbol)} is not ${TICKER_SHAPE}`
  throw new BadData({ file }, `${what}; give one with --ticker`)
}

/** One trade may be reported by several owners together; it is one trade all the same. */
function ownersOf(file: string, root: Element): string {
  const names = childrenOf(root, 'reportingOwner').map(owner => textAt(owner, 'reportingOwnerId', 'rptOwnerName'))
  const owners = names.filter(name => name !== null).map(name => name.replace(/\s+/g, ' '))
  if (owners.length > 0) return owners.join('; ')
  throw new BadData({ file }, 'no reporting owner is named in it (reportingOwner, rptOwnerName)')
}

/** Dates may have a time zone after them: `2022-12-13-05:00`. */
function dayOfTrade(file: string, form: Form, trade: Element): Day {
  const text = textAt(trade, 'transactionDate', 'value') ?? ''
  const day = parseDay(text.replace(/(?<=^.{10})(Z|[+-]\d{2}:\d{2})$/, ''))
  if (day !== null) return day
  const what =
    text === '' ? 'transactionDate is empty' : `transactionDate ${shown(text)} is no calendar date as YYYY-MM-DD`
  throw new BadData(locate(file, form, trade), what)
}

function numberAt(trade: Element, name: string): number | null {
  const text = textAt(trade, 'transactionAmounts', name, 'value')
  const value = text === null ? Number.NaN : readNumber(text)
  return Number.isFinite(value) ? value : null
}
