import { expect, it } from 'vitest'
import { BUILT_IN_FIELDS, FIELDS, FUNDAMENTAL_FIELDS, TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { fieldContract } from '../contracts/field.js'
import { FUNDAMENTALS } from '../support/oracle/facts.js'
import { FIELDS as SPECIFIED } from '../support/oracle/fields.js'

for (const field of FIELDS) fieldContract(field)

it('has the technical fields of the specification in its order, with the vocabularies of the definitions', () => {
  const technical = TECHNICAL_FIELDS.map(field => field.name)
  expect(technical).toEqual(Object.keys(SPECIFIED).slice(0, technical.length))
  for (const field of TECHNICAL_FIELDS)
    expect(field.bands, field.name).toEqual(SPECIFIED[field.name as keyof typeof SPECIFIED])
})

it('lists every field once and finds it by its name', () => {
  expect(new Set(BUILT_IN_FIELDS.names).size).toBe(BUILT_IN_FIELDS.names.length)
  expect(FIELDS).toEqual([...TECHNICAL_FIELDS, ...FUNDAMENTAL_FIELDS])
  for (const field of FIELDS) expect(BUILT_IN_FIELDS.named(field.name)).toBe(field)
  expect(BUILT_IN_FIELDS.named('RSI_ZONE')).toBeUndefined()
})

it('tells what each field stands on', () => {
  for (const { name, needs } of TECHNICAL_FIELDS) expect([name, needs]).toEqual([name, 'bars'])
  const onSector = FUNDAMENTAL_FIELDS.filter(({ needs }) => needs === 'sector').map(({ name }) => name)
  expect(onSector).toEqual(['valuation_zone', 'pe_vs_sector'])
  expect(FUNDAMENTAL_FIELDS.filter(({ needs }) => needs === 'facts').length).toBe(10)
  const words = (bands: readonly string[]) => [...bands].sort()
  expect(FUNDAMENTAL_FIELDS.map(({ name, bands }) => [name, words(bands)])).toEqual(
    Object.entries(FUNDAMENTALS).map(([name, bands]) => [name, words(bands)]),
  )
})
