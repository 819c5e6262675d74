/** Words in lines of at most `width`, all as far in as the first; a word that is longer has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const indent = /^ */.exec(text)![0]
  const lines: string[] = []
  let line = ''
  for (const word of text.slice(indent.length).split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, indent + line]
}

/** Phrases that stay whole, side by side while they fit. */
export function flow(phrases: readonly string[], width: number, gap = 3): string[] {
  const lines: string[] = []
  for (const phrase of phrases.flatMap(text => (text.length > width ? wrap(text, width) : [text]))) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + gap + phrase.length <= width)
      lines.push(`${lines.pop()}${' '.repeat(gap)}${phrase}`)
    else lines.push(phrase)
  }
  return lines
}
