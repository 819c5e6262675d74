import { writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { TierRestricted } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { conditionField } from '../../src/core/language/as-field.js'
import { includesTier, TIER_NAMES } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import { entitle } from '../../src/core/tiers.js'
import { randomClaim, written } from '../support/random-conditions.js'
import { bundledBars, expectRefusal, type Ran, run, unpainted, wordsOf } from './support/run.js'

const { folder, ask } = bundledBars()

/** Words as they are typed, the condition in quotes. */
function when(line: string, condition: string, more = ''): Promise<Ran> {
  const env = { BANDS_DB: folder.file('bands.db') }
  return run([...wordsOf(line), '--when', condition, ...wordsOf(more)], { env })
}

async function found<Found>(line: string, condition: string, more = ''): Promise<Found> {
  const { code, out, err } = await when(line, condition, `${more} --json`)
  expect(code, err).toBe(0)
  return JSON.parse(out) as Found
}

interface Page {
  field: string
  when?: string
  events: { date: string; band: string; prev_band: string }[]
  total_occurrences: number
}

describe('a condition in place of a field', () => {
  it.each(['events', 'tally', 'study', 'transitions', 'backtest'])(
    'means the same as the last word of bands %s as it does with --when',
    async command => {
      const more = command === 'backtest' ? '--hold 20 --family run' : ''
      const named = await found<object>(`${command} AAPL`, 'rsi_zone = oversold', more)
      const env = { BANDS_DB: folder.file('bands.db') }
      const words = [command, 'AAPL', 'rsi_zone = oversold', ...wordsOf(more), '--json']
      const { code, out } = await run(words, { env })
      expect([code, JSON.parse(out)]).toEqual([0, named])
    },
  )

  it('is one, not two', async () => {
    const line = 'tally AAPL rsi_zone=neutral'
    expectRefusal(await when(line, 'rsi_zone = oversold'), 2, 'are two conditions; join them with and.')
  })

  it('is the field of the answer, as it is printed, with the events on which it becomes true', async () => {
    const page = await found<Page>('events AAPL', 'RSI_ZONE=oversold  and (GSPC:trend_direction != downtrend)')
    expect(page.field).toBe('rsi_zone = oversold and GSPC:trend_direction != downtrend')
    expect(new Set(page.events.map(({ band, prev_band }) => `${prev_band} ${band}`))).toEqual(new Set(['false true']))
    const ended = await found<Page>('events AAPL', page.field, '--band false')
    expect(new Set(ended.events.map(({ band }) => band))).toEqual(new Set(['false']))
    const both = await found<Page>('events AAPL', page.field, '--band true,false')
    expect(both.total_occurrences).toBe(page.total_occurrences + ended.total_occurrences)
  })

  it('is tallied, drawn, explained, and its stays are counted', async () => {
    const condition = 'rsi_zone in (oversold, deep_oversold)'
    const { total_occurrences: total } = await found<Page>('events AAPL', condition)
    const tally = await found<{ events: number; band: string; field: string }>('tally AAPL', condition)
    expect(tally).toMatchObject({ field: condition, band: 'true', events: total })
    const transitions = await found<{ bands: string[]; matrix: { from: string }[] }>('transitions AAPL', condition)
    expect(transitions.bands).toEqual(['false', 'true'])
    const shown = await found<{ bars: { event: boolean }[] }>('show AAPL', condition, '--after 2000-01-01')
    expect(shown.bars.filter(({ event }) => event)).toHaveLength(total)
    const pooled = await found<{ tickers: string[] }>('tally', condition, '--all')
    expect(pooled.tickers).toEqual(['AAPL', 'GSPC'])
    expect((await found<{ tickers: string[] }>('tally AAPL GSPC', condition)).tickers).toEqual(['AAPL', 'GSPC'])
  })

  it('is explained test by test, with the band and the truth of each', async () => {
    const condition = 'rsi_zone = oversold and GSPC:trend_direction@weekly = uptrend or not rsi_zone enters any'
    const { tests, rule, band } = await found<{ tests: unknown[]; rule: string; band: string }>(
      'explain AAPL 2018-02-08',
      condition,
    )
    expect([rule, band]).toEqual([condition, 'false'])
    expect(tests).toEqual([
      { test: 'rsi_zone = oversold', subject: 'rsi_zone', date: '2018-02-08', band: 'oversold', holds: true },
      {
        test: 'GSPC:trend_direction@weekly = uptrend',
        subject: 'GSPC:trend_direction@weekly',
        date: '2018-02-02',
        band: 'strong_uptrend',
        holds: false,
      },
      { test: 'rsi_zone enters any', subject: 'rsi_zone', date: '2018-02-08', band: 'oversold', holds: true },
    ])
    const early = unpainted((await when('explain AAPL 2013-05-20', 'rsi_zone = oversold')).out)
    expect(early).toContain('unknown on this bar: rsi_zone = oversold')
  })
})

describe('invalid conditions', () => {
  const fine = 'rsi_zone = oversold'
  test.each([
    ['events AAPL', 'rsi_zone = oversol', '', 2, '--when, column 12: "oversol" is no band of rsi_zone'],
    ['tally AAPL', 'rsi_zon = oversold', '', 2, '--when, column 1: there is no field "rsi_zon"'],
    ['events AAPL', fine, '--band oversold', 2, 'rsi_zone = oversold has no band "oversold"'],
    ['events AAPL', 'NOPE:rsi_zone = oversold', '', 3, 'no bars for "NOPE"'],
    ['tally --all', 'NOPE:rsi_zone = oversold', '', 3, 'no bars for "NOPE"'],
    ['events AAPL', fine, '--context-lag 1', 2, '--context-lag is for a condition that names another ticker'],
    ['events AAPL rsi_zone', fine, '--context-lag 1', 2, '--context-lag is for a condition that names another ticker'],
    ['events AAPL', 'GSPC:rsi_zone = oversold', '--context-lag 2001', 2, 'is not an integer from 0 to 2000'],
    ['transitions AAPL rsi_zone', fine, '', 2, 'transitions count every change of a field: --when replaces a field'],
    ['explain AAPL rsi_zone', fine, '', 2, 'a bar is explained of a field or of a condition: --when replaces a field'],
    ['tally AAPL rsi_zon', fine, '', 2, 'there is no field "rsi_zon"'],
    ['tally', fine, '', 2, 'TICKER is missing'],
    ['events AAPL', 'valuation_zone = fair_value', '--tier free', 4, 'valuation_zone'],
    ['events AAPL rsi_zone', 'valuation_zone = fair_value', '--tier free', 4, 'valuation_zone'],
    ['events AAPL', `${fine} or GSPC:rsi_zone = oversold`, '--tier free', 4, 'cross-asset correlation'],
    ['events AAPL', fine, '--remote http://127.0.0.1:9 --allow-plain-http', 2, 'gives only events'],
    [
      'events AAPL macd_state',
      `${fine} for 2`,
      '--remote http://127.0.0.1:9 --allow-plain-http',
      2,
      'cannot be computed from events, and http://127.0.0.1:9 gives nothing else: "rsi_zone = oversold for 2" counts bars.',
    ],
  ])('bands %s --when "%s" %s ends with %i', async (line, condition, more, code, said) => {
    const env = { BANDS_DB: folder.file('bands.db'), BANDS_API_KEY: 'bands_test_1234567890' }
    expectRefusal(await run([...wordsOf(line), '--when', condition, ...wordsOf(more)], { env }), code, said)
  })

  test('without a field and without a condition both ways are shown', async () => {
    expectRefusal(await ask('events AAPL'), 2, 'bands events TICKER... --when')
  })

  test.each([
    ['valuation_zone = fair_value', 'valuation_zone uses dated facts, and none are loaded for AAPL'],
    ['valuation_zone = fair_value or rsi_zone != neutral and rsi_zone = neutral', 'valuation_zone uses dated facts'],
    ['valuation_zone = fair_value or rsi_zone = neutral or rsi_zone != neutral', 'never became true'],
  ])(
    'facts that are not loaded are missed where the condition is unknown without them: %s',
    async (condition, said) => {
      const { err } = await when('events AAPL', condition)
      expect(err.replaceAll('\n', ' ')).toContain(said)
    },
  )

  test('an answer without events says how often the condition was looked at', async () => {
    const { err } = await when('events AAPL rsi_zone --band oversold', 'rsi_zone = neutral')
    expect(err.replaceAll('\n', ' ')).toContain(
      "on none of the 10 dates on which AAPL's daily rsi_zone became oversold did it hold that rsi_zone = neutral.",
    )
  })
})

it('a condition counts at a tier when every field that it names, and context where it names a ticker, is open to it', () => {
  const fields = Object.fromEntries(BUILT_IN_FIELDS.all.map(({ name, bands }) => [name, bands]))
  const seen = new Set<string>()
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(new Random(seed).word())
    const text = written(randomClaim(random, fields, 2), random)
    const { name, subjects } = conditionField(text, BUILT_IN_FIELDS)
    for (const tier of TIER_NAMES) {
      const isOpen = subjects.every(({ ticker, field }) => {
        return includesTier(tier, BUILT_IN_FIELDS.named(field)!.tier) && (ticker === null || tier !== 'free')
      })
      for (const asked of [{ field: name }, { field: 'rsi_zone', when: name }]) {
        if (isOpen) entitle(asked, tier, BUILT_IN_FIELDS)
        else expect(() => entitle(asked, tier, BUILT_IN_FIELDS)).toThrow(TierRestricted)
      }
      seen.add(`${tier} ${isOpen}`)
    }
  }
  expect(seen).toEqual(new Set(['free true', 'free false', 'plus true', 'plus false', 'pro true']))
})

it('a program asks with `when`, or with the text in place of the field', async () => {
  const bands = await openBands({ db: folder.file('bands.db') })
  try {
    const condition = 'rsi_zone = oversold for 2'
    const alone = await bands.events({ ticker: 'AAPL', when: condition })
    expect(alone.field).toBe(condition)
    expect(alone.events).toEqual((await bands.events({ ticker: 'AAPL', field: condition, band: 'true' })).events)
    const beside = await bands.history({ ticker: 'AAPL', field: 'macd_state', when: condition })
    expect(beside.events.length).toBeLessThan(
      (await bands.history({ ticker: 'AAPL', field: 'macd_state' })).events.length,
    )
    expect((await bands.transitions({ tickers: ['AAPL'], when: condition })).bands).toEqual(['false', 'true'])
    expect((await bands.explain({ ticker: 'AAPL', when: condition })).tests).toHaveLength(1)
    expect((await bands.tally({ tickers: ['AAPL', 'GSPC'], when: condition })).band).toBe('true')
    const rules = { tickers: ['AAPL'], hold: 20, exit: 'rsi_zone = overbought', reps: 0 }
    const { strategy, trades } = await bands.backtest({ ...rules, when: condition })
    expect(strategy).toMatchObject({ entry: { field: condition, bands: ['true'] }, exit: { when: rules.exit } })
    const { hold, exit: when, ...others } = rules
    const file = { entry: { when: condition }, exit: { hold, when } }
    expect((await bands.backtest({ ...others, strategy: file })).trades).toEqual(trades)
  } finally {
    await bands.close()
  }
})

describe('a heading', () => {
  test.each([
    ['events AAPL', '', 'AAPL  rsi_zone = oversold  daily'],
    ['events AAPL', '--band false', 'AAPL  rsi_zone = oversold: false  daily'],
    ['tally AAPL', '', 'AAPL  rsi_zone = oversold  daily'],
    ['tally AAPL macd_state', '', 'when rsi_zone = oversold'],
    ['study AAPL', '--tests "draws 99, bootstrap 99" --horizon 5', 'AAPL  rsi_zone = oversold  daily'],
  ])('of bands %s %s calls a condition that holds by its text', async (line, more, heading) => {
    expect((await when(line, 'rsi_zone = oversold', `${more} --output table`)).out).toContain(heading)
  })
})

describe('a backtest of a condition', () => {
  const entered = 'rsi_zone enters oversold'

  it('is shown in words, and noted with its text: another condition is another trial', async () => {
    const out = ['--exit', 'rsi_zone enters overbought']
    const line = ['backtest', 'GSPC', '--when', entered, ...out, '--tests', 'draws 0']
    const env = { BANDS_DB: folder.file('bands.db') }
    const text = (await run([...line, '--output', 'table'], { env })).out.replace(/\s+/g, ' ')
    expect(text).toContain(`GSPC long when it becomes true that ${entered} daily`)
    expect(text).toContain('out when it becomes true that rsi_zone enters overbought')
    await run(line.with(-4, '').filter(Boolean), { env })
    await run(line.with(5, 'rsi_zone enters neutral'), { env })
    const { out: noted } = await ask('trials --csv')
    expect(noted).toContain(`long ${entered} at next-open; when rsi_zone enters overbought; GSPC`)
    expect(noted).toContain(`long ${entered} at next-open; when rsi_zone enters neutral; GSPC`)
  })

  it('is refused in a file at its place and column, and on the line by its option', async () => {
    writeFileSync(folder.file('odd.yaml'), 'tickers: AAPL\nentry:\n  when: rsi_zone = oversol\nexit: {hold: 5}\n')
    const odd = await ask(`backtest ${folder.file('odd.yaml')}`)
    expect(odd.code).toBe(5)
    expect(odd.err.replace(/\s+/g, ' ')).toMatch(/odd\.yaml:3:20: entry\.when, column 12: .*oversold/)
    expectRefusal(await when('backtest AAPL', 'rsi_zone = oversol', '--hold 5'), 2, '--when, column 12')
  })

  it('that begins on another day than its rivals is said to, and of one that does not nothing is', async () => {
    const env = { BANDS_DB: folder.file('bands.db') }
    const warned = async (...whens: string[]): Promise<string[]> => {
      const line = ['backtest', 'AAPL', '--when', whens[0]!, '--hold', '20', '--vary', `when=${whens.join()}`, '--json']
      const { out } = await run(line, { env })
      const { warnings } = JSON.parse(out) as { warnings: string[] }
      return warnings.filter(text => text.startsWith('the combinations '))
    }
    const own = 'rsi_zone enters oversold'
    const other = 'GSPC:rsi_zone enters oversold'
    expect(await warned(own, other)).toEqual([
      expect.stringMatching(/^the combinations begin between \d{4}-\d\d-\d\d and \d{4}-\d\d-\d\d: each is measured/),
    ])
    expect(await warned(own, 'rsi_zone enters overbought')).toEqual([])
  })
})
