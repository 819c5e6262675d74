import { type OpenApiDocument, type ResponseObject, resolve, type Schema } from '../openapi/document.js'
import { type Html, html, joined, NOTHING } from './html.js'
import { bodiesOf, operationsOf } from './operations.js'
import { inline, prose, table, typeOf } from './words.js'

export function authentication({ components, servers }: OpenApiDocument): Html {
  const schemes = Object.values(components.securitySchemes).map(({ description }) => prose(description))
  const urls = servers.map(({ url }) => (url === '/' ? html`the server of this page` : html`<code>${url}</code>`))
  return html`<p>All paths are those of ${joined(urls, ', ')}.</p>\n${schemes.flat()}`
}

export function tiers({ 'x-tiers': granted }: OpenApiDocument): Html {
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

export function fields({ 'x-fields': known }: OpenApiDocument): Html {
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

export function schemas({ components }: OpenApiDocument): Html {
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
