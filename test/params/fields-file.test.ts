import { describe, expect, it, test } from 'vitest'
import { BadData } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { INDICATORS } from '../../src/core/fields/panel.js'
import { ownFieldSet } from '../../src/core/params/fields-file.js'
import { BAR_COLUMNS, eventColumns, seriesColumns } from '../../src/data/local/export.js'
import { pageSchemas } from '../../src/server/wire/schemas.js'

/** Name → hash of what a text defines. */
function hashes(text: string): Record<string, string> {
  return Object.fromEntries(
    ownFieldSet(text, 'fields.yaml').all.flatMap(({ name, hash }) => (hash ? [[name, hash]] : [])),
  )
}

const OF = '- field: dip\n  of: close\n'
const WHEN = '- field: dip\n  when:\n'
const NO_LIST = 'own fields are a list, each entry beginning with "- field: NAME"'
const OVERSOL = '"oversol" is no band of rsi_zone; allowed here: a band of rsi_zone'
const RSI_ZON = 'there is no field "rsi_zon"; allowed here: a field'
const LETTERS = 'small letters, digits and _, a letter first, at most 40'
const EITHER = 'dip has to have either of (an expression, with cuts and bands) or when (conditions)'

describe('a text that defines no fields', () => {
  test.each([
    ['a mapping', 'field: dip', '1:1', NO_LIST],
    ['a number', '3', '1:1', NO_LIST],
    ['a list of numbers', '- 3', '1:3', 'an own field is a mapping that begins with field: NAME'],
    ['no YAML', '- field: [', '1:11', 'this is neither YAML nor JSON: Flow sequence'],
    ['a key twice', '- field: a\n  field: b', '2:3', 'Map keys must be unique'],
    [
      'more than 200',
      Array.from({ length: 201 }, (_, i) => `- { field: f${i}, of: close, bands: [a] }`).join('\n'),
      '1:1',
      'there are 201 fields, and at most 200 are read',
    ],
    ['no name', '- of: close\n  bands: [a]', '1:3', 'field is missing: each own field needs a name'],
    ['an empty name', '- of: close\n  field:\n  bands: [a]', '2:9', 'field is missing: each own field needs a name'],
    ['a name with a capital', '- field: Dip\n  of: close', '1:10', `"Dip" is no name: ${LETTERS}`],
    ['a number for a name', '- field: 3\n  of: close', '1:10', `3 is no name: ${LETTERS}`],
    ['a list for a name', '- field: [a]\n  of: close', '1:10', `["a"] is no name: ${LETTERS}`],
    ['a name that is too long', `- field: ${'a'.repeat(41)}\n  of: close`, '1:10', `is no name: ${LETTERS}`],
    [
      'a word of the language',
      '- field: within\n  of: close',
      '1:10',
      '"within" is a word of the language of conditions, and cannot be a name',
    ],
    [
      'a truth',
      '- field: true\n  of: close',
      '1:10',
      '"true" is a word of the language of conditions, and cannot be a name',
    ],
    [
      'a name of the 21',
      '- field: rsi_zone\n  of: close',
      '1:10',
      'rsi_zone is a field of bands already; choose another name',
    ],
    ['a name twice', `${OF}  bands: [a]\n- field: dip`, '4:10', 'dip is defined twice'],
    [
      'an unknown key',
      '- field: dip\n  off: close',
      '2:3',
      'there is no key "off" in an own field. Did you mean "of"? It may have field, of, cuts, bands, when',
    ],
    ['neither of nor when', '- field: dip\n  bands: [a]', '1:10', EITHER],
    ['both of and when', `${OF}  when:\n    a: otherwise`, '1:10', EITHER],
    [
      'cuts beside when',
      `${WHEN}    a: otherwise\n  cuts: [1]`,
      '4:3',
      'dip has when, whose keys are its bands; cuts is for of',
    ],
    [
      'bands beside when',
      `${WHEN}    a: otherwise\n  bands: [a]`,
      '4:3',
      'dip has when, whose keys are its bands; bands is for of',
    ],
    ['cuts that fall', `${OF}  cuts: [2, 1]\n  bands: [a, b, c]`, '3:13', 'cuts ascend, and 1 follows 2'],
    ['a cut twice', `${OF}  cuts: [1, 1]\n  bands: [a, b, c]`, '3:13', 'cuts ascend, and 1 follows 1'],
    ['a cut that is a word', `${OF}  cuts: [1, x]\n  bands: [a, b, c]`, '3:13', '"x" is no number'],
    ['a cut that is no number', `${OF}  cuts: [.nan]\n  bands: [a, b]`, '3:10', '"NaN" is no number'],
    ['cuts that are no list', `${OF}  cuts: 1\n  bands: [a, b]`, '3:9', 'cuts of dip are a list of numbers'],
    [
      'too few cuts',
      `${OF}  cuts: [1]\n  bands: [a, b, c]`,
      '3:9',
      'dip: 3 bands need 2 cuts between them, and there are 1',
    ],
    ['no cuts', `${OF}  bands: [a, b, c]`, '3:10', 'dip: 3 bands need 2 cuts between them, and there are 0'],
    ['a band twice', `${OF}  cuts: [1, 2]\n  bands: [a, b, a]`, '4:17', 'the band a of dip stands twice'],
    ['a band with a capital', `${OF}  cuts: [1]\n  bands: [a, B]`, '4:14', `"B" is no band: ${LETTERS}`],
    ['a band that is a number', `${OF}  cuts: [1]\n  bands: [3, a]`, '4:11', `3 is no band: ${LETTERS}`],
    ['a band that is a list', `${OF}  cuts: [1]\n  bands: [a, [b]]`, '4:14', `["b"] is no band: ${LETTERS}`],
    ['a band that is empty', `${OF}  cuts: [1]\n  bands:\n    - a\n    - ~`, '6:7', 'a band is missing here'],
    [
      'a band of the language',
      `${OF}  cuts: [1]\n  bands: [a, any]`,
      '4:14',
      '"any" is a word of the language of conditions, and cannot be a band',
    ],
    ['bands without one', `${OF}  bands: []`, '3:10', 'dip needs bands: a list of one more name than there are cuts'],
    ['no bands', `${OF}  cuts: [1]`, '2:7', 'dip needs bands: a list of one more name than there are cuts'],
    [
      'bands that are no list',
      `${OF}  cuts: [1]\n  bands: a`,
      '4:10',
      'dip needs bands: a list of one more name than there are cuts',
    ],
    [
      'rules that are a number',
      '- field: dip\n  when: 3',
      '2:9',
      'when of dip is a mapping of bands, each with its condition',
    ],
    [
      'rules without one',
      '- field: dip\n  when: {}',
      '2:9',
      'when of dip is a mapping of bands, each with its condition',
    ],
    ['a band of rules with a capital', `${WHEN}    A: otherwise`, '3:5', `"A" is no band: ${LETTERS}`],
    [
      'a band of rules of the language',
      `${WHEN}    in: otherwise`,
      '3:5',
      '"in" is a word of the language of conditions, and cannot be a band',
    ],
    ['a number for a condition', `${WHEN}    a: 3`, '3:8', 'the band a of dip needs a condition, or otherwise'],
    [
      'otherwise before the last',
      `${WHEN}    a: otherwise\n    b: rsi_zone = oversold`,
      '3:8',
      'otherwise is for bars that no rule before it decided, and comes last',
    ],
    ['a condition in plain text', `${WHEN}    a: rsi_zone = oversol`, '3:19', OVERSOL],
    ['a condition in braces', '- field: dip\n  when: {a: rsi_zone = oversol}', '2:24', OVERSOL],
    ['a condition in double quotes', `${WHEN}    a: "rsi_zone = oversol"`, '3:20', OVERSOL],
    ['a condition in single quotes', `${WHEN}    a: 'rsi_zone = oversol'`, '3:20', OVERSOL],
    [
      'a condition in a block',
      `${WHEN}    a: |\n      rsi_zone = oversold\n      or rsi_zon = oversold`,
      '5:10',
      RSI_ZON,
    ],
    [
      'a condition that is laid out otherwise, at its beginning',
      `${WHEN}    a: >\n      rsi_zone = oversold\n      or rsi_zon = oversold`,
      '3:8',
      RSI_ZON,
    ],
    ['a condition with escapes, at its beginning', `${WHEN}    a: "rsi_zone = \\x6fversol"`, '3:8', OVERSOL],
    [
      'a band that another own field lacks',
      `${WHEN}    a: far = y\n- { field: far, of: close, cuts: [1], bands: [q, r] }`,
      '3:14',
      '"y" is no band of far; allowed here: a band of far (q, r)',
    ],
    [
      'a length of 0',
      '- field: dip\n  of: rsi(close, 0)\n  bands: [a]',
      '2:18',
      '"0" cannot stand here; allowed here: a whole number from 1 to 2,000. The call is rsi(x, n).',
    ],
    [
      'a misspelt price',
      '- field: dip\n  of: "clos + 1"\n  bands: [a]',
      '2:8',
      'there is no price and no call "clos"; allowed here: a number, a price (open, high, low, close, volume)',
    ],
    ['a call that is left open', '- field: dip\n  of: sma(close\n  bands: [a]', '2:16', 'the text ends here'],
    [
      'a list for an expression',
      '- field: dip\n  of: [close]\n  bands: [a]',
      '2:7',
      'of is an expression such as rsi(close, 14)',
    ],
    [
      'a circle',
      `${WHEN}    x: v = x\n- field: v\n  when:\n    x: GSPC:c@weekly = x\n- field: c\n  when:\n    x: dip = x`,
      '1:10',
      'own fields refer to each other in a circle: dip → v → c → dip',
    ],
    [
      'a field that stands on itself',
      `${WHEN}    x: v = x\n- field: v\n  when:\n    x: v = x`,
      '4:10',
      'own fields refer to each other in a circle: v → v',
    ],
  ])('%s is refused at its place', (_what, text, place, sentence) => {
    let refusal: unknown
    try {
      ownFieldSet(text, 'fields.yaml')
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(BadData)
    expect((refusal as BadData).message).toContain(`fields.yaml:${place}: `)
    expect((refusal as BadData).message).toContain(sentence)
  })
})

describe('a name that is taken', () => {
  const refused = (text: string): string => {
    try {
      ownFieldSet(text, 'fields.yaml')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const field = (name: string): string => refused(`- { of: close, bands: [x], field: ${name} }`)
  const band = (name: string): string => refused(`- { field: dip, of: close, cuts: [1], bands: [x, ${name}] }`)

  it('is that of any column of an export', () => {
    const columns = [eventColumns(), seriesColumns({}, BUILT_IN_FIELDS), BAR_COLUMNS].flatMap(all =>
      all.map(({ name }) => name),
    )
    expect(columns).toEqual(expect.arrayContaining(['date', 'close', 'rsi', 'macd', 'atr', 'returns_5d']))
    const builtIn = new Set(BUILT_IN_FIELDS.all.flatMap(({ bands }) => bands))
    for (const name of columns) {
      expect(field(name)).toContain(`fields.yaml:1:35: ${name} is a `)
      if (!builtIn.has(name)) expect(band(name)).toContain(`fields.yaml:1:50: ${name} is a `)
    }
  })

  it('is that of any key of an answer, for a field', () => {
    for (const name of ['matches', 'reality_check', 'trade_statistics', ...keysOf(pageSchemas().events)]) {
      expect(field(name)).toContain(`fields.yaml:1:35: ${name} is a `)
    }
  })

  it('is refused with those that are taken in the same place', () => {
    expect(field('rsi')).toContain(
      'rsi is a column of the exports; they have ticker, timeframe, date, open, high, low, ',
    )
    for (const [name] of INDICATORS) expect(field('rsi')).toContain(name)
    expect(field('rsi_zone')).toContain('rsi_zone is a field of bands already')
    expect(field('matches')).toContain('matches is a key of the answer screen; it has schema, ')
  })

  it('is none of the bands of the specified fields', () => {
    expect(refused('- { field: dip, of: close, cuts: [1, 2], bands: [low, middle, high] }')).toBe('')
  })
})

function keysOf(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { properties = {} } = part as { properties?: object }
  return [...Object.keys(properties), ...Object.values(part).flatMap(keysOf)]
}

describe('own fields', () => {
  it('come after the specified ones, in the order of the file, regardless of what they use', () => {
    const text =
      '- field: v\n  when: { up: u = high, down: otherwise }\n- { field: u, of: close, cuts: [1], bands: [low, high] }'
    const { names, named } = ownFieldSet(text, 'fields.yaml')
    expect(names).toEqual([...BUILT_IN_FIELDS.names, 'v', 'u'])
    expect(named('v')).toMatchObject({ bands: ['up', 'down'], tier: 'free', needs: 'bars' })
    expect(named('rsi_zone')).toBe(BUILT_IN_FIELDS.named('rsi_zone'))
  })

  it('are none in a file of nothing but comments', () => {
    for (const text of ['', '# later\n', '---\n', '[]'])
      expect(ownFieldSet(text, 'fields.yaml').names).toEqual(BUILT_IN_FIELDS.names)
  })

  it('have bands that are read as text', () => {
    const { named } = ownFieldSet(
      `- { field: u, of: close, cuts: [1, 2, 3], bands: [none, yes, no, on] }
- field: v
  when:
    yes: u = none
    no: u = yes
    none: Otherwise`,
      'fields.yaml',
    )
    expect(named('u')!.bands).toEqual(['none', 'yes', 'no', 'on'])
    expect(named('v')!.bands).toEqual(['yes', 'no', 'none'])
  })

  it('need what the fields that they name need, and are of the highest of their tiers', () => {
    const { named } = ownFieldSet(
      '- field: dear\n  when: { yes: pe_vs_sector = overvalued or rsi_zone = overbought }',
      'f',
    )
    const { tier, needs } = BUILT_IN_FIELDS.named('pe_vs_sector')!
    expect(named('dear')).toMatchObject({ tier, needs })
  })

  it('may have comments and several lines in a condition', () => {
    const text =
      '- field: u\n  when:\n    yes: |\n      rsi_zone = oversold # cheap\n      or rsi_zone = deep_oversold\n    no: |\n      otherwise # dear\n'
    const plain = '- field: u\n  when: { yes: "rsi_zone = oversold or rsi_zone = deep_oversold", no: otherwise }'
    expect(hashes(text)).toEqual(hashes(plain))
  })
})

describe('the hash of a definition', () => {
  const BASE = `- field: u
  of: rsi(close, 14)
  cuts: [30, 70]
  bands: [low, middle, high]
- field: v
  when:
    yes: u = low and rsi_zone = oversold
    no: otherwise
- field: c
  when:
    yes: GSPC:v = yes
`
  const base = hashes(BASE)

  it.each([
    ['blanks', BASE.replace('rsi(close, 14)', 'rsi( close ,14 )').replace('[30, 70]', '[ 30,70 ]')],
    ['comments', `# mine\n${BASE.replace('  cuts', '  # of the trade\n  cuts')}`],
    [
      'case, quotes and brackets',
      BASE.replace('u = low and rsi_zone = oversold', '"(U = Low) AND rsi_zone = OVERSOLD"'),
    ],
    ['how a number is written', BASE.replace('[30, 70]', '[3e1, 70.0]')],
    [
      'the order of the keys of one field',
      BASE.replace('  cuts: [30, 70]\n  bands: [low, middle, high]', '  bands: [low, middle, high]\n  cuts: [30, 70]'),
    ],
    ['other fields', `${BASE}- { field: d, of: open, bands: [any_price] }`],
    ['the order of fields', `- { field: d, of: open, bands: [any_price] }\n${BASE}`],
  ])('does not know %s', (_what, text) => {
    expect(text).not.toBe(BASE)
    expect(hashes(text)).toMatchObject(base)
  })

  it.each([
    ['a length', BASE.replace('14', '15'), ['u', 'v', 'c']],
    ['a cut', BASE.replace('30', '31'), ['u', 'v', 'c']],
    ['a name of a band that nothing names', BASE.replace('middle, high', 'middle, top'), ['u', 'v', 'c']],
    ['a rule', BASE.replace('= oversold', '= deep_oversold'), ['v', 'c']],
    ['another ticker', BASE.replace('GSPC', 'AAPL'), ['c']],
    ['a rule more', `${BASE}    no: otherwise\n`, ['c']],
  ])('changes with %s, and with what it stands on', (_what, text, changed) => {
    const now = hashes(text)
    expect(Object.keys(base).filter(name => now[name] !== base[name])).toEqual(changed)
  })

  it('changes with the order of the rules', () => {
    const one = '- field: u\n  when: { x: rsi_zone = oversold, y: volume_ratio_band = low }'
    const other = '- field: u\n  when: { y: volume_ratio_band = low, x: rsi_zone = oversold }'
    expect(hashes(one).u).not.toBe(hashes(other).u)
  })
})
