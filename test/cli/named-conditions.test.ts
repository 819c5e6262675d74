import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { BARS, expectEnd, expectRefusal, type Ran, run, scratch, typed } from './support/run.js'

/** Conditions that a user has named, `@NAME`, at every door. */

const folder = scratch()
const db = folder.file('bands.db')
const env = { BANDS_DB: db }
const ask = (line: string): Promise<Ran> => typed(line, { env })
const words = (...all: string[]): Promise<Ran> => run(all, { env })
const json = async (...all: string[]) => JSON.parse((await words(...all, '--json')).out)

const DIP = 'rsi_zone in (oversold, deep_oversold)'
const RISING = 'trend_direction in (uptrend, strong_uptrend)'

beforeAll(async () => {
  expect((await ask(`import ${BARS}`)).code).toBe(0)
  expectEnd(await ask('conditions list'), 0, 'no condition has a name yet')
  expect((await words('conditions', 'add', 'Dip', `( RSI_ZONE in (oversold,deep_oversold) )`)).code).toBe(0)
  expect((await words('conditions', 'add', 'rising_dip', `@dip  and ${RISING}`)).code).toBe(0)
})
afterAll(folder.remove)

describe('bands conditions', () => {
  test('keeps a condition as it is printed, and the names in it as they are', async () => {
    expect(await json('conditions', 'list')).toEqual({
      schema: 'bands.conditions/1',
      conditions: [
        { name: 'dip', condition: DIP },
        { name: 'rising_dip', condition: `@dip and ${RISING}` },
      ],
    })
    expect(await json('conditions', 'show', '@RISING_DIP')).toEqual({
      schema: 'bands.condition/1',
      name: 'rising_dip',
      condition: `@dip and ${RISING}`,
      means: `${DIP} and ${RISING}`,
      named_conditions: { dip: DIP },
    })
  })

  test.each([
    ['a fault', ['add', 'x', 'rsi_zone = oversld'], 2, 'condition, column 12: "oversld" is no band of rsi_zone'],
    ['an unknown name', ['add', 'x', '@dp'], 2, 'column 2: there is no condition @dp'],
    ['itself', ['add', 'x', 'not @x'], 2, '@x uses itself, by way of @x.'],
    ['another text under the same name', ['add', 'dip', RISING], 2, `dip is the condition "${DIP}" already`],
    ['a name with a dash', ['add', 'my-dip', DIP], 2, 'name "my-dip" is not letters, digits and _'],
    ['the name of a field', ['add', 'rsi_zone', DIP], 2, 'rsi_zone is a field of bands already'],
    ['an unknown name to show', ['show', 'dp'], 3, 'there is no condition @dp; there are @dip, @rising_dip.'],
    ['an unknown name to remove', ['remove', 'dp'], 3, 'there is no condition @dp'],
  ] as const)('refuses %s', async (_what, line, code, said) => {
    expectRefusal(await words('conditions', ...line), code, said)
    expect((await json('conditions', 'list')).conditions).toHaveLength(2)
  })

  test('refuses a circle by way of others', async () => {
    await words('conditions', 'add', 'a', DIP)
    await words('conditions', 'add', 'b', '@a')
    await words('conditions', 'remove', 'a')
    const shown = await ask('conditions show b')
    expect(shown).toMatchObject({ code: 0, out: '@b\n@a\n' })
    expect(shown.err).toContain('there is no condition @a')
    expectRefusal(await words('conditions', 'add', 'a', '@b'), 2, '@b uses itself, by way of @a, @b.')
    expect((await ask('conditions remove b')).out).toContain('@b is removed')
  })

  test('names those that still use a removed one', async () => {
    await words('conditions', 'add', 'a', DIP)
    await words('conditions', 'add', 'b', 'not @a')
    expect((await ask('conditions remove a')).err).toContain('still used by @b.')
    await ask('conditions remove b')
  })
})

describe('a named condition', () => {
  test.each([
    [
      'screen',
      ['screen', '@rising_dip', '--as-of', '2018-02-08'],
      ['screen', `${DIP} and ${RISING}`, '--as-of', '2018-02-08'],
    ],
    ['events', ['events', 'AAPL', '--when', '@dip'], ['events', 'AAPL', '--when', DIP]],
    [
      'tally',
      ['tally', 'AAPL', 'ma_alignment', '--when', 'not @dip'],
      ['tally', 'AAPL', 'ma_alignment', '--when', `not ${DIP}`],
    ],
    ['study', ['study', 'AAPL', '--when', '@dip'], ['study', 'AAPL', '--when', DIP]],
    ['explain', ['explain', 'AAPL', '--when', '@dip', '2018-02-08'], ['explain', 'AAPL', '--when', DIP, '2018-02-08']],
    ['changes', ['changes', '--when', '@dip'], ['changes', '--when', DIP]],
    [
      'backtest',
      ['backtest', 'AAPL', '--when', '@dip', '--hold', '10'],
      ['backtest', 'AAPL', '--when', DIP, '--hold', '10'],
    ],
  ] as const)('of bands %s is answered as what it means', async (_command, named, plain) => {
    const answer = await json(...named)
    expect(answer.named_conditions).toMatchObject({ dip: DIP })
    const { named_conditions: _names, ...rest } = answer
    expect(withoutTrials(rest)).toEqual(withoutTrials(await json(...plain)))
  })

  test('is printed with the condition that it means', async () => {
    const ran = await ask('tally AAPL --when @rising_dip')
    expect(ran.out).toContain(`${DIP} and ${RISING}`)
    expect(ran.err).toContain(`@rising_dip is @dip and ${RISING}`)
    expect(ran.err).toContain(`@dip is ${DIP}`)
    expect((await ask('screen rsi_zone=oversold')).err).not.toContain('@')
  })

  test('stands in a strategy file, which is kept with what it means', async () => {
    const file = folder.file('dip.yaml')
    writeFileSync(file, 'tickers: [AAPL]\nentry: { when: "@dip" }\nexit: { hold: 10 }\n')
    const { strategy, named_conditions } = await json('backtest', file)
    expect(strategy.entry.field).toBe(DIP)
    expect(named_conditions).toEqual({ dip: DIP })
    writeFileSync(file, 'tickers: [AAPL]\nentry: { when: "@dp" }\nexit: { hold: 10 }\n')
    expectRefusal(await words('backtest', file), 5, `${file}:2:18: entry.when, column 2: there is no condition @dp`)
  })

  test('that is unknown is refused at its column, and the last line is what was meant', async () => {
    const ran = await ask('screen @rising_dp')
    expectRefusal(ran, 2, 'column 2: there is no condition @rising_dp')
    expect(ran.err).toMatch(/try: +bands screen @rising_dip\n/)
    expectRefusal(await words('events', 'AAPL', '--when', `${RISING} and @ dip`), 2, 'without a blank')
  })

  test('is completed', async () => {
    const { completions } = await import('../../src/app/cli/complete.js')
    const found = await completions(['screen', '@ri'], { ...env, HOME: folder.path })
    expect(found).toContain('@rising_dip')
  })

  test('is known to the library, as it was when the database was opened', async () => {
    const bands = await openBands({ db, ledger: false })
    const named = await bands.tally({ tickers: ['AAPL'], when: '@dip' })
    const plain = await bands.tally({ tickers: ['AAPL'], when: DIP })
    expect(named.named_conditions).toEqual({ dip: DIP })
    expect({ ...plain, named_conditions: { dip: DIP } }).toEqual(named)
    await expect(bands.screen({ when: '@rising' })).rejects.toMatchObject({ offence: { suggestions: ['rising_dip'] } })
    await bands.close()
  })

  test('is unknown to a server', async () => {
    const { parseEvents, EVENTS } = await import('../../src/core/params/questions.js')
    expect(() => parseEvents({ ticker: 'AAPL', field: '@dip' }, EVENTS)).toThrow('@dip')
  })
})

/** Counts of the trial log grow from question to question. */
function withoutTrials(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (key, value) => (/trial|warnings|verdict|q$/.test(key) ? undefined : value)))
}
