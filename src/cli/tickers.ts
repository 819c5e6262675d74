import { tickerValue } from '../query/values.js'
import { textOf } from './text-file.js'
import type { World } from './world.js'

/**
 * Tickers as typed: symbols, `@FILE`, or `-` for standard input; in those, separated by commas, blanks or lines, and
 * what follows a `#` is a remark. Throws InvalidParameter, and NotFound for a missing file.
 */
export async function namedTickers(words: readonly string[], world: World): Promise<string[]> {
  const tickers = new Set<string>()
  for (const word of words) for (const text of await symbols(word, world)) tickers.add(tickerValue('ticker', text))
  return [...tickers]
}

async function symbols(word: string, world: World): Promise<string[]> {
  if (word === '-') return split(await all(world.stdin()))
  return word.startsWith('@') ? split(await textOf(word.slice(1))) : [word]
}

function split(text: string): string[] {
  return text
    .replace(/^\ufeff/, '')
    .replace(/#.*/g, '')
    .split(/[\s,]+/)
    .filter(symbol => symbol !== '')
}

async function all(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}
