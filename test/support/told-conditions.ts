import { expect } from 'vitest'
import { InvalidParameter } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { conditionField } from '../../src/core/language/as-field.js'
import type { Day } from '../../src/core/model/day.js'
import type { EventsQuery } from '../../src/core/model/event.js'
import type { Source } from '../../src/core/source.js'
import type { Random } from '../../src/core/statistics/random.js'
import { TECHNICAL } from './exported-shelves.js'
import { chance, pick } from './random-facts.js'

/** Conditions beside a field, asked of who has bars and of who has events alone. */

function randomTest(random: Random, ticker: string, others: readonly string[]): string {
  const field = pick(random, Object.keys(TECHNICAL))
  const band = (): string => pick(random, TECHNICAL[field]!)
  const owner = chance(random, 0.7) ? '' : `${pick(random, [ticker, ...others])}:`
  const subject = `${owner}${field}${chance(random, 0.9) ? '' : '@weekly'}`
  const bars = (word: string): string => (chance(random, 0.9) ? '' : ` ${word} 2`)
  return pick(random, [
    () => `${subject} ${pick(random, ['=', '!='])} ${band()}${bars('for')}`,
    () => `${subject} in (${band()}, ${band()})`,
    () => `${subject} ${pick(random, ['enters', 'leaves'])} ${pick(random, ['any', band()])}${bars('within')}`,
  ])()
}

function randomCondition(random: Random, ticker: string, others: readonly string[]): string {
  const one = (): string => `${chance(random, 0.2) ? 'not ' : ''}${randomTest(random, ticker, others)}`
  return chance(random, 0.5) ? one() : `${one()} ${pick(random, ['and', 'or'])} ${one()}`
}

/**
 * Asks both: who has events alone answers as who has bars does, or refuses. How often it answered, with how many events,
 * and what it lacked otherwise.
 */
export async function compareConditions(
  { far, near }: Record<'far' | 'near', Pick<Source, 'events'>>,
  tickers: readonly string[],
  { random, draws, first }: { random: Random; draws: number; first: Day },
) {
  const seen = { answered: 0, events: 0, refused: new Set<string>() }
  for (let draw = 0; draw < draws; draw++) {
    const ticker = pick(random, tickers)
    const text = randomCondition(random, ticker, tickers)
    const timeframe = pick(random, ['daily', 'daily', 'weekly'] as const)
    const field = pick(random, Object.keys(TECHNICAL))
    const when = conditionField(text, BUILT_IN_FIELDS).name
    const bounds = chance(random, 0.6) ? { after: first } : {}
    const query: EventsQuery = { ticker, field, timeframe, when, limit: 100, ...bounds }
    const found = await far.events(query).catch((error: unknown) => error)
    if (found instanceof InvalidParameter) {
      expect(found.message).toContain('cannot be computed from events')
      seen.refused.add(found.message.replace(/^.* tells: |"[^"]*"|[A-Z]+\d+|\d{4}-\d\d-\d\d/g, ''))
      continue
    }
    if (found instanceof Error) {
      await expect(near.events(query), JSON.stringify(query)).rejects.toMatchObject({ message: found.message })
      continue
    }
    const expected = await near.events(query)
    expect(found, JSON.stringify(query)).toEqual(expected)
    seen.answered++
    seen.events += expected.events.length
  }
  return seen
}
