import {
  isReference,
  type OpenApiDocument,
  type Operation,
  type ParameterObject,
  type ResponseObject,
  resolve,
  type Schema,
} from '../openapi/document.js'
import { type Html, html, joined, NOTHING } from './html.js'
import { codeBlock, inline, prose, table, typeOf } from './words.js'

export function operationsOf({ paths }: OpenApiDocument): { path: string; operation: Operation }[] {
  return Object.entries(paths).map(([path, { get }]) => ({ path, operation: get }))
}

/** What one operation takes and answers. */
export function operationTables(document: OpenApiDocument, operation: Operation): Html {
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

export function bodiesOf({ content = {} }: ResponseObject): Html[] {
  const examples = Object.values(content).flatMap(({ examples: given = {} }) => Object.values(given))
  return examples.map(({ summary, value }) => codeBlock(summary, JSON.stringify(value, null, 2)))
}
