import { isReference, type OpenApiDocument, type Operation, resolve } from './openapi.js'
import { type ResponseObject, SCHEMAS_AT, type Schema } from './openapi-answers.js'
import { sha256 } from './requests.js'

/** One readable page, made of the document alone: no script, nothing that is loaded, whatever the document says. */
export function docsPage(document: OpenApiDocument): { html: string; csp: string } {
  const { info, openapi } = document
  const sections = sectionsOf(document)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} ${info.version}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header>
<h1>${info.title} <span class="faint">${info.version}</span></h1>
${prose(info.description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI ${openapi}.</p>
</header>
<nav aria-label="Contents"><ul>
${sections.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>\n`)}</ul></nav>
<main>
${sections.map(([id, title, body]) => html`<section id="${id}">\n<h2><a href="#${id}">${title}</a></h2>\n${body}</section>\n`)}</main>
</body>
</html>
`
  // The hash is of what stands between the tags, to the letter: this page's own style, and nothing else from anywhere.
  const style = `style-src 'sha256-${sha256(STYLE).toString('base64')}'`
  const csp = ["default-src 'none'", style, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join(
    '; ',
  )
  return { html: page.text, csp }
}

function sectionsOf(document: OpenApiDocument): [id: string, title: string, body: Part][] {
  const { components, paths, servers, 'x-tiers': tiers, 'x-fields': fields } = document
  const where = servers.map(({ url }) => (url === '/' ? 'the server of this page' : code(url)))
  const keys = html`<p>All paths are those of ${listed(where)}.</p>\n${prose(components.securitySchemes.bearer.description)}`
  const granted = tiers.map(({ tier, range, aftermath, context, credits: { day, hour } }) => {
    return [tier, range, yesOrNo(aftermath), yesOrNo(context), number(day), number(hour)]
  })
  const headers = Object.entries(components.headers).map(([name, { description, schema, example }]) => {
    return [html`<code id="header-${name}">${name}</code>`, inline(description), typeOf(schema), code(String(example))]
  })
  const bands = fields.map(({ field, tier, summary, bands }) => {
    return [html`<code id="field-${field}">${field}</code>`, tier, summary, listed(bands.map(code))]
  })
  return [
    ['authentication', 'Authentication', keys],
    [
      'tiers',
      'Tiers and limits',
      table(['Tier', 'Range', 'Aftermath', 'Context', 'Credits a day', 'Credits an hour'], granted),
    ],
    ...Object.entries(paths).map(([path, { get }]): [string, string, Part] => {
      return [get.operationId, `GET ${path}`, operationOf(document, get)]
    }),
    ['errors', 'Errors', errorsOf(document)],
    ['headers', 'Headers of answers', table(['Header', 'Meaning', 'Values', 'Example'], headers)],
    ['fields', 'Fields and their bands', table(['Field', 'From tier', 'Tells', 'Bands'], bands)],
    ['schemas', 'Schemas', Object.entries(components.schemas).map(([name, schema]) => schemaOf(name, schema))],
  ]
}

/** What one operation takes and answers. */
function operationOf(document: OpenApiDocument, operation: Operation): Part {
  const { summary, description, security, parameters = [], responses, 'x-codeSamples': samples = [] } = operation
  const taken = parameters.map(found => {
    const { name, in: place, required, schema, description } = resolve(document, found)
    const more = [place === 'header' ? ' header' : '', required ? ' required' : ''].join('')
    return [[code(name), faint(more)], valuesOf(document, schema), inline(description)]
  })
  const answers = Object.entries(responses).map(([status, found]) => {
    const { description, content = {}, headers = {} } = resolve(document, found)
    const bodies = Object.values(content).map(({ schema }) => typeOf(schema))
    const row = [statusLink(status), inline(description), bodies.length === 0 ? 'none' : bodies]
    // Examples of errors stand with the errors.
    return { status, row, headers: Object.keys(headers), own: isReference(found) ? [] : examplesIn(content) }
  })
  return html`<p><strong>${summary}.</strong> ${security.length === 0 ? 'Needs no key.' : 'Needs a key.'}</p>
${prose(description)}
${samples.map(({ label, source }) => codeBlock(label, source))}
${taken.length === 0 ? '' : html`<h3>Parameters</h3>\n${table(['Name', 'Values', 'Meaning'], taken)}`}
<h3>Answers</h3>
${table(
  ['Status', 'Meaning', 'Body'],
  answers.map(({ row }) => row),
)}${headersOf(answers)}${answers.map(({ own }) => own)}`
}

/** Headers that come with the same answers share a row. */
function headersOf(answers: readonly { status: string; headers: readonly string[] }[]): Part {
  const together = new Map<string, string[]>()
  for (const name of new Set(answers.flatMap(({ headers }) => headers))) {
    const statuses = answers.flatMap(({ status, headers }) => (headers.includes(name) ? [status] : [])).join(' ')
    together.set(statuses, [...(together.get(statuses) ?? []), name])
  }
  const rows = [...together].map(([statuses, names]) => [
    listed(statuses.split(' ').map(statusLink)),
    listed(names.map(name => html`<a href="#header-${name}">${name}</a>`)),
  ])
  return table(['Status', 'Headers'], rows)
}

function statusLink(status: string): Part {
  return Number(status) < 400 ? status : html`<a href="#error-${status}">${status}</a>`
}

/** Status by status: when it comes, the type its body tells, and examples. */
function errorsOf(document: OpenApiDocument): Part {
  const responses = Object.values(document.paths).flatMap(({ get }) => Object.entries(get.responses))
  const errors = [...new Map(responses.filter(([status]) => Number(status) >= 400))]
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([status, found]) => ({ status, ...resolve(document, found) }))
  const rows = errors.map(({ status, description, content = {} }) => {
    return [statusLink(status), Object.values(content).map(({ schema }) => typeOf(schema)), inline(description)]
  })
  const examples = errors.map(({ status, content = {} }) => {
    return html`<h3 id="error-${status}">${status}</h3>\n${examplesIn(content)}`
  })
  return [table(['Status', 'Body', 'When'], rows), examples]
}

function examplesIn(content: NonNullable<ResponseObject['content']>): Part {
  const examples = Object.values(content).flatMap(({ examples: given = {} }) => Object.values(given))
  return examples.map(({ summary, value }) => codeBlock(summary, JSON.stringify(value, null, 2)))
}

function schemaOf(name: string, schema: Schema): Part {
  const keys = keyRows(schema, '')
  const body = keys.length === 0 ? html`<p>${typeOf(schema)}</p>` : table(['Key', 'Type', 'Meaning'], keys)
  return html`<h3 id="schema-${name}"><a href="#schema-${name}">${name}</a></h3>\n${prose(aboutOf(schema))}${body}\n`
}

/** The keys of an object, and those of objects in it that have no name, each with its path. */
function keyRows(schema: Schema, path: string): Part[][] {
  const required = (schema.required ?? []) as string[]
  const keys = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const rest = (schema.additionalProperties ?? {}) as Schema
  if (Object.keys(rest).length > 0) keys.push(['*', rest])
  return keys.flatMap(([key, part]) => {
    const name = [code(path + key), faint(required.includes(key) ? '' : ' may be absent')]
    const inside = [part, ...((part.anyOf ?? []) as Schema[])]
    return [[name, typeOf(part), inline(aboutOf(part))], ...inside.flatMap(deeper => keyRows(deeper, `${path}${key}.`))]
  })
}

function aboutOf({ description }: Schema): string {
  return typeof description === 'string' ? description : ''
}

/** A few words stand there themselves; more than a few are looked up. */
function valuesOf(document: OpenApiDocument, schema: Schema): Part {
  const { enum: words, ...rest } = resolve<Schema>(document, schema)
  const few = !Array.isArray(words) || words.length <= FEW
  const values = few ? typeOf(words === undefined ? rest : { enum: words }) : typeOf(schema)
  return schema.default === undefined ? values : [values, '; ', code(String(schema.default)), ' unless given']
}

const FEW = 8

/** What a schema lets through, in words; what has a name is linked. */
function typeOf(schema: Schema): Part {
  const { const: word, enum: words, anyOf, type = 'anything', items } = schema
  if (isReference(schema)) {
    const name = schema.$ref.replace(SCHEMAS_AT, '')
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (word !== undefined) return code(String(word))
  if (Array.isArray(words)) return listed(words.map(code))
  if (Array.isArray(anyOf)) return listed(anyOf.map(typeOf), ' or ')
  if (Array.isArray(type)) return type.join(' or ')
  if (type === 'array') return ['array of ', typeOf(items as Schema)]
  return [String(type), ...limitsOf(schema)].join(', ')
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
function table(columns: readonly string[], rows: readonly (readonly Part[])[]): Part {
  const head = columns.map(column => html`<th scope="col">${column}</th>`)
  const body = rows.map(([name = '', ...cells]) => {
    const rest = cells.map((cell, i) => html`<td data-label="${columns[i + 1]!}">${cell}</td>`)
    return html`<tr><th scope="row">${name}</th>${rest}</tr>\n`
  })
  return html`<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody>\n</table>\n`
}

function codeBlock(caption: string, text: string): Part {
  return html`<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>\n`
}

/** Descriptions: paragraphs with an empty line between, code in backticks. */
function prose(description: string): Part {
  return description === '' ? '' : description.split(/\n{2,}/).map(text => html`<p>${inline(text)}</p>`)
}

/** One line of a description. */
function inline(text: string): Part {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? code(part) : part))
}

function listed(parts: readonly Part[], between = ', '): Part {
  return parts.map((part, i) => (i === 0 ? part : [between, part]))
}

const code = (text: string): Part => html`<code>${text}</code>`
const faint = (text: string): Part => (text === '' ? '' : html`<span class="faint">${text}</span>`)
const yesOrNo = (granted: boolean): string => (granted ? 'yes' : 'no')
const number = (count: number): string => count.toLocaleString('en-US')

/** Text that is HTML already; any other text is escaped where it is put in. */
class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | Html | readonly Part[]

/** Writes HTML: whatever is put in stands there as it is read, never as markup. */
function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((before, text, i) => before + textOf(parts[i - 1]!) + text))
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part !== 'string') return part.map(textOf).join('')
  return part.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
}

/** The look of the page: light or dark as the reader likes it, rows as cards where it is narrow, plain on paper. */
const STYLE = `
:root { color-scheme: light dark; --line: #d5dae0; --faint: #5b6570; }
@media (prefers-color-scheme: dark) { :root { --line: #343b43; --faint: #9ba6b1; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .5rem; }
h2 { padding-top: 1.5rem; border-top: 1px solid var(--line); }
h2 a, h3 a { color: inherit; text-decoration: none; }
p { max-width: 46rem; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre { border: 1px solid var(--line); border-radius: 4px; padding: .75rem; overflow-x: auto; }
figure { margin: 1rem 0; }
nav ul { list-style: none; padding: 0; columns: 16rem; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 1.25rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
thead th, figcaption, .faint { color: var(--faint); font-weight: 400; }
@media screen and (max-width: 44rem) {
  table, tbody, tr, th, td { display: block; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  th, td { border: 0; padding: .1rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--faint); }
}
@media print {
  :root { color-scheme: light; --line: #999; --faint: #444; }
  nav { display: none; }
  pre { white-space: pre-wrap; }
  tr, figure { break-inside: avoid; }
}
`
