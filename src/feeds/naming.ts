import { basename } from 'node:path'
import { BadData, InvalidParameter } from '../errors.js'
import { parseTicker, TICKER_SHAPE } from '../model/ticker.js'
import type { Source } from './file/source.js'
import { shown } from './value/shown.js'

const EXTENSIONS = /\.(csv|txt|tsv|json|ndjson|jsonl|gz|zip)$/i

/** The ticker that the user gave, null when none; throws InvalidParameter when it is malformed. */
export function givenTicker(text: string | undefined): string | null {
  if (text === undefined) return null
  const ticker = parseTicker(text)
  if (ticker !== null) return ticker
  const offence = { param: 'ticker', value: text, allowed: TICKER_SHAPE }
  throw new InvalidParameter(`ticker ${shown(text)} is not ${TICKER_SHAPE}.`, offence)
}

/** The ticker of a file whose rows name none: its own word for itself, or the file's name without extensions. */
export function tickerOfFile(source: Source, own: string | null): string {
  const { file } = source
  if (own !== null) {
    const ticker = parseTicker(own)
    if (ticker !== null) return ticker
    throw new BadData({ file }, `its symbol ${shown(own)} is not ${TICKER_SHAPE}; give one with --ticker`)
  }
  if (file === '-') throw new BadData({ file }, 'standard input has no name to tell the ticker; give it with --ticker')
  const names = [source.entry, basename(file)].filter(name => name !== null).map(stem)
  const ticker = names.map(parseTicker).find(found => found !== null)
  if (ticker !== undefined) return ticker
  const what = `no column names the ticker, and the file's name (${names.at(-1)}) is no ticker`
  throw new BadData({ file }, `${what}; give it with --ticker`)
}

function stem(name: string): string {
  let rest = name
  while (EXTENSIONS.test(rest)) rest = rest.replace(EXTENSIONS, '')
  return rest
}
