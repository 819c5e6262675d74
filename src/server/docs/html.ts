/** Text that is HTML already; any other text is escaped where it is put in. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[]

/** Writes HTML: whatever is put in stands there as it is read, never as markup. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((before, text, i) => before + textOf(parts[i - 1]!) + text))
}

export const NOTHING = new Html('')

/** Pieces with something between them. */
export function joined(parts: readonly Html[], between: string): Html {
  return new Html(parts.map(({ text }) => text).join(escaped(between)))
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escaped(String(part))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
}
