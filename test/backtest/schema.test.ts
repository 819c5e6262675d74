import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BadData, InvalidParameter } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { conditionField, type KnownField } from '../../src/core/language/as-field.js'
import { formatDay } from '../../src/core/model/day.js'
import { STABILITIES } from '../../src/core/model/series.js'
import { parseBacktest } from '../../src/core/params/backtest.js'
import type { Distance } from '../../src/core/params/figures.js'
import type { Strategy } from '../../src/core/params/strategy.js'
import { parseStrategyDocument, printStrategy, readYaml } from '../../src/core/params/strategy-file.js'
import { notInQuick } from '../support/full.js'

const LEAST = 'tickers: [SPY]\nentry: {field: rsi_zone, bands: [oversold]}\nexit: {hold: 20}\n'

function readStrategy(text: string, file: string): Strategy {
  const { value, ...places } = readYaml(text, file)
  return parseStrategyDocument(value, places)
}

describe('a strategy file', () => {
  it('needs tickers, a field and a way out; the rest has the defaults of the specification', () => {
    expect(readStrategy(LEAST, 'a.yaml')).toEqual({
      name: null,
      tickers: ['SPY'],
      timeframe: 'daily',
      side: 'long',
      entry: {
        field: 'rsi_zone',
        bands: ['oversold'],
        prev_bands: null,
        stability: null,
        max_flips: null,
        context: null,
        after: null,
        before: null,
      },
      fill: 'next-open',
      exit: { hold: 20, leave: false, on: null, stop: null, target: null, trailing: null },
      overlap: 'skip',
      costs: { bps: 5, slippage_bps: 0, per_share: 0, fixed: 0, borrow: 0 },
      portfolio: {
        capital: 1,
        max_positions: 1,
        size: { method: 'equal' },
        whole_shares: false,
        cash_rate: 0,
        shuffle: false,
      },
      benchmark: null,
      risk_free: 0,
      seed: 1,
    })
  })

  it('has a position for each ticker, but 10 at most, and 10 where they may overlap', () => {
    const places = (tickers: readonly string[], more: object = {}): number =>
      parseStrategyDocument({ tickers, entry: { field: 'rsi_zone' }, exit: { hold: 20 }, ...more }).portfolio
        .max_positions
    const many = Array.from({ length: 12 }, (_, i) => `T${i}`)
    expect([places(['SPY']), places(['A', 'B', 'C']), places(many)]).toEqual([1, 3, 10])
    expect(places(['SPY'], { overlap: 'allow' })).toBe(10)
    expect(places(['SPY'], { portfolio: { max_positions: 4 } })).toBe(4)
  })

  it('may be JSON, with tabs', () => {
    const json = JSON.stringify(readStrategy(LEAST, 'a.yaml'), null, '\t')
    expect(readStrategy(json, 'a.json')).toEqual(readStrategy(LEAST, 'a.yaml'))
  })

  notInQuick('is read as the same strategy again after it was printed', () => {
    fc.assert(
      fc.property(strategies(), strategy => {
        expect(readStrategy(printStrategy(strategy), 'printed.yaml')).toEqual(strategy)
        expect(parseStrategyDocument(JSON.parse(JSON.stringify(strategy)))).toEqual(strategy)
      }),
      { numRuns: 200 },
    )
  })

  it('takes distances as fractions, percentages and multiples of the ATR, and one band without a list', () => {
    const text =
      'tickers: spy\nentry: {field: rsi_zone, bands: oversold}\nexit: {stop: 5%, target: 0.1, trailing: 2atr}\n'
    const { exit, tickers, entry } = readStrategy(text, 'a.yaml')
    expect(exit).toMatchObject({ stop: 0.05, target: 0.1, trailing: { atr: 2 } })
    expect([tickers, entry.bands]).toEqual([['SPY'], ['oversold']])
  })

  it('takes a condition in place of a field, whose band is true unless it says another, or beside one', () => {
    const entry = (text: string): Strategy['entry'] =>
      readStrategy(`tickers: A\nentry: ${text}\nexit: {hold: 1}`, 'a.yaml').entry
    const field = 'rsi_zone = oversold'
    expect(entry('{when: RSI_ZONE = Oversold}')).toMatchObject({ field, bands: ['true'] })
    expect(entry('{when: rsi_zone = oversold}').when).toBeUndefined()
    expect(entry('{when: rsi_zone = oversold, bands: [false]}')).toMatchObject({ field, bands: ['false'] })
    expect(entry('{field: rsi_zone = oversold, bands: "true"}')).toMatchObject({ field, bands: ['true'] })
    expect(entry('{field: macd_state, when: rsi_zone = oversold}')).toMatchObject({
      field: 'macd_state',
      bands: null,
      when: field,
    })
    expect(
      entry('{\n  # of an index, too\n  when: "rsi_zone = oversold\\n and GSPC:rsi_zone != oversold"\n}').field,
    ).toBe('rsi_zone = oversold and GSPC:rsi_zone != oversold')
  })

  it('goes by a condition in `when`, in its document too', () => {
    const strategy = readStrategy(
      'tickers: A\nentry: {when: rsi_zone = oversold}\nexit: {when: rsi_zone = neutral}',
      'a',
    )
    expect(printStrategy(strategy)).toContain('entry:\n  when: rsi_zone = oversold\n  bands:\n    - "true"\n')
    expect(printStrategy(strategy)).toContain('  when: rsi_zone = neutral\n')
    expect(printStrategy(strategy)).not.toContain('field:')
  })

  it('names tickers and bands in one order, each once', () => {
    const text =
      'tickers: [spy, AAPL, SPY]\nentry: {field: rsi_zone, bands: [overbought, oversold, oversold]}\nexit: {hold: 1}'
    const { tickers, entry } = readStrategy(text, 'a.yaml')
    expect([tickers, entry.bands]).toEqual([
      ['AAPL', 'SPY'],
      ['oversold', 'overbought'],
    ])
  })
})

/** The text, and what is said of it. */
const REFUSED: [what: string, text: string, message: string | RegExp][] = [
  ['a misspelt key', 'entri: {}', 'a.yaml:4:1: there is no key "entri" in a strategy. Did you mean "entry"?'],
  ['a misspelt key inside', 'costs: {\n  bpss: 3}', 'a.yaml:5:3: there is no key "bpss" in costs. Did you mean "bps"?'],
  ['text that is no YAML', 'costs: [', 'a.yaml:5:1: this is neither YAML nor JSON'],
  ['the same key twice', 'exit: {hold: 3}', 'a.yaml:4:1: this is neither YAML nor JSON: Map keys must be unique'],
  ['another kind of object', 'name: !!binary x', 'a.yaml:4:7: this is neither YAML nor JSON'],
  ['costs of the whole price', 'costs: {bps: 9000, slippage_bps: 2000}', 'a.yaml:4:8: costs: 11000 basis points'],
  ['costs below 0', 'costs: {bps: -1}', 'a.yaml:4:14: costs.bps -1 is not a number from 0, below 10000'],
  ['a seed with decimals', 'seed: 1.5', 'a.yaml:4:7: seed 1.5 is not an integer from 0 to 4294967295'],
  ['text for a number', 'portfolio: {max_positions: many}', 'portfolio.max_positions "many" is not an integer from 1'],
  ['a share above 1', 'portfolio: {size: {method: fixed-fraction, fraction: 1.5}}', 'a fraction above 0, up to 1'],
  ['a percentage without its sign', 'risk_free: 5', 'a.yaml:4:12: risk_free 5 is not a fraction above -1, below 1'],
  ['a share for equal', 'portfolio: {size: {method: equal, fraction: 0.1}}', 'fraction is not for equal'],
  ['a word that is not there', 'fill: open', /fill "open" is not one of next-open, next-close, close/],
  ['a list for a section', 'portfolio: [1]', 'a.yaml:4:12: portfolio [1] is not a mapping of capital, max_positions'],
  ['a rank that is no field', 'rank: rsi_zon', 'a.yaml:4:7: rank "rsi_zon" is not a field, a price, or an expression'],
  ['a rank with a mistyped field', 'rank: -rsi_zon', 'such as rsi(close, 14). Did you mean "-rsi_zone"?'],
  ['a rank by a condition', 'rank: rsi_zone = oversold', 'is a condition, and ranks nothing by itself: define a field'],
  ['a rank with a slip', 'rank: rsi(close)', 'a.yaml:4:16: rank, column 10: ")" cannot stand here'],
  ['a rank of nothing', 'rank: "5 * 3"', 'a.yaml:4:7: rank "5 * 3" is the same of every signal'],
  ['a rank that is a number', 'rank: 5', 'a.yaml:4:7: rank 5 is not text'],
  ['a flag in words', 'portfolio: {shuffle: "yes"}', 'portfolio.shuffle "yes" is not true or false'],
]

const REFUSED_ENTRIES: [what: string, entry: string, message: string][] = [
  ['no field', '{bands: [oversold]}', 'a.yaml:2:8: entry.field is missing; it is text'],
  ['a field that is not there', '{field: rsi_zon}', 'a.yaml:2:16: entry.field "rsi_zon" is not one of'],
  ['a band of another field', '{field: rsi_zone, bands: [uptrend]}', '2:34: entry.bands "uptrend" is not one of'],
  [
    'the second of several bands',
    '{field: rsi_zone, bands: [oversold, uptrend]}',
    '2:44: entry.bands "uptrend" is not',
  ],
  [
    'a word in a list of another kind',
    '{field: rsi_zone, stability: [settled, {a: 1}]}',
    '2:38: entry.stability "settled"',
  ],
  ['a mistyped band', '{field: rsi_zone, bands: [oversol]}', 'Did you mean "oversold"?'],
  ['a day that is not there', '{field: rsi_zone, after: 2023-02-29}', 'entry.after "2023-02-29" is not a calendar'],
  [
    'no day between two',
    '{field: rsi_zone, after: 2020-01-01, before: 2020-01-02}',
    'entry.after: no day lies after 2020-01-01 and before',
  ],
  ['a condition that is none', '{when: rsi_zone = oversol}', '2:26: entry.when, column 12: "oversol" is no band'],
  ['a band of a condition', '{when: rsi_zone = oversold, bands: [oversold]}', '2:44: entry.bands "oversold" is'],
  ['a lag ahead', '{field: rsi_zone, context: {ticker: SPY, field: rsi_zone, lag: -1}}', 'an integer from 0 to 1'],
]

const REFUSED_EXITS: [what: string, exit: string, message: string][] = [
  ['a condition that is none', '{when: rsi_zone oversold}', 'a.yaml:3:23: exit.when, column 10: '],
  ['no way out', '{}', 'a.yaml:3:7: exit: nothing ends a trade; give one of hold, when, stop, target, trailing'],
  ['a hold of 0', '{hold: 0}', 'a.yaml:3:14: exit.hold 0 is not an integer from 1 to 10000'],
  ['candidates', '{hold: [5, 10]}', 'a.yaml:3:14: exit.hold [5, 10] is a list, and a file says one: an integer from 1'],
  ['a hold back in time', '{hold: -5}', 'exit.hold -5 is not an integer from 1'],
  ['a stop of 0', '{stop: 0}', 'exit.stop 0 is not a fraction of the entry price (0.05 or 5%) or a multiple of'],
  [
    'a stop below any price',
    '{stop: 1}',
    'exit.stop is 100 % of the entry price, which leaves no price; it must be below',
  ],
  ['an exit on any band', '{on: {field: rsi_zone}}', 'a.yaml:3:12: exit.on.bands is missing; it is a list'],
]

describe('a strategy file is refused at its line and column for', () => {
  it.each(REFUSED)('%s', (_, line, message) => expectRefusal(`${LEAST}${line}\n`, message))
  it.each(REFUSED_ENTRIES)('%s', (_, entry, message) =>
    expectRefusal(`tickers: [SPY]\nentry: ${entry}\nexit: {hold: 3}\n`, message),
  )
  it.each(REFUSED_EXITS)('%s', (_, exit, message) =>
    expectRefusal(`tickers: [SPY]\nentry: {field: rsi_zone}\nexit: ${exit}\n`, message),
  )

  it('nothing at all', () => expectRefusal('', 'a.yaml: the strategy is missing; it is a mapping of name, tickers'))

  it('a hold that ends before an entry at the next close', () =>
    expectRefusal(`${LEAST.replace('20', '1')}fill: next-close\n`, 'exit.hold: 1 is not a whole number from 2'))
})

describe('what is known later', () => {
  it.each([
    ...['duration', 'duration_days', 'min_duration', 'max_duration', 'aftermath', 'performance', 'return', 'returns'],
    ...['forward_return', 'forward_returns', 'held', 'next_band'],
  ])('cannot be a filter: %s', key =>
    expectRefusal(
      `tickers: [SPY]\nentry: {field: rsi_zone, ${key}: 5}\nexit: {hold: 3}\n`,
      `entry.${key} cannot be a rule: how long a band lasts and what follows it are not known when the event happens`,
    ),
  )
})

describe('flags', () => {
  it('are refused by the same rules, by name and without a file', () => {
    const flags = { tickers: ['SPY'], entry: { field: 'rsi_zone' }, exit: { hold: '0' } }
    expect(() => parseStrategyDocument(flags)).toThrow(InvalidParameter)
    expect(() => parseStrategyDocument(flags)).toThrow('exit.hold "0" is not an integer from 1 to 10000.')
    expect(parseStrategyDocument({ ...flags, exit: { hold: '7', stop: '5%' } }).exit).toMatchObject({
      hold: 7,
      stop: 0.05,
    })
  })
})

function expectRefusal(text: string, message: string | RegExp): void {
  const read = (): Strategy => readStrategy(text, 'a.yaml')
  expect(read).toThrow(BadData)
  expect(read).toThrow(message)
}

const CONDITIONS = [
  'rsi_zone enters (oversold, deep_oversold) from any',
  'not (SPY:macd_state = contracting_negative for 3)',
].map(text => conditionField(text, BUILT_IN_FIELDS).name)

function strategies(): fc.Arbitrary<Strategy> {
  const distance = fc.option(
    fc.oneof(
      fc.double({ min: 0.001, max: 0.9, noNaN: true }),
      fc.double({ min: 0.1, max: 9, noNaN: true }).map((atr): Distance => ({ atr })),
    ),
  )
  const rate = fc.double({ min: -0.5, max: 0.5, noNaN: true }).map(x => x + 0)
  const money = fc.double({ min: 0, max: 100, noNaN: true })
  const name = fc.constantFrom('SPY', 'BRK.B', '^GSPC', 'ON', 'NO', 'TRUE', '1', '0X1', 'NULL')
  const conditions = CONDITIONS.map(text => conditionField(text, BUILT_IN_FIELDS))
  const bandedOf = (...fields: KnownField[]) =>
    fc
      .constantFrom(...fields)
      .chain(field => fc.record({ field: fc.constant(field), some: fc.subarray([...field.bands], { minLength: 1 }) }))
  return fc
    .record({
      entry: bandedOf(...FIELDS, ...conditions),
      prev: fc.boolean(),
      isWhen: fc.boolean(),
      context: fc.option(bandedOf(...FIELDS)),
      on: fc.option(bandedOf(...FIELDS, ...conditions)),
      hold: fc.integer({ min: 2, max: 500 }),
    })
    .chain(({ entry, prev, isWhen, context, on, hold }) =>
      fc.record({
        name: fc.option(fc.constantFrom('dip', 'yes', '1.5', 'a: b # c', '2020-01-01')),
        tickers: fc.uniqueArray(name, { minLength: 1 }).map(list => list.sort()),
        timeframe: fc.constant('daily' as const),
        side: fc.constantFrom('long' as const, 'short' as const),
        entry: fc.record({
          field: fc.constant(entry.field.name),
          ...(isWhen && { when: fc.constantFrom(...CONDITIONS) }),
          bands: fc.option(fc.constant(entry.some)),
          prev_bands: fc.constant(prev ? entry.some : null),
          stability: fc.option(fc.subarray([...STABILITIES], { minLength: 1 })),
          max_flips: fc.option(fc.integer({ min: 0, max: 254 })),
          context: fc.constant(
            context && { ticker: 'SPY', field: context.field.name, bands: context.some, lag: 1 as const },
          ),
          after: fc.option(fc.integer({ min: 10_000, max: 15_000 }).map(formatDay)),
          before: fc.option(fc.integer({ min: 16_000, max: 20_000 }).map(formatDay)),
        }),
        fill: fc.constantFrom('next-open' as const, 'next-close' as const, 'close' as const),
        exit: fc.record({
          hold: fc.constant(hold),
          leave: fc.boolean(),
          on: fc.constant(on && { field: on.field.name, bands: on.some }),
          ...(isWhen && { when: fc.constantFrom(...CONDITIONS) }),
          stop: distance,
          target: distance,
          trailing: distance,
        }),
        overlap: fc.constantFrom('skip' as const, 'allow' as const, 'extend' as const),
        costs: fc.record({
          bps: money,
          slippage_bps: money,
          per_share: money,
          fixed: money,
          borrow: money.map(x => x / 20),
        }),
        portfolio: fc.record({
          capital: fc.double({ min: 1, max: 1e9, noNaN: true }),
          max_positions: fc.integer({ min: 1, max: 1000 }),
          size: fc.constantFrom(
            { method: 'equal' as const },
            { method: 'fixed-fraction' as const, fraction: 0.3 },
            { method: 'vol-target' as const, target: 0.15, cap: 1 },
          ),
          whole_shares: fc.boolean(),
          cash_rate: rate,
          shuffle: fc.boolean(),
        }),
        ...(isWhen && { rank: fc.constantFrom('rsi_zone', '-macd_state', 'close', '-rsi(close, 2)', 'high / low') }),
        benchmark: fc.option(name),
        risk_free: rate,
        seed: fc.integer({ min: 0, max: 4_294_967_295 }),
      }),
    )
}

describe('a strategy file with mappings instead of texts', () => {
  const MAPPINGS =
    'tickers: [SPY]\nentry: {field: rsi_zone, context: {ticker: QQQ, field: rsi_zone, bands: [neutral]}}\n' +
    'exit: {leave: true, on: {bands: [overbought]}}\ncosts: {bps: 3, slippage_bps: 2}\n' +
    'portfolio: {size: {method: vol-target, target: 0.15}}\n'

  it('is printed with texts, and read from them again', () => {
    const { strategy } = parseBacktest({ strategy: MAPPINGS }, { tier: null })
    const printed = printStrategy(strategy)
    for (const text of ['costs: 3bp,slip 2bp', 'size: vol 15%', '- leave\n    - overbought'])
      expect(printed).toContain(text)
    expect(parseBacktest({ strategy: printed }, { tier: null })).toMatchObject({ strategy })
  })

  it('yields to parameters, costs part by part and exits as a whole', () => {
    const params = { strategy: MAPPINGS, costs: 'share 0.01', exit: 'rsi_zone = neutral', size: '10%' }
    expect(parseBacktest(params, { tier: null }).strategy).toMatchObject({
      costs: { bps: 3, slippage_bps: 2, per_share: 0.01, fixed: 0, borrow: 0 },
      exit: { leave: false, on: null, when: 'rsi_zone = neutral' },
      portfolio: { size: { method: 'fixed-fraction', fraction: 0.1 } },
    })
  })
})
