import { isReference, SCHEMAS_AT, type Schema } from '../openapi/document.js'
import { Html, html, joined } from './html.js'

/** Descriptions: paragraphs with an empty line between, code in backticks. */
export function prose(description: string): Html[] {
  return description.split(/\n{2,}/).map(text => html`<p>${inline(text)}</p>`)
}

/** One line of a description. */
export function inline(text: string): Html[] {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))
}

/** What a schema lets through, in words; what has a name is linked. */
export function typeOf(schema: Schema): Html {
  if (isReference(schema)) return schemaLink(schema.$ref.replace(SCHEMAS_AT, ''))
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  if (Array.isArray(schema.enum)) return words(schema.enum as string[])
  if (Array.isArray(schema.anyOf)) return joined((schema.anyOf as Schema[]).map(typeOf), ' or ')
  if (Array.isArray(schema.type)) return html`${schema.type.join(' or ')}`
  if (schema.type === 'array') return html`array of ${typeOf(schema.items as Schema)}`
  return html`${[String(schema.type ?? 'anything'), ...limitsOf(schema)].join(', ')}`
}

export function schemaLink(name: string): Html {
  return html`<a href="#schema-${name}">${name}</a>`
}

function words(allowed: readonly string[]): Html {
  return joined(
    allowed.map(word => html`<code>${word}</code>`),
    ', ',
  )
}

function limitsOf({ format, pattern, minimum, maximum, minLength, maxLength }: Schema): string[] {
  const limits: string[] = []
  if (format !== undefined) limits.push(String(format))
  if (minimum !== undefined) limits.push(maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`)
  if (maxLength !== undefined) limits.push(`${minLength ?? 0} to ${maxLength} characters`)
  if (pattern !== undefined) limits.push(`matching ${pattern}`)
  return limits
}

/** A table with a heading row; the first cell of each row names it. Cells carry their column's name for narrow screens. */
export function table(columns: readonly string[], rows: readonly (readonly Html[])[]): Html {
  const head = columns.map(column => html`<th scope="col">${column}</th>`)
  const body = rows.map(([name = new Html(''), ...cells]) => {
    const rest = cells.map((cell, i) => html`<td data-label="${columns[i + 1]!}">${cell}</td>`)
    return html`<tr><th scope="row">${name}</th>${rest}</tr>\n`
  })
  return html`<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody>\n</table>\n`
}

export function codeBlock(caption: string, text: string): Html {
  return html`<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>\n`
}
