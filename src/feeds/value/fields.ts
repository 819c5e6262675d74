/**
 * The fields of one line, unquoted and trimmed; for headers, samples and messages. A quoted field may hold the
 * delimiter and doubled quotes; line breaks in quotes are beyond it.
 */
export function splitLine(line: string, delimiter: string): string[] {
  return spans(line, delimiter).map(({ start, end }) => unquote(line.slice(start, end).trim()))
}

/** The column, from 1, of the character at which a field starts; one past the end when the line has no such field. */
export function columnOf(line: string, delimiter: string, field: number): number {
  const span = spans(line, delimiter)[field]
  if (span === undefined) return lengthOf(line) + 1
  const text = line.slice(span.start, span.end)
  const blanks = text.trim() === '' ? 0 : text.length - text.trimStart().length
  return lengthOf(line.slice(0, span.start + blanks)) + 1
}

/** Characters as people count them: a letter outside the basic plane is one. */
export function lengthOf(text: string): number {
  return [...text].length
}

function spans(line: string, delimiter: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  let start = 0
  let quoted = false
  let blank = true
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (character === '"' && (quoted || blank)) quoted = !quoted
    if (character === delimiter && !quoted) {
      found.push({ start, end: i })
      start = i + 1
      blank = true
    } else if (character !== ' ' && character !== '"') blank = false
  }
  found.push({ start, end: line.length })
  return found
}

function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
