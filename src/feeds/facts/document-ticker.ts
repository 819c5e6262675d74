import { basename } from 'node:path'
import { BadData } from '../../errors.js'
import { parseTicker, TICKER_SHAPE } from '../../model/ticker.js'
import { givenTicker } from '../naming.js'
import { shown } from '../value/shown.js'

/** Names of files that look like a ticker: the number that the SEC gives a company, or what the document is. */
const CIK = /^(CIK\d+|COMPANY-?FACTS|SUBMISSIONS)$/

/**
 * The ticker of a document of one company: the one that the user gave, its own symbol (null where it has none), or its
 * file's name. Throws BadData where none of them is a ticker.
 */
export function documentTicker(file: string, own: string | null, given: string | undefined): string {
  const ticker = givenTicker(given) ?? (own === null ? tickerOfName(file) : parseTicker(own))
  if (ticker !== null) return ticker
  if (own !== null)
    throw new BadData({ file }, `its symbol ${shown(own)} is not ${TICKER_SHAPE}; give one with --ticker`)
  const name = file === '-' ? 'standard input has no name' : `the file's name (${stem(file)}) is none`
  throw new BadData({ file }, `the document names no ticker, and ${name}; give it with --ticker`)
}

function tickerOfName(file: string): string | null {
  const ticker = file === '-' ? null : parseTicker(stem(file))
  return ticker === null || CIK.test(ticker) ? null : ticker
}

function stem(file: string): string {
  return basename(file).replace(/(\.(json|txt|gz|zip))+$/i, '')
}
