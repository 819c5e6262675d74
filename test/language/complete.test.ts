import { describe, expect, it } from 'vitest'
import { completedConditions, completionAtEnd } from '../../src/app/cli/complete.js'
import { BUILT_IN } from '../../src/core/fields/index.js'
import { parseCondition } from '../../src/core/language/condition.js'
import { Random } from '../../src/core/statistics/random.js'
import { draws } from '../support/full.js'
import { MADE, MADE_FIELDS, randomClaim, written } from '../support/random-conditions.js'

const RSI = 'deep_oversold oversold neutral_low neutral neutral_high overbought deep_overbought'.split(' ')
const OPERATORS = ['=', '!=', 'in', 'not', 'enters', 'leaves']

describe('the words that may stand at the end of a text', () => {
  it.each([
    ['rsi', ['rsi_zone']],
    ['RSI', ['rsi_zone']],
    ['n', ['net_direction', 'not']],
    ['rsi_zone ', OPERATORS],
    ['rsi_zone e', ['enters']],
    ['rsi_zone !', ['!=']],
    ['rsi_zone =', RSI],
    ['rsi_zone = over', ['oversold', 'overbought']],
    ['rsi_zone=deep_o', ['deep_oversold', 'deep_overbought']],
    ['rsi_zone in ', ['(']],
    ['rsi_zone in (', RSI],
    ['rsi_zone in (oversold', ['oversold']],
    ['rsi_zone in (oversold ', [',', ')']],
    ['rsi_zone in (oversold, deep_oversold, n', ['neutral_low', 'neutral', 'neutral_high']],
    ['rsi_zone not ', ['in']],
    ['rsi_zone enters ', [...RSI, 'any', '(']],
    ['rsi_zone enters any ', ['from', 'within', 'and', 'or']],
    ['rsi_zone leaves any ', ['to', 'within', 'and', 'or']],
    ['rsi_zone = oversold ', ['for', 'and', 'or']],
    ['rsi_zone = oversold for ', []],
    ['rsi_zone = oversold for 3', ['bars', 'and', 'or']],
    ['rsi_zone = oversold for 3 bars ', ['and', 'or']],
    ['(rsi_zone = oversold ', ['for', 'and', 'or', ')']],
    ['GSPC:trend', ['trend_direction']],
    ['GSPC:trend_direction@', ['daily', 'weekly']],
    ['GSPC:trend_direction@w', ['weekly']],
    ['trend_direction@weekly ', OPERATORS],
    ['rsi_zone = oversold and not trend', ['trend_direction']],
    // What is wrong already has no end.
    ['rsi_zon = over', []],
    ['rsi_zone oversold an', []],
    ['rsi_zone = oversold)', []],
  ])('%j: %j', (text, words) => {
    expect([...completionAtEnd(text, BUILT_IN).words].sort()).toEqual([...words].sort())
  })

  it('are all fields, and not and a bracket, where a test may begin', () => {
    for (const text of ['', '(', 'not ', 'rsi_zone = oversold and ', 'rsi_zone = oversold or('])
      expect(completionAtEnd(text, BUILT_IN)).toMatchObject({ words: [...BUILT_IN.names, 'not', '('], ticker: true })
    for (const text of ['rsi_zone ', 'rsi_zone = ', 'GSPC:', 'rsi_zone@'])
      expect(completionAtEnd(text, BUILT_IN).ticker).toBe(false)
  })

  it('are those with which every beginning of a condition goes on', () => {
    for (let seed = 1; seed <= draws(400); seed++) {
      const random = new Random(new Random(seed).word())
      const text = written(randomClaim(random, MADE_FIELDS, 2), random)
      for (let end = 0; end < text.length; end++) {
        const word = /^(?:[A-Za-z_]\w*|!=|[=(),])/.exec(text.slice(end))?.[0].toLowerCase()
        const isBeginning = text[end - 1] !== '!' && (!/\w$/.test(text.slice(0, end)) || !/^\w/.test(text.slice(end)))
        const isTicker =
          word === undefined || /^[\w.=^-]+:/.test(text.slice(end)) || /[\w.=^-]$/.test(text.slice(0, end))
        if (isTicker || !isBeginning) continue
        expect(completionAtEnd(text.slice(0, end), MADE).words, text.slice(0, end)).toContain(word)
      }
    }
  })
})

describe('the texts that a shell is offered', () => {
  const tickers = ['GSPC', 'GSK', 'AAPL']
  const offered = (text: string): Promise<string[]> =>
    completedConditions(text, BUILT_IN, async start => tickers.filter(ticker => ticker.startsWith(start.toUpperCase())))

  it.each([
    ['rsi_zone = over', ['rsi_zone = oversold', 'rsi_zone = overbought']],
    ['rsi_zone=overs', ['rsi_zone=oversold']],
    ['rsi_zone = oversold and tr', OPERATORS.map(word => `rsi_zone = oversold and trend_direction ${word}`)],
    ['rsi_z', OPERATORS.map(word => `rsi_zone ${word}`)],
    ['rsi_zone en', [...RSI, 'any', '('].map(word => `rsi_zone enters ${word}`)],
    ['rsi_zone in', RSI.map(band => `rsi_zone in (${band}`)],
    ['rsi_zone in (overb', ['rsi_zone in (overbought,', 'rsi_zone in (overbought)']],
    ['rsi_zone =', RSI.map(band => `rsi_zone = ${band}`)],
    ['rsi_zone@w', OPERATORS.map(word => `rsi_zone@weekly ${word}`)],
    ['rsi_zone = oversold for 3', ['bars', 'and', 'or'].map(word => `rsi_zone = oversold for 3 ${word}`)],
    ['gs', ['GSPC:', 'GSK:']],
    ['not aa', [...BUILT_IN.names].map(name => `not AAPL:${name}`)],
    ['xyz', []],
  ])('%j: %j', async (text, texts) => expect(await offered(text)).toEqual(texts))

  it('each begin as what was typed, case aside, and lead to a condition', async () => {
    for (const text of ['', 'RSI_Z', 'rsi_zone = ', 'rsi_zone = oversold ', '(rsi_zone leaves any within 3']) {
      for (const one of await offered(text)) expect(one.toLowerCase().startsWith(text.toLowerCase())).toBe(true)
    }
    expect(parseCondition((await offered('rsi_zone = overs'))[0]!, BUILT_IN)).toMatchObject({ bands: ['oversold'] })
  })
})
