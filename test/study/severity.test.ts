import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bySeverity, WARNING_KINDS, type Warning } from '../../src/research/study/result.js'

const warnings = fc.array(
  fc.tuple(fc.constantFrom(...WARNING_KINDS), fc.option(fc.string({ minLength: 1 }), { nil: null })),
  { maxLength: 30 },
)

it('tells every warning that holds once, the gravest first, and those of a kind in the order they came in', () => {
  fc.assert(
    fc.property(warnings, drawn => {
      const named = drawn.map(([kind, text], i): Warning => [kind, text && `${i} ${kind}`])
      const told = bySeverity(named).map(text => text.split(' ') as [string, (typeof WARNING_KINDS)[number]])
      expect(told.map(([i]) => i).sort()).toEqual(named.flatMap(([, text], i) => (text ? String(i) : [])).sort())
      told.slice(1).forEach(([i, kind], at) => {
        const [before, above] = told[at]!
        const apart = WARNING_KINDS.indexOf(kind) - WARNING_KINDS.indexOf(above)
        expect(apart > 0 || (apart === 0 && Number(before) < Number(i))).toBe(true)
      })
    }),
  )
})
