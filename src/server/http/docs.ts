import { numberText } from '../../core/errors.js'
import { Html, html, type TemplateValue } from '../../core/html.js'
import { isReference, type OpenApiDocument, resolveReference } from './openapi.js'
import { type ResponseObject, SCHEMAS_AT, type Schema } from './openapi-answers.js'
import type { Operation } from './openapi-parts.js'
import { sha256 } from './requests.js'

/** The OpenAPI document as a page without scripts, and the Content-Security-Policy for that page. */
export function docsPage(document: OpenApiDocument): { html: string; csp: string } {
  const { info, openapi } = document
  const sections = pageSections(document)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} ${info.version}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<h1>${info.title} <span class="faint">${info.version}</span></h1>
${paragraphsHtml(info.description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI ${openapi}.</p>
<nav aria-label="Contents"><ul>
${sections.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>\n`)}</ul></nav>
<main>
${sections.map(([id, title, body]) => html`<section id="${id}">\n<h2>${title}</h2>\n${body}</section>\n`)}</main>
</body>
</html>
`
  // The hash allows only this page's own style; it covers the exact text between the tags.
  const style = `style-src 'sha256-${sha256(STYLE).toString('base64')}'`
  return {
    html: page.text,
    csp: `default-src 'none'; ${style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

/** The sections of the page in their order; the id is the target of the links to a section. */
function pageSections(document: OpenApiDocument): [id: string, title: string, body: TemplateValue][] {
  const { components, paths, 'x-tiers': tiers, 'x-fields': fields } = document
  const tierRows = tiers.map(({ tier, range, aftermath, context, credits }) => {
    const yesOrNo = (isGranted: boolean): string => (isGranted ? 'yes' : 'no')
    const limits = [numberText(credits.day), numberText(credits.hour)]
    return [tier, range, yesOrNo(aftermath), yesOrNo(context), ...limits]
  })
  const headerRows = Object.entries(components.headers).map(([name, { description, schema, example }]) => {
    return [codeWithId('header', name), textWithCode(description), valuesInWords(schema), code(example)]
  })
  const fieldRows = fields.map(({ field, tier, summary, bands }) => [
    codeWithId('field', field),
    tier,
    summary,
    codeList(bands),
  ])
  return [
    ['authentication', 'Authentication', paragraphsHtml(components.securitySchemes.bearer.description)],
    [
      'tiers',
      'Tiers and limits',
      tableHtml(['Tier', 'Range', 'Aftermath', 'Context', 'Credits a day', 'Credits an hour'], tierRows),
    ],
    ...Object.entries(paths).map(([path, { get }]): [string, string, TemplateValue] => {
      return [get.operationId, `GET ${path}`, operationBody(document, get)]
    }),
    ['errors', 'Errors', Object.entries(components.responses).map(([name, response]) => errorSection(name, response))],
    ['headers', 'Headers of answers', tableHtml(['Header', 'Meaning', 'Values', 'Example'], headerRows)],
    ['fields', 'Fields and their bands', tableHtml(['Field', 'From tier', 'Meaning', 'Bands'], fieldRows)],
    ['schemas', 'Schemas', Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema))],
  ]
}

/** The description, samples, parameters and answers of one operation. */
function operationBody(document: OpenApiDocument, operation: Operation): TemplateValue {
  const { summary, description, security, parameters = [], responses, 'x-codeSamples': samples = [] } = operation
  const parameterRows = parameters.map(part => {
    const { name, in: location, required, schema, description } = resolveReference(document, part)
    const notes = [location === 'header' ? ' header' : '', required ? ' required' : '']
    return [[code(name), html`<span class="faint">${notes}</span>`], valuesInWords(schema), textWithCode(description)]
  })
  const answerRows = Object.entries(responses).map(([status, response]) => {
    const errorName = isReference(response) ? response.$ref.split('/').at(-1) : undefined
    const statusLink = errorName === undefined ? status : html`<a href="#error-${errorName}">${status}</a>`
    return [statusLink, textWithCode(resolveReference(document, response).description)]
  })
  // Error bodies are shown with the errors.
  const bodies = Object.entries(responses).flatMap(([status, response]) => {
    return isReference(response) ? [] : [html`<h4>${status}</h4>\n`, responseBody(response)]
  })
  return html`<p><strong>${summary}.</strong> ${security.length === 0 ? 'Needs no key.' : 'Needs a key.'}</p>
${paragraphsHtml(description)}
${samples.map(({ label, source }) => exampleHtml(label, source))}
${parameterRows.length > 0 && html`<h3>Parameters</h3>\n${tableHtml(['Name', 'Values', 'Meaning'], parameterRows)}`}
<h3>Answers</h3>
${tableHtml(['Status', 'Meaning'], answerRows)}${bodies}`
}

function errorSection(name: string, response: ResponseObject): TemplateValue {
  return html`<h3 id="error-${name}">${name}</h3>\n${paragraphsHtml(response.description)}${responseBody(response)}`
}

/** Links to the headers of an answer, the schema of its body, and examples of the body. */
function responseBody({ headers = {}, content = {} }: ResponseObject): TemplateValue {
  const links = Object.keys(headers).map((name, i) => [i > 0 && ', ', html`<a href="#header-${name}">${name}</a>`])
  const bodies = Object.values(content).map(({ schema, examples = {} }) => {
    const figures = Object.values(examples).map(({ summary, value }) =>
      exampleHtml(summary, JSON.stringify(value, null, 2)),
    )
    return html`<p>Body: ${valuesInWords(schema)}</p>\n${figures}`
  })
  return html`<p>Headers: ${links}</p>\n${bodies}`
}

/** The description of a schema, and the keys of an object with the meaning of each. */
function schemaSection(name: string, schema: Schema): TemplateValue {
  const rows = keyRows(schema)
  const keys = rows.length > 0 && tableHtml(['Key', 'Values', 'Meaning'], rows)
  return html`<h3 id="schema-${name}">${name}</h3>\n${paragraphsHtml(descriptionOf(schema))}${keys || html`<p>${valuesInWords(schema)}</p>\n`}`
}

/**
 * A table row for each key of an object, followed by the rows of objects inside its value. Objects with a named schema
 * are only linked. The key `*` describes all keys that the schema does not name.
 * @param path of the object inside the outermost one, such as `limits.`
 */
function keyRows({ properties, required = [], additionalProperties }: Schema, path = ''): TemplateValue[][] {
  const keys: [string, Schema][] = isSchema(properties) ? Object.entries(properties) : []
  if (isSchema(additionalProperties)) keys.push(['*', additionalProperties])
  return keys.flatMap(([key, value]) => {
    const isRequired = (required as string[]).includes(key)
    const note = isRequired ? '' : html`<span class="faint"> may be absent</span>`
    const row = [[code(path + key), note], valuesInWords(value), textWithCode(descriptionOf(value))]
    const variants = [value, ...((value.anyOf ?? []) as Schema[])]
    return [row, ...variants.flatMap(variant => keyRows(variant, `${path}${key}.`))]
  })
}

const descriptionOf = ({ description = '' }: Schema): string => String(description)

/** The values that a schema allows, in words; `false` parts are not shown. Named schemas become links. */
function valuesInWords(schema: Schema): TemplateValue {
  const { $ref, type, const: onlyValue, enum: values, anyOf, items, default: defaultValue } = schema
  const isPlain = onlyValue === undefined && values === undefined && type !== undefined
  const name = String($ref).replace(SCHEMAS_AT, '')
  const parts: TemplateValue[] = [
    $ref !== undefined && html`<a href="#schema-${name}">${name}</a>`,
    isPlain && [type].flat().join(' or '),
    onlyValue !== undefined && code(onlyValue),
    Array.isArray(values) && codeList(values),
    Array.isArray(anyOf) && anyOf.flatMap((part, i) => [i > 0 && ' or ', valuesInWords(part)]),
    isSchema(items) && [' of ', valuesInWords(items)],
    ...SHOWN_KEYWORDS.map(keyword => keyword in schema && html`, ${keyword} ${code(schema[keyword])}`),
    defaultValue !== undefined && html` (default ${code(defaultValue)})`,
  ]
  return parts.some(part => part !== false) ? parts : 'anything'
}

const SHOWN_KEYWORDS = ['format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength']

const isSchema = (part: unknown): part is Readonly<Record<string, Schema>> =>
  typeof part === 'object' && part !== null && Object.keys(part).length > 0

/** A table whose first column names the rows. Each cell has its column's name as an attribute, for narrow screens. */
function tableHtml(columns: readonly string[], rows: readonly (readonly TemplateValue[])[]): TemplateValue {
  const head = columns.map(column => html`<th scope="col">${column}</th>`)
  const body = rows.map(([name, ...cells]) => {
    const otherCells = cells.map((cell, i) => html`<td data-label="${columns[i + 1]}">${cell}</td>`)
    return html`<tr><th scope="row">${name}</th>${otherCells}</tr>\n`
  })
  return html`<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody>\n</table>\n`
}

function exampleHtml(caption: string, text: string): TemplateValue {
  return html`<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>\n`
}

/** A description as HTML paragraphs. They are separated by empty lines, and have code in backticks. */
function paragraphsHtml(description: string): TemplateValue {
  return description !== '' && description.split(/\n{2,}/).map(text => html`<p>${textWithCode(text)}</p>\n`)
}

/** A text with code in backticks, as HTML. */
function textWithCode(text: string): TemplateValue {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? code(part) : part))
}

const code = (value: unknown): TemplateValue => html`<code>${String(value)}</code>`
const codeWithId = (kind: string, name: string): TemplateValue => html`<code id="${kind}-${name}">${name}</code>`
const codeList = (words: readonly unknown[]): TemplateValue => words.map((word, i) => [i > 0 && ', ', code(word)])

/** The style of the page: light or dark by preference, rows as cards on narrow screens, plain on paper. */
const STYLE = `
:root { color-scheme: light dark; --line: #8886; --faint: light-dark(#5b6570, #9ba6b1); }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h2 { margin-top: 2rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre { border: 1px solid var(--line); padding: .75rem; overflow-x: auto; }
nav ul { list-style: none; padding: 0; columns: 16rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
thead th, figcaption, .faint { color: var(--faint); font-weight: 400; }
@media screen and (max-width: 44rem) {
  table, tbody, tr, th, td { display: block; border: 0; padding: .1rem 0; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--faint); }
}
@media print {
  :root { color-scheme: light; }
  nav { display: none; }
  pre { white-space: pre-wrap; }
  tr, figure { break-inside: avoid; }
}
`
