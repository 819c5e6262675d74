const SHAPE = /^[A-Z0-9.^=-]{1,16}$/

/** What a ticker may be, for messages. */
export const TICKER_SHAPE = '1 to 16 characters of A-Z 0-9 . - ^ ='

/** The ticker that a text spells, in upper case, or null when it is no well-formed ticker (`brk.b` is `BRK.B`). */
export function parseTicker(text: string): string | null {
  // Only ASCII letters have a case here: a long s or a dotless i must not turn into S or I.
  const ticker = text.replace(/[a-z]/g, letter => letter.toUpperCase())
  return SHAPE.test(ticker) ? ticker : null
}
