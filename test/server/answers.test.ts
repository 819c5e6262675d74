import { expect, it } from 'vitest'
import { Answers, matches, type Question, type Service } from '../../src/server/questions.js'
import type { Source } from '../../src/source.js'
import { latch } from '../support/serve.js'

/** Questions that are counted, of data whose version can be changed. */
function counted() {
  const state = { version: '1', asked: 0, read: 0, open: Promise.resolve() }
  const service = {
    version: async () => state.version,
    today: async () => 20_000,
    bands: () => ({}) as Source,
  } as unknown as Service
  const question = (page: object): (() => Question) => {
    return () => {
      state.read++
      const ask = async (): Promise<object> => {
        state.asked++
        await state.open
        return page
      }
      return { credits: 1, normal: JSON.stringify(page), ask }
    }
  }
  return { state, service, question }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

it('asks once for the same, and again for another tier or URL', async () => {
  const { state, service, question } = counted()
  const answers = new Answers(service, 1e6)
  const first = await answers.find('pro', '/a', question({ a: 1 }))
  const second = await answers.find('pro', '/a', question({ a: 1 }))
  expect([first.kept, second.kept, first.answer === second.answer, state.read]).toEqual([false, true, true, 1])
  expect(first.answer.body).toBe('{"a":1}')
  expect(first.answer.asOf).toBe('2024-10-04')
  await answers.find('free', '/a', question({ a: 1 }))
  await answers.find('pro', '/b', question({ a: 1 }))
  expect(state.asked).toBe(3)
})

it('computes once what many ask at the same time', async () => {
  const { state, service, question } = counted()
  const answers = new Answers(service, 1e6)
  const found = await Promise.all(Array.from({ length: 20 }, () => answers.find('pro', '/a', question({ a: 1 }))))
  expect(state.asked).toBe(1)
  expect(new Set(found.map(({ answer }) => answer)).size).toBe(1)
})

it('forgets everything when the data has changed, and asks what was under way once more', async () => {
  const { state, service, question } = counted()
  const answers = new Answers(service, 1e6)
  await answers.find('pro', '/a', question({ a: 1 }))
  const { passed, open } = latch()
  state.open = passed
  const old = answers.find('pro', '/slow', question({ old: true }))
  await turn()
  state.version = '2'
  const young = answers.find('pro', '/slow', question({ old: false }))
  await turn()
  open()
  expect((await old).answer.body).toBe('{"old":true}')
  expect((await young).answer.body).toBe('{"old":false}')
  expect((await answers.find('pro', '/a', question({ a: 2 }))).answer.body).toBe('{"a":2}')
  const kept = await answers.find('pro', '/slow', question({ old: 'again' }))
  expect(kept.kept).toBe(true)
  // /a twice, the young once, and the old before and after the change.
  expect(state.asked).toBe(5)
})

it('keeps no refusal', async () => {
  const { service, question } = counted()
  const answers = new Answers(service, 1e6)
  const failing = (): Question => ({ ...question({})(), ask: () => Promise.reject(new Error('no')) })
  await expect(answers.find('pro', '/a', failing)).rejects.toThrow('no')
  let read = 0
  const wrong = (): Question => {
    read++
    throw new Error('wrong')
  }
  for (let i = 0; i < 2; i++) await expect(answers.find('pro', '/a', wrong)).rejects.toThrow('wrong')
  expect(read).toBe(2)
  expect((await answers.find('pro', '/a', question({ a: 1 }))).answer.body).toBe('{"a":1}')
})

it('keeps what was asked for last, up to its bytes', async () => {
  const { state, service, question } = counted()
  const answers = new Answers(service, 11_000)
  const big = question({ text: 'x'.repeat(2_500) })
  for (const url of ['/a', '/b', '/c', '/a', '/d']) await answers.find('pro', url, big)
  expect(state.asked).toBe(4)
  const kept = async (url: string): Promise<boolean> => (await answers.find('pro', url, big)).kept
  expect([await kept('/a'), await kept('/d'), await kept('/c')]).toEqual([true, true, true])
  expect(await kept('/b')).toBe(false)
  expect((await answers.find('pro', '/huge', question({ text: 'x'.repeat(20_000) }))).kept).toBe(false)
  expect(await kept('/b')).toBe(true)
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
  expect(matches(header, '"a"')).toBe(named)
})
