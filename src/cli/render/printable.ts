/**
 * Text in which control characters are spelled out: names of files and what stands in them may hold anything, and a
 * terminal must not obey it. Line feeds stay.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, character =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Our own signs in ASCII, for a terminal that shows no more; names and values of files stay as they are. */
export function ascii(text: string): string {
  return text.replace(/[≤·’…]/g, sign => PLAIN[sign]!)
}

const PLAIN: Readonly<Record<string, string>> = { '≤': '<=', '·': '*', '’': "'", '…': '...' }
