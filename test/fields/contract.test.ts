import { expect, it } from 'vitest'
import { FIELD_NAMES, FIELDS, fieldNamed, isTechnical, TECHNICAL_FIELDS } from '../../src/fields/index.js'
import { fieldContract } from '../contracts/field.js'
import { FIELDS as SPECIFIED } from '../support/oracle/fields.js'

for (const field of TECHNICAL_FIELDS) fieldContract(field)

it('has the technical fields of the specification in its order, with the vocabularies of the definitions', () => {
  expect(TECHNICAL_FIELDS.map(field => field.name)).toEqual(Object.keys(SPECIFIED))
  for (const field of TECHNICAL_FIELDS)
    expect(field.bands, field.name).toEqual(SPECIFIED[field.name as keyof typeof SPECIFIED])
})

it('lists every field once and finds it by its name', () => {
  expect(new Set(FIELD_NAMES).size).toBe(21)
  for (const field of FIELDS) {
    expect(fieldNamed(field.name)).toBe(field)
    expect(isTechnical(field)).toBe(field.needs === 'bars')
  }
  expect(fieldNamed('RSI_ZONE')).toBeUndefined()
})
