import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { StorageError } from '../../src/errors.js'
import { Threads } from '../../src/workers/threads.js'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))
const never = new AbortController().signal

function started(most = 1): Threads<string, string> {
  const threads = new Threads<string, string>(PROGRAM, 'done:', most)
  onTestFinished(() => threads.close())
  return threads
}

it('answers from threads that are kept', async () => {
  const threads = started()
  expect(await threads.run('a', never)).toBe('done: a')
  expect(await threads.run('b', never)).toBe('done: b')
  expect(await Promise.all([threads.run('c', never), threads.run('d', never)])).toEqual(['done: c', 'done: d'])
})

it.each(['die', 'throw'])('answers with a fault what a thread had to do that ended (%s), and goes on', async task => {
  const threads = started()
  await expect(threads.run(task, never)).rejects.toThrow('a thread failed while it computed an answer')
  expect(await threads.run('a', never)).toBe('done: a')
})

it('tells an error of ours as such, and any other as a fault with its cause', async () => {
  const threads = started()
  await expect(threads.run('refuse', never)).rejects.toThrow(new StorageError('no disk'))
  await expect(threads.run('fail', never)).rejects.toMatchObject({ cause: { message: 'a mistake' } })
  expect(await threads.run('a', never)).toBe('done: a')
})

it('stops what nobody waits for, before and after it has begun', async () => {
  const threads = started()
  const abort = new AbortController()
  const waiting = expect(threads.run('wait', abort.signal)).rejects.toMatchObject({ cause: { message: 'stopped' } })
  setImmediate(() => abort.abort())
  await waiting
  await expect(threads.run('wait', abort.signal)).rejects.toMatchObject({ cause: { message: 'stopped' } })
  expect(await threads.run('a', never)).toBe('done: a')
})
