import { sha256 } from './exchange.js'
import {
  isReference,
  type OpenApiDocument,
  type Operation,
  type ParameterObject,
  type ResponseObject,
  resolve,
  SCHEMAS_AT,
  type Schema,
} from './openapi/document.js'

/** Text that is HTML already; any other text is escaped where it is put in. */
class Html {
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

const NOTHING = new Html('')

/** Pieces with something between them. */
function joined(parts: readonly Html[], between: string): Html {
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

/** The look of the page: light or dark as the reader likes it, rows as cards where it is narrow, plain on paper. */
const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2127; --faint: #5b6570; --line: #d5dae0; --shade: #f4f6f8; --accent: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e4e8ec; --faint: #9ba6b1; --line: #343b43; --shade: #1d2227; --accent: #7db7f5; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; padding: 1.5rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word;
}
a { color: var(--accent); }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .5rem; }
h1 { margin-top: 0; font-size: 1.9rem; }
h2 { font-size: 1.4rem; padding-top: 1.5rem; border-top: 1px solid var(--line); margin-top: 2.5rem; }
h3 { font-size: 1.1rem; }
h2 a, h3 a { color: inherit; text-decoration: none; }
h2 a:hover, h3 a:hover { text-decoration: underline; }
p { max-width: 46rem; margin: .6rem 0; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre {
  background: var(--shade); border: 1px solid var(--line); border-radius: 4px; padding: .75rem; margin: .4rem 0 1rem;
  overflow-x: auto;
}
figure { margin: 1rem 0; }
figcaption { color: var(--faint); }
nav ul { list-style: none; padding: 0; margin: 1rem 0; columns: 16rem; }
nav li { padding: .15rem 0; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 1.25rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--faint); font-weight: 600; }
tbody th { font-weight: 600; }
td { overflow-wrap: anywhere; }
.faint { color: var(--faint); font-weight: 400; }
@media screen and (max-width: 44rem) {
  body { padding: 1rem; }
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  th, td { border: 0; padding: .1rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--faint); }
}
@media print {
  :root { --paper: #fff; --ink: #000; --faint: #444; --line: #999; --shade: #fff; --accent: #000; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  nav { display: none; }
  pre { white-space: pre-wrap; }
  h2, h3, figcaption { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
`

interface DocsPage {
  html: string
  /** For the header Content-Security-Policy: this page's own style, and nothing else from anywhere. */
  csp: string
}

/** One readable page, made of the document alone: no script, nothing that is loaded, whatever the document says. */
export function docsPage(document: OpenApiDocument): DocsPage {
  const { title, version } = document.info
  const sections = sectionsOf(document)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}</title>
<style>${STYLE_TAG}</style>
</head>
<body>
<header>
<h1>${title} <span class="faint">${version}</span></h1>
${prose(document.info.description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI ${document.openapi}.</p>
</header>
<nav aria-label="Contents"><ul>
${sections.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>\n`)}</ul></nav>
<main>
${sections.map(sectionHtml)}</main>
</body>
</html>
`
  return { html: page.text, csp: CSP }
}

interface Section {
  id: string
  title: string
  body: Html
}

function sectionsOf(document: OpenApiDocument): Section[] {
  return [
    { id: 'authentication', title: 'Authentication', body: authentication(document) },
    { id: 'tiers', title: 'Tiers and limits', body: tiers(document) },
    ...operationsOf(document).map(({ path, operation }) => ({
      id: operation.operationId,
      title: `GET ${path}`,
      body: operationTables(document, operation),
    })),
    { id: 'errors', title: 'Errors', body: errors(document) },
    { id: 'headers', title: 'Headers of answers', body: headers(document) },
    { id: 'fields', title: 'Fields and their bands', body: fields(document) },
    { id: 'schemas', title: 'Schemas', body: schemas(document) },
  ]
}

function sectionHtml({ id, title, body }: Section): Html {
  return html`<section id="${id}">\n<h2><a href="#${id}">${title}</a></h2>\n${body}</section>\n`
}

/** The hash is of what stands between the tags, to the letter. */
const STYLE_TAG = new Html(STYLE)
const CSP = [
  "default-src 'none'",
  `style-src 'sha256-${sha256(STYLE).toString('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function operationsOf({ paths }: OpenApiDocument): { path: string; operation: Operation }[] {
  return Object.entries(paths).map(([path, { get }]) => ({ path, operation: get }))
}

/** What one operation takes and answers. */
function operationTables(document: OpenApiDocument, operation: Operation): Html {
  const { summary, description, security, parameters = [], 'x-codeSamples': samples = [] } = operation
  const found = parameters.map(parameter => resolve(document, parameter))
  return html`<p><strong>${summary}.</strong> ${security.length === 0 ? 'Needs no key.' : 'Needs a key.'}</p>
${prose(description)}
${samples.map(({ label, source }) => codeBlock(label, source))}
${parameterTable(document, 'Parameters', ofKind(found, 'query'))}${parameterTable(document, 'Headers of requests', ofKind(found, 'header'))}
<h3>Answers</h3>
${answerTable(document, operation)}${headerTable(document, operation)}${examplesOf(document, operation)}`
}

function ofKind(parameters: readonly ParameterObject[], where: ParameterObject['in']): ParameterObject[] {
  return parameters.filter(parameter => parameter.in === where)
}

function parameterTable(document: OpenApiDocument, title: string, parameters: readonly ParameterObject[]): Html {
  if (parameters.length === 0) return NOTHING
  const rows = parameters.map(({ name, required, schema, description }) => [
    html`<code>${name}</code>${required ? html` <span class="faint">required</span>` : NOTHING}`,
    valuesOf(document, schema),
    html`${inline(description)}`,
  ])
  return html`<h3>${title}</h3>\n${table(['Name', 'Values', 'Meaning'], rows)}`
}

/** A few words stand there themselves; more than a few are looked up. */
function valuesOf(document: OpenApiDocument, schema: Schema): Html {
  const { enum: words, ...rest } = resolve<Schema>(document, schema)
  const few = !Array.isArray(words) || words.length <= FEW
  const values = few ? typeOf(words === undefined ? rest : { enum: words }) : typeOf(schema)
  return schema.default === undefined ? values : html`${values}; <code>${String(schema.default)}</code> unless given`
}

const FEW = 8

function answerTable(document: OpenApiDocument, { responses }: Operation): Html {
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description, content = {} } = resolve<ResponseObject>(document, response)
    const bodies = Object.values(content).map(({ schema }) => typeOf(schema))
    return [statusLink(status), html`${inline(description)}`, bodies.length === 0 ? html`none` : joined(bodies, ' or ')]
  })
  return table(['Status', 'Meaning', 'Body'], rows)
}

/** Headers that come with the same answers share a row. */
function headerTable(document: OpenApiDocument, { responses }: Operation): Html {
  const statuses = new Map<string, string[]>()
  for (const [status, response] of Object.entries(responses))
    for (const name of Object.keys(resolve<ResponseObject>(document, response).headers ?? {}))
      statuses.set(name, [...(statuses.get(name) ?? []), status])
  const names = new Map<string, string[]>()
  for (const [name, found] of statuses) names.set(found.join(' '), [...(names.get(found.join(' ')) ?? []), name])
  const rows = [...names].map(([found, members]) => [
    joined(found.split(' ').map(statusLink), ', '),
    joined(members.map(headerLink), ', '),
  ])
  return table(['Status', 'Headers'], rows)
}

function headerLink(name: string): Html {
  return html`<a href="#header-${name}">${name}</a>`
}

function statusLink(status: string): Html {
  return Number(status) < 400 ? html`${status}` : html`<a href="#error-${status}">${status}</a>`
}

/** Those of the operation's own answers; errors have theirs in one place. */
function examplesOf(document: OpenApiDocument, { responses }: Operation): Html[] {
  const own = Object.values(responses).filter(response => !isReference(response))
  return own.flatMap(response => bodiesOf(resolve<ResponseObject>(document, response)))
}

function bodiesOf({ content = {} }: ResponseObject): Html[] {
  const examples = Object.values(content).flatMap(({ examples: given = {} }) => Object.values(given))
  return examples.map(({ summary, value }) => codeBlock(summary, JSON.stringify(value, null, 2)))
}

function authentication({ components, servers }: OpenApiDocument): Html {
  const schemes = Object.values(components.securitySchemes).map(({ description }) => prose(description))
  const urls = servers.map(({ url }) => (url === '/' ? html`the server of this page` : html`<code>${url}</code>`))
  return html`<p>All paths are those of ${joined(urls, ', ')}.</p>\n${schemes.flat()}`
}

function tiers({ 'x-tiers': granted }: OpenApiDocument): Html {
  const rows = granted.map(({ tier, range, aftermath, context, credits }) => [
    html`${tier}`,
    html`${range}`,
    yesOrNo(aftermath),
    yesOrNo(context),
    number(credits.day),
    number(credits.hour),
  ])
  return table(['Tier', 'Range', 'Aftermath', 'Context', 'Credits a day', 'Credits an hour'], rows)
}

function fields({ 'x-fields': known }: OpenApiDocument): Html {
  const rows = known.map(({ field, tier, summary, bands }) => [
    html`<code id="field-${field}">${field}</code>`,
    html`${tier}`,
    html`${summary}`,
    codes(bands),
  ])
  return table(['Field', 'From tier', 'Tells', 'Bands'], rows)
}

export function headers({ components }: OpenApiDocument): Html {
  const rows = Object.entries(components.headers).map(([name, { description, schema, example }]) => [
    html`<code id="header-${name}">${name}</code>`,
    html`${inline(description)}`,
    typeOf(schema),
    html`<code>${example}</code>`,
  ])
  return table(['Header', 'Meaning', 'Values', 'Example'], rows)
}

/** Status by status: when it comes, the type its body tells, and examples. */
export function errors(document: OpenApiDocument): Html {
  const found = errorsOf(document)
  const rows = found.map(([status, name, { description }]) => [
    html`<a href="#error-${status}">${status}</a>`,
    html`<a href="#schema-${name}">${name}</a>`,
    html`${inline(description)}`,
  ])
  const examples = found.map(
    ([status, , response]) => html`<h3 id="error-${status}">${status}</h3>\n${bodiesOf(response)}`,
  )
  return html`${table(['Status', 'Body', 'When'], rows)}${examples}`
}

/** Error answers by status, in ascending order, with the name of their body's schema. */
function errorsOf(document: OpenApiDocument): [string, string, ResponseObject][] {
  const found = new Map<string, [string, string, ResponseObject]>()
  for (const { operation } of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue
      const answer = resolve<ResponseObject>(document, response)
      const schema = Object.values(answer.content ?? {})[0]?.schema ?? {}
      found.set(status, [status, String(schema.$ref).split('/').at(-1)!, answer])
    }
  }
  return [...found.values()].sort(([a], [b]) => Number(a) - Number(b))
}

function schemas({ components }: OpenApiDocument): Html {
  return html`${Object.entries(components.schemas).map(([name, schema]) => schemaHtml(name, schema))}`
}

function schemaHtml(name: string, schema: Schema): Html {
  const description = typeof schema.description === 'string' ? prose(schema.description) : []
  const keys = keyRows(schema, '')
  const body = keys.length === 0 ? html`<p>${typeOf(schema)}</p>` : table(['Key', 'Type', 'Meaning'], keys)
  return html`<h3 id="schema-${name}"><a href="#schema-${name}">${name}</a></h3>\n${description}${body}\n`
}

/** The keys of an object, and those of objects in it that have no name, each with its path. */
function keyRows(schema: Schema, path: string): Html[][] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const required = (schema.required ?? []) as string[]
  const named = properties.flatMap(([key, part]) => keyRow(path + key, part, required.includes(key)))
  const rest = schema.additionalProperties as Schema | undefined
  return rest === undefined || Object.keys(rest).length === 0 ? named : [...named, ...keyRow(`${path}*`, rest, false)]
}

function keyRow(path: string, schema: Schema, always: boolean): Html[][] {
  const about = typeof schema.description === 'string' ? schema.description : ''
  const row = [
    html`<code>${path}</code>${always ? NOTHING : html` <span class="faint">may be absent</span>`}`,
    typeOf(schema),
    html`${inline(about)}`,
  ]
  const inside = [schema, ...((schema.anyOf ?? []) as Schema[])]
  return [row, ...inside.flatMap(part => keyRows(part, `${path}.`))]
}

function codes(words: readonly string[]): Html {
  return joined(
    words.map(word => html`<code>${word}</code>`),
    ', ',
  )
}

function yesOrNo(granted: boolean): Html {
  return html`${granted ? 'yes' : 'no'}`
}

function number(count: number): Html {
  return html`${count.toLocaleString('en-US')}`
}

/** Descriptions: paragraphs with an empty line between, code in backticks. */
function prose(description: string): Html[] {
  return description.split(/\n{2,}/).map(text => html`<p>${inline(text)}</p>`)
}

/** One line of a description. */
function inline(text: string): Html[] {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))
}

/** What a schema lets through, in words; what has a name is linked. */
function typeOf(schema: Schema): Html {
  if (isReference(schema)) return schemaLink(schema.$ref.replace(SCHEMAS_AT, ''))
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  if (Array.isArray(schema.enum)) return words(schema.enum as string[])
  if (Array.isArray(schema.anyOf)) return joined((schema.anyOf as Schema[]).map(typeOf), ' or ')
  if (Array.isArray(schema.type)) return html`${schema.type.join(' or ')}`
  if (schema.type === 'array') return html`array of ${typeOf(schema.items as Schema)}`
  return html`${[String(schema.type ?? 'anything'), ...limitsOf(schema)].join(', ')}`
}

function schemaLink(name: string): Html {
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
function table(columns: readonly string[], rows: readonly (readonly Html[])[]): Html {
  const head = columns.map(column => html`<th scope="col">${column}</th>`)
  const body = rows.map(([name = new Html(''), ...cells]) => {
    const rest = cells.map((cell, i) => html`<td data-label="${columns[i + 1]!}">${cell}</td>`)
    return html`<tr><th scope="row">${name}</th>${rest}</tr>\n`
  })
  return html`<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody>\n</table>\n`
}

function codeBlock(caption: string, text: string): Html {
  return html`<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>\n`
}
