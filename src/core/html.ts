/** Text that is already markup. Everything else in a template is escaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Values in a template: text and numbers are escaped, absent values are empty. */
export type TemplateValue = Html | string | number | null | undefined | false | readonly TemplateValue[]

/** Markup from a template; its values are escaped unless they are markup. */
export function html(strings: TemplateStringsArray, ...values: readonly TemplateValue[]): Html {
  return new Html(strings.reduce((text, part, i) => text + markupOf(values[i - 1]) + part))
}

/** Data for scripts, as an element that no browser runs. */
export function dataScript(attribute: string, value: unknown): Html {
  return new Html(`<script type="application/json" ${attribute}>${dataText(value)}</script>`)
}

/** JSON in which characters that could end a script element or a line of a script are escaped. */
function dataText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE_IN_SCRIPT, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

const UNSAFE_IN_SCRIPT = /[<>&\u2028\u2029]/g

function markupOf(piece: TemplateValue): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'string') return escapeText(piece)
  if (typeof piece === 'number') return String(piece)
  return piece.map(markupOf).join('')
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, character => ESCAPES[character]!)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
