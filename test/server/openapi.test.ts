import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidParameter } from '../../src/errors.js'
import { FIELD_NAMES } from '../../src/fields/index.js'
import { EVENTS, OVERSOLD, type Parameter } from '../../src/params/parameters.js'
import { parseEvents } from '../../src/params/parse.js'
import { requestName } from '../../src/server/meter.js'
import { isReference, type Operation, resolve, type Schema } from '../../src/server/openapi/document.js'
import { openApi } from '../../src/server/openapi.js'
import { PLANS } from '../../src/tiers.js'
import { Documented } from '../support/documented.js'

const FLAT = openApi({ version: '1.2.3', errors: 'flat' })
const NESTED = openApi({ version: '1.2.3', errors: 'nested', url: 'https://bands.example' })
const DOCUMENTS = [FLAT, NESTED]

describe('the document', () => {
  it('is OpenAPI 3.1: every reference leads somewhere, every part has what the standard asks for', () => {
    for (const document of DOCUMENTS) {
      expect(document.openapi).toMatch(/^3\.1\.\d$/)
      for (const { $ref } of partsOf(document).flatMap(part => (isReference(part) ? [part] : []))) {
        expect($ref).toMatch(/^#\/components\/(schemas|parameters|headers|responses)\/[A-Za-z0-9._-]+$/)
        expect(resolve(document, { $ref }), $ref).toBeDefined()
      }
      const operations = operationsOf(document)
      expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
      for (const operation of operations) expectOperation(document, operation)
    }
  })

  it('has no schema that is not a valid one of 2020-12', () => {
    for (const document of DOCUMENTS) {
      const documented = new Documented(document)
      for (const schema of schemasOf(document)) expect(() => documented.faults(schema, null)).not.toThrow()
    }
  })

  it('says everything once: no two names for one schema, no list of words that is written twice', () => {
    for (const document of DOCUMENTS) {
      const schemas = Object.values(document.components.schemas).map(schema => JSON.stringify(schema))
      expect(new Set(schemas).size).toBe(schemas.length)
      const words = partsOf(document.components.schemas).flatMap(part =>
        'enum' in part ? [JSON.stringify(part.enum)] : [],
      )
      expect(words.filter((list, i) => words.indexOf(list) < i)).toEqual([])
    }
  })

  it('has the parameters of both questions in order, with what is needed and what holds unless given', () => {
    for (const [path, table] of Object.entries({ '/v1/events': EVENTS, '/v1/scan/oversold': OVERSOLD })) {
      const found = queryOf(path)
      expect(found.map(({ name }) => name)).toEqual(Object.keys(table))
      for (const [i, { about, required, fallback }] of (Object.values(table) as Parameter[]).entries()) {
        const { description, schema, ...rest } = found[i]!
        expect(description.startsWith(about)).toBe(true)
        expect([rest.required, schema.default]).toEqual([required, fallback])
      }
    }
  })

  it('tells what a tier grants: fields, ranges, credits and costs', () => {
    const field = queryOf('/v1/events').find(({ name }) => name === 'field')!.description
    for (const name of FIELD_NAMES) expect(field).toContain(name)
    expect(FLAT['x-fields'].map(found => found.field)).toEqual(FIELD_NAMES)
    expect(FLAT['x-tiers'].map(({ tier, range, credits }) => [tier, range, credits])).toEqual(
      Object.entries(PLANS).map(([tier, { range, credits }]) => [tier, range, credits]),
    )
    expect(FLAT.paths['/v1/events']!.get.description).toMatch(/1 credit, with a context 2 credits/)
    expect(FLAT.paths['/v1/events']!.get.description).toContain('Free 90d, Plus 2y, Pro 5y')
  })

  it('asks for a key where one is needed, and nowhere else', () => {
    const needed = Object.entries(FLAT.paths).map(([path, { get }]) => [path, get.security.length > 0])
    expect(needed).toEqual([
      ['/v1/events', true],
      ['/v1/scan/oversold', true],
      ['/healthz', false],
      ['/readyz', false],
    ])
  })

  it('has examples of every answer, and each is one by its schema', () => {
    for (const document of DOCUMENTS) {
      const documented = new Documented(document)
      for (const { responses } of operationsOf(document)) {
        for (const [status, response] of Object.entries(responses)) {
          const { content = {}, headers = {} } = resolve(document, response)
          for (const { schema, examples = {} } of Object.values(content)) {
            expect(Object.keys(examples), status).not.toEqual([])
            for (const [name, { value }] of Object.entries(examples))
              expect(documented.faults(schema, value), `${status} ${name}`).toBeNull()
          }
          for (const [name, header] of Object.entries(headers)) {
            const { schema, example } = resolve(document, header) as unknown as { schema: Schema; example: unknown }
            expect(documented.faults(schema, example), name).toBeNull()
          }
        }
      }
    }
  })

  it('is where the server says that it is, and its examples ask there', () => {
    expect([FLAT.servers, NESTED.servers]).toEqual([[{ url: '/' }], [{ url: 'https://bands.example' }]])
    const sources = operationsOf(NESTED).flatMap(({ 'x-codeSamples': samples = [] }) => samples)
    for (const { source } of sources) expect(source).toContain('"https://bands.example/v1/')
  })
})

describe('the schema of a parameter', () => {
  const documented = new Documented(FLAT)
  const rows = [...rowsOf('/v1/events', EVENTS), ...rowsOf('/v1/scan/oversold', OVERSOLD)]

  for (const { path, name, schema, parameter } of rows) {
    it(`accepts of ${path} ${name} what the server accepts`, () => {
      fc.assert(
        fc.property(texts(parameter.kind.schema), text => {
          const expected = isRead(name, parameter, text)
          expect(documented.accepts(schema, asDocumented(schema, text)), JSON.stringify(text)).toBe(expected)
        }),
        { numRuns: 1500 },
      )
    })
  }

  it('accepts of Idempotency-Key what the server accepts', () => {
    const { schema } = FLAT.components.parameters.IdempotencyKey!
    const name = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 300 }),
      fc.string({ minLength: 250, maxLength: 260 }),
    )
    fc.assert(
      fc.property(fc.oneof(name, fc.constantFrom(...NASTY)), text => {
        const expected = !refuses(() => requestName(['Idempotency-Key', text]))
        expect(documented.accepts(schema, text), JSON.stringify(text)).toBe(expected)
      }),
      { numRuns: 1500 },
    )
  })

  /** A number stands in a URL as its decimal digits, and in no other way. */
  function asDocumented(schema: Schema, text: string): unknown {
    const { type } = resolve<Schema>(FLAT, schema)
    return type === 'integer' && String(Number(text)) === text ? Number(text) : text
  }
})

/** Which bands there are depends on the field, so a band is read when any field has it. */
function isRead(name: string, { kind }: Parameter, text: string): boolean {
  if (kind !== EVENTS.band.kind) return !refuses(() => kind.parse(name, text))
  return FIELD_NAMES.some(field => !refuses(() => parseEvents({ ticker: 'A', field, band: text })))
}

function refuses(read: () => unknown): boolean {
  try {
    read()
    return false
  } catch (error) {
    if (error instanceof InvalidParameter) return true
    throw error
  }
}

const NASTY = [
  ...['', ' ', '\0', 'A\0B', '\n', 'AAPL\n', ' AAPL', 'a'.repeat(10_000), '🙂', '🙂'.repeat(20), '%FF', '\u{FFFD}'],
  ...['0', '1', '100', '101', '0x10', '1e1', '1e2', '+5', '-0', '-1', '05', '5.0', '5.', '.5', ' 5', '5 ', '٥', '1_0'],
  ...[
    'Infinity',
    'NaN',
    'null',
    'true',
    '99999999999999999999',
    "' OR 1=1 --",
    '../',
    '..%2f',
    '__proto__',
    'constructor',
  ],
  ...['2024-02-29', '2023-02-29', '1900-02-29', '2000-02-29', '0000-01-01', '0000-02-29', '9999-12-31', '2024-13-01'],
  ...['2024-00-10', '2024-1-5', '2024-01-05T00:00:00Z', '2024/01/05', '-2024-01-05', '٢٠٢٤-٠١-٠٥', '2024-01-32'],
  ...['ſPY', 'ı', 'K', 'BRK.B', 'brk-b', '^GSPC', 'EURUSD=X', 'A'.repeat(16), 'A'.repeat(17)],
  ...[
    'Oversold',
    'oversold ',
    'DAILY',
    'daily',
    'Technology',
    'x'.repeat(64),
    'x'.repeat(65),
    '\u2028',
    '\u2028a',
    '\uFEFF',
  ],
  ...['\u0085', 'a\u0085', '\u00A0', '\u3000 \t', 'a\tb', '\u200B', '\u007F'],
]

/** Texts of every kind: nasty ones, random ones, and those that are nearly right. */
function texts({ enum: words }: Schema): fc.Arbitrary<string> {
  const right = fc.constantFrom(...((words as string[] | undefined) ?? ['AAPL', '2024-02-29', '50', 'Real Estate']))
  const near = fc
    .tuple(right, fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }), fc.boolean())
    .map(([word, at, put, cut]) => {
      const i = at % (word.length + 1)
      return word.slice(0, i) + put + word.slice(cut ? i + 1 : i)
    })
  const number = fc.integer({ min: -20, max: 130 }).map(String)
  const digits = fc.tuple(fc.nat(9999), fc.nat(14), fc.nat(33))
  const date = digits.map(([y, m, d]) => `${pad(y, 4)}-${pad(m, 2)}-${pad(d, 2)}`)
  const ticker = fc.string({ unit: fc.constantFrom(...'AZaz09.-^=_ '), minLength: 1, maxLength: 18 })
  const any = fc.string({ unit: 'binary', maxLength: 70 })
  const some = fc.oneof(
    right,
    near,
    number,
    date,
    ticker,
    any,
    fc.string({ unit: 'grapheme', maxLength: 32 }),
    fc.constantFrom(...NASTY),
  )
  return some
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}

function rowsOf(path: string, table: Readonly<Record<string, Parameter>>) {
  return queryOf(path).map(({ name, schema }) => ({ path, name, schema, parameter: table[name]! }))
}

function queryOf(path: string) {
  const found = (FLAT.paths[path]!.get.parameters ?? []).map(parameter => resolve(FLAT, parameter))
  return found.filter(parameter => parameter.in === 'query')
}

function expectOperation(document: typeof FLAT, operation: Operation): void {
  const { parameters = [], responses, security, tags } = operation
  const found = parameters.map(parameter => resolve(document, parameter))
  const places = found.map(parameter => `${parameter.in} ${parameter.name}`)
  expect(new Set(places).size).toBe(places.length)
  // OpenAPI leaves these three to other parts of the document.
  for (const name of ['Accept', 'Content-Type', 'Authorization']) expect(places).not.toContain(`header ${name}`)
  expect(Object.keys(responses)).toContain('200')
  for (const [status, response] of Object.entries(responses)) {
    expect(status).toMatch(/^[2-5]\d\d$/)
    const { description, headers = {} } = resolve(document, response)
    expect(description).not.toBe('')
    expect(Object.keys(headers)).not.toContain('Content-Type')
  }
  for (const scheme of security.flatMap(Object.keys)) expect(document.components.securitySchemes).toHaveProperty(scheme)
  for (const tag of tags) expect(document.tags.map(({ name }) => name)).toContain(tag)
}

function operationsOf(document: typeof FLAT): Operation[] {
  return Object.values(document.paths).map(({ get }) => get)
}

function schemasOf(document: typeof FLAT): Schema[] {
  const { schemas, parameters, headers } = document.components
  const own = partsOf(document.paths).flatMap(part => ('schema' in part ? [part.schema as Schema] : []))
  return [
    ...Object.values(schemas),
    ...[...Object.values(parameters), ...Object.values(headers)].map(({ schema }) => schema),
    ...own,
  ]
}

/** Every object in a value, itself included. */
function partsOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  const parts = Object.values(value).flatMap(partsOf)
  return Array.isArray(value) ? parts : [value as Record<string, unknown>, ...parts]
}
