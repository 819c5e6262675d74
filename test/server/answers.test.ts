import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Tier } from '../../src/core/model/terms.js'
import { Answers } from '../../src/server/http/answers.js'
import type { Question, Service } from '../../src/server/http/question.js'
import { namesTag } from '../../src/server/http/questions.js'
import { latch } from '../support/serve.js'

const free = async (): Promise<void> => {}

/** Questions that are counted, of data whose version can be changed. */
function counted() {
  const state = { version: '1', asked: 0, open: Promise.resolve() }
  const service = {
    version: async () => state.version,
    today: async () => 20_000,
    snapshot: async () => 'data',
  } as unknown as Service
  const question = (whole: string, page: object): Question => {
    const ask = async () => {
      state.asked++
      await state.open
      return { body: JSON.stringify(page), note: null }
    }
    const isAnswerable = async (): Promise<boolean> => true
    return {
      credits: 1,
      key: whole,
      fullKey: whole,
      stamp: async () => null,
      isHeavy: false,
      answer: ask,
      cutOut: body => body,
      isAnswerable,
    }
  }
  return { state, service, question }
}

function answersOf(service: Service, keptBytes: number) {
  const answers = new Answers(service, { cacheBytes: keptBytes, waiting: 10 })
  return {
    find: (tier: Tier, question: Question, check: () => Promise<void>) =>
      answers.find({ tier, account: 1, check, onQueued: () => {} }, question),
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

it('asks once for the same, and again for another tier or question', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  const first = await answers.find('pro', question('/a', { a: 1 }), free)
  const second = await answers.find('pro', question('/a', { a: 1 }), free)
  expect([first.isCached, second.isCached, first.answer === second.answer]).toEqual([false, true, true])
  expect(first.answer.body).toBe('{"a":1}')
  expect(first.answer.asOf).toBe('2024-10-04')
  await answers.find('free', question('/a', { a: 1 }), free)
  await answers.find('pro', question('/b', { a: 1 }), free)
  expect(state.asked).toBe(3)
})

it('computes once what many ask at the same time', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  const found = await Promise.all(Array.from({ length: 20 }, () => answers.find('pro', question('/a', { a: 1 }), free)))
  expect(state.asked).toBe(1)
  expect(new Set(found.map(({ answer }) => answer)).size).toBe(1)
})

it('forgets everything when the data has changed, and asks what was under way once more', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  await answers.find('pro', question('/a', { a: 1 }), free)
  const { passed, open } = latch()
  state.open = passed
  const old = answers.find('pro', question('/slow', { old: true }), free)
  await turn()
  state.version = '2'
  const young = answers.find('pro', question('/slow', { old: false }), free)
  await turn()
  open()
  expect((await old).answer.body).toBe('{"old":true}')
  expect((await young).answer.body).toBe('{"old":false}')
  expect((await answers.find('pro', question('/a', { a: 2 }), free)).answer.body).toBe('{"a":2}')
  const kept = await answers.find('pro', question('/slow', { old: 'again' }), free)
  expect(kept.isCached).toBe(true)
  // /a twice, the young once, and the old before and after the change.
  expect(state.asked).toBe(5)
})

it('keeps, and computes once, what stands on nothing that was written meanwhile', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  let stamp = 'as it was'
  const stamped = { ...question('/a', { a: 1 }), stamp: async () => stamp }
  const { passed, open } = latch()
  state.open = passed
  const first = answers.find('pro', stamped, free)
  await turn()
  state.version = '2'
  open()
  const { answer } = await first
  state.version = '3'
  await turn()
  expect(await answers.find('pro', stamped, free)).toEqual({ answer, isCached: true })
  expect(state.asked).toBe(1)
  stamp = 'another'
  expect((await answers.find('pro', stamped, free)).isCached).toBe(true)
  state.version = '4'
  await turn()
  expect((await answers.find('pro', stamped, free)).isCached).toBe(false)
})

it('gives to who has seen the new version nothing of an older one, though that is told again by a slow reply', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  await answers.find('pro', question('/a', { a: 1 }), free)
  await turn()
  const replies: ((version: string) => void)[] = []
  service.version = () => new Promise(resolve => replies.push(resolve))
  const slow = answers.find('pro', question('/b', { b: 1 }), free)
  await turn()
  const quick = answers.find('pro', question('/a', { a: 2 }), free)
  await turn()
  // Asked later and answered before, by another connection.
  const [old, young] = replies
  state.version = '2'
  service.version = async () => state.version
  young!('2')
  old!('1')
  expect((await quick).answer.body).toBe('{"a":2}')
  await slow
})

it('keeps no refusal', async () => {
  const { service, question } = counted()
  const answers = answersOf(service, 1e6)
  const failing = { ...question('/a', {}), answer: () => Promise.reject(new Error('no')) }
  await expect(answers.find('pro', failing, free)).rejects.toThrow('no')
  expect((await answers.find('pro', question('/a', { a: 1 }), free)).answer.body).toBe('{"a":1}')
})

it('is checked before it is computed, and not once it is kept', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 1e6)
  const refuse = (): Promise<void> => Promise.reject(new Error('no credits'))
  await expect(answers.find('pro', question('/a', { a: 1 }), refuse)).rejects.toThrow('no credits')
  expect(state.asked).toBe(0)
  const { passed, open } = latch()
  state.open = passed
  const computing = answers.find('pro', question('/a', { a: 1 }), free)
  await turn()
  await expect(answers.find('pro', question('/a', { a: 1 }), refuse)).rejects.toThrow('no credits')
  open()
  await computing
  expect((await answers.find('pro', question('/a', { a: 1 }), refuse)).isCached).toBe(true)
  expect(state.asked).toBe(1)
})

it('keeps what was asked for last, up to its bytes', async () => {
  const { state, service, question } = counted()
  const answers = answersOf(service, 11_000)
  const big = (name: string) => question(name, { text: 'x'.repeat(2_500) })
  for (const name of ['/a', '/b', '/c', '/a', '/d']) await answers.find('pro', big(name), free)
  expect(state.asked).toBe(4)
  const kept = async (name: string): Promise<boolean> => (await answers.find('pro', big(name), free)).isCached
  expect([await kept('/a'), await kept('/d'), await kept('/c')]).toEqual([true, true, true])
  expect(await kept('/b')).toBe(false)
  expect((await answers.find('pro', question('/huge', { text: 'x'.repeat(20_000) }), free)).isCached).toBe(false)
  expect(await kept('/b')).toBe(true)
})

it('compresses what it keeps once, and counts those bytes among what it keeps', async () => {
  const { service, question } = counted()
  const answers = answersOf(service, 10_500)
  const noise = randomBytes(1_500).toString('hex')
  const find = (name: string) => answers.find('pro', question(name, { noise }), free)
  const first = (await find('/a')).answer
  const bytes = await first.encodedBodies.encodedAs('gzip')
  expect(await (await find('/a')).answer.encodedBodies.encodedAs('gzip')).toBe(bytes)
  await find('/b')
  expect((await find('/a')).isCached).toBe(true)
  // A second coding takes the room of the other answer.
  await first.encodedBodies.encodedAs('br')
  expect([(await find('/a')).isCached, (await find('/b')).isCached]).toEqual([true, false])
})

it('keeps the parts of an answer with it', async () => {
  const { service, question } = counted()
  const answers = answersOf(service, 1e6)
  const whole = question('/a', { all: true })
  const part = { ...whole, key: '/a part', cutOut: () => '{"some":true}' }
  const [one, same] = await Promise.all([answers.find('pro', part, free), answers.find('pro', part, free)])
  expect([one.answer.body, same.answer.body]).toEqual(['{"some":true}', '{"some":true}'])
  const again = (await answers.find('pro', part, free)).answer
  expect((await answers.find('pro', part, free)).answer).toBe(again)
  expect(again.question).not.toEqual((await answers.find('pro', whole, free)).answer.question)
})

it.each([
  ['"a"', true],
  ['W/"a"', true],
  ['"b", W/"a"', true],
  ['"other, too", "a","more"', true],
  ['*', false],
  [' * ', false],
  ['*, "b"', false],
  ['junk', false],
  ['"b"', false],
  ['a', false],
  ['"a', false],
  ['', false],
  ['"x,"a""', false],
  [undefined, false],
])('If-None-Match %s names "a": %s', (header, named) => {
  expect(namesTag(header, '"a"')).toBe(named)
})
