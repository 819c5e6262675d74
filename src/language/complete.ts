import { allowedAfter, isWhole, type Vocabulary } from './condition.js'

/** What may stand where somebody is typing a condition. */
export interface Completion {
  /** The word that is being typed, as far as it is. */
  typed: string
  /** The words that may stand in its place: fields, bands of the field before, and words and signs of the language. */
  words: readonly string[]
  /** Whether a ticker may stand there, with its colon. */
  ticker: boolean
  /** The whole text with a word in place of the one that is being typed. */
  with: (word: string) => string
}

/** A word of which the end is being typed, and what stands before it. */
const LAST_WORD = /(?:[A-Za-z_][A-Za-z0-9_]*|!)?$/

/** What may stand at the end of a text. */
export function completeCondition(text: string, vocabulary: Vocabulary): Completion {
  const typed = LAST_WORD.exec(text)![0]
  const before = text.slice(0, text.length - typed.length)
  const allowed = allowedAfter(before, vocabulary).filter(word => word !== '@')
  return {
    typed,
    words: allowed.filter(word => word.startsWith(typed.toLowerCase())),
    // Where `not` may stand, a subject begins; a ticker is not followed by another.
    ticker: allowed.includes('not') && allowed.includes('(') && !/[\w:@]$/.test(before),
    with: word => (typed === '' ? joint(before, word) : before) + word,
  }
}

/**
 * The texts that may become of one that is being typed. Where there is only one, and it is not yet a condition, what may
 * follow it stands behind: a shell would take a single one for the end, and close the quotes.
 *
 * @param tickersLike the tickers that begin with a text; asked for only where nothing else may stand
 */
export async function textsAfter(
  text: string,
  vocabulary: Vocabulary,
  tickersLike: (start: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const found = completeCondition(text, vocabulary)
  const isTicker = found.words.length === 0 && found.ticker && found.typed !== ''
  const words = isTicker ? (await tickersLike(found.typed)).map(ticker => `${ticker}:`) : found.words
  let texts = words.map(found.with)
  while (texts.length === 1 && !isWhole(texts[0]!, vocabulary)) {
    const [only] = texts
    const next = allowedAfter(only!, vocabulary).filter(word => word !== '@')
    if (next.length === 0) break
    texts = next.map(word => joint(only!, word) + word)
  }
  return texts
}

/** A text with the blank that a word behind it needs. */
function joint(before: string, word: string): string {
  const isJoined = before === '' || /[\s(:@]$/.test(before) || word === ',' || word === ')'
  return isJoined ? before : `${before} `
}
