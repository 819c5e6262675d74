/** Colours, which only repeat the meaning of a text. */
export interface Paint {
  good(text: string): string
  bad(text: string): string
  strong(text: string): string
  faint(text: string): string
}

const unchanged = (text: string): string => text

export const UNPAINTED: Paint = { good: unchanged, bad: unchanged, strong: unchanged, faint: unchanged }

/** Colours of the sixteen that every terminal has; none unless `coloured`. */
export async function paintFor(coloured: boolean): Promise<Paint> {
  if (!coloured) return UNPAINTED
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: 1 })
  return {
    good: text => chalk.green(text),
    bad: text => chalk.red(text),
    strong: text => chalk.bold(text),
    faint: text => chalk.dim(text),
  }
}

/** The lines as one text, each with a line feed. */
export function linesText(lines: readonly string[]): string {
  return lines.map(line => `${line}\n`).join('')
}

/** Wraps a text at `width` characters. Every line has the indent of the text; a longer word has a line of its own. */
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

/** Lays out phrases side by side while they fit, as lines of at most `width`. Only a longer phrase is wrapped. */
export function flowPhrases(phrases: readonly string[], width: number, gap = 3): string[] {
  const lines: string[] = []
  for (const phrase of phrases.flatMap(text => (text.length > width ? wrap(text, width) : [text]))) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + gap + phrase.length <= width)
      lines.push(`${lines.pop()}${' '.repeat(gap)}${phrase}`)
    else lines.push(phrase)
  }
  return lines
}
