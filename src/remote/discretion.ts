/** In characters; a list of all fields and bands has its place. */
const LONGEST = 2000

/**
 * What a server, or a library that talked to it, says, as a sentence of ours may repeat it: without the key, should it be
 * echoed; nothing in it that steers a terminal or turns its text round; cut when it is long.
 */
export function repeatable(text: string, key: string): string {
  const spellings = key.length < SHORTEST ? [] : [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)]
  // Before anything is cut: half a key would not be found.
  const discreet = spellings.reduce((said, spelling) => said.replaceAll(spelling, HIDDEN), text)
  // No sign takes more than two units.
  const signs = [...discreet.slice(0, 2 * LONGEST + 2)]
  const cut = signs.length > LONGEST ? `${signs.slice(0, LONGEST).join('')}…` : discreet
  return cut.replace(
    /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Anything shorter is part of ordinary words. */
const SHORTEST = 4
const HIDDEN = '****'
