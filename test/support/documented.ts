import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type OpenApiDocument, resolveReference } from '../../src/server/http/openapi.js'
import { type Reference, SCHEMAS_AT, type Schema } from '../../src/server/http/openapi-answers.js'

/** The schemas of an OpenAPI document as a validator reads them, strictly: no keyword, format or key that it does not know. */
export class Documented {
  readonly document: OpenApiDocument
  readonly #ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: OpenApiDocument) {
    this.document = document
    formats.default(this.#ajv)
    const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [name, closed(schema)])
    this.#ajv.addSchema(local({ $id: ROOT, $defs: Object.fromEntries(schemas) }))
  }

  /** What is wrong with a value by a schema of the document, or by one of its parts; null when nothing is. */
  faults(schema: Schema | Reference, value: unknown): string | null {
    const text = JSON.stringify(schema)
    let validate = this.#compiled.get(text)
    if (validate === undefined) {
      validate = this.#ajv.compile(local(closed(schema), ROOT))
      this.#compiled.set(text, validate)
    }
    return validate(value) ? null : this.#ajv.errorsText(validate.errors)
  }

  accepts(schema: Schema | Reference, value: unknown): boolean {
    return this.faults(schema, value) === null
  }

  /** What is wrong with a JSON answer of a path and a status, headers included; null when nothing is. */
  faultsOf(path: string, { status, headers, body }: Answered): string | null {
    const found = this.document.paths[path]!.get.responses[status]
    if (found === undefined) return `${status} is not documented`
    const { content } = resolveReference(this.document, found)
    const names = new Set(this.headersOf(path, status).map(name => name.toLowerCase()))
    const unknown = headers.filter(name => !names.has(name.toLowerCase()) && !OF_HTTP.has(name.toLowerCase()))
    if (unknown.length > 0) return `${status}: headers ${unknown.join(', ')} are not documented`
    const schema = content?.['application/json']?.schema
    if (schema === undefined) return body === undefined ? null : `${status} has no body`
    return this.faults(schema, body)
  }

  /** Names of the headers that an answer has. */
  headersOf(path: string, status: number): string[] {
    return Object.keys(resolveReference(this.document, this.document.paths[path]!.get.responses[status]!).headers ?? {})
  }
}

export interface Answered {
  status: number
  /** Names. */
  headers: readonly string[]
  body: unknown
}

/** Headers of the transport or of the media type, not of the answer. */
const OF_HTTP = new Set([
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  'x-content-type-options',
])

const ROOT = 'https://bands.invalid/schemas'

/** References into the document become references into what the validator holds. */
function local(schema: Schema, base = ''): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll(`"${SCHEMAS_AT}`, `"${base}#/$defs/`)) as Schema
}

/** The same without leave for keys that nobody described. */
function closed(schema: object): Schema {
  const parts = Object.entries(schema).map(([key, part]) => [key, closedPart(part)])
  const copy = Object.fromEntries(parts) as Record<string, unknown>
  const isOpen = JSON.stringify(copy.additionalProperties) === '{}'
  return isOpen ? { ...copy, additionalProperties: false } : copy
}

function closedPart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closedPart)
  return typeof part === 'object' && part !== null ? closed(part) : part
}
