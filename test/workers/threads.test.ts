import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { BadData, Busy, invalid, NotFound, remedy, StorageError } from '../../src/core/errors.js'
import { Damaged } from '../../src/data/store/store.js'
import {
  deserializeError,
  resultsFromEnd,
  runInOrder,
  serializeError,
  shareColumns,
  Threads,
  type Work,
} from '../../src/data/threads.js'
import { drained } from '../support/drain.js'
import { firstInQuick } from '../support/full.js'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))
const never = new AbortController().signal

function started(size = 1): Threads<string, string> {
  const threads = new Threads<string, string>('scan', 'done:', size, PROGRAM)
  onTestFinished(() => threads.close())
  return threads
}

it('answers from threads that are kept', async () => {
  const threads = started(2)
  expect(await threads.run('a', never)).toBe('done: a')
  expect(await threads.run('b', never)).toBe('done: b')
  expect(await Promise.all([threads.run('c', never), threads.run('d', never)])).toEqual(['done: c', 'done: d'])
})

it('has no more threads than it may, and gives a task to the one that has least to do', async () => {
  const threads = started(2)
  const who = await Promise.all(['who', 'who', 'who', 'who'].map(task => threads.run(task)))
  expect(new Set(who).size).toBe(2)
})

it.each(['die', 'throw'])('answers with a fault what a thread had to do that ended (%s), and goes on', async task => {
  const threads = started()
  await expect(threads.run(task, never)).rejects.toThrow('a thread ended before its work was done')
  expect(await threads.run('a', never)).toBe('done: a')
})

it('tells an error of ours as such, and any other as what it is', async () => {
  const threads = started()
  await expect(threads.run('refuse', never)).rejects.toThrow(new StorageError('no disk'))
  await expect(threads.run('fail', never)).rejects.toThrow(new RangeError('a mistake'))
  expect(await threads.run('a', never)).toBe('done: a')
})

it.each([
  invalid('not_allowed', { param: 'limit', value: 0, allowed: ['1', '2'] }),
  new NotFound('no bars for "APPL".', ['AAPL'], { missing: { kind: 'ticker', name: 'APPL' } }),
  new BadData({ file: 'a.csv', line: 3 }, 'no price'),
  new Damaged('a.db', { ticker: 'AAPL', what: 'it is not what was written', mend: remedy('rebuild') }),
])('brings an error to another thread as it is: %s', error => {
  const there = deserializeError(structuredClone(serializeError(error)))
  expect(there).toBeInstanceOf(error.constructor)
  expect({ ...there }).toEqual({ ...error })
  expect([there.message, there.stack, there.payload()]).toEqual([error.message, error.stack, error.payload()])
})

it('stops what nobody waits for, before and after it has begun', async () => {
  const threads = started()
  const abort = new AbortController()
  const waiting = expect(threads.run('wait', abort.signal)).rejects.toThrow('stopped')
  setImmediate(() => abort.abort())
  await waiting
  await expect(threads.run('wait', abort.signal)).rejects.toThrow('stopped')
  expect(await threads.run('a', never)).toBe('done: a')
})

it('rejects with Busy what is not done when its threads are closed, which is no fault', async () => {
  const threads = started()
  const waiting = expect(threads.run('wait', never)).rejects.toThrow(Busy)
  await threads.close()
  await waiting
})

const TASKS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

/** What is made of tasks, by so many threads, each task being large. */
function made<Task>(tasks: readonly Task[], threads: number, more: Partial<Work<Task, string>> = {}) {
  const here = (task: Task): string => `here ${task}`
  return runInOrder({ job: 'scan', data: () => 'done:', tasks, ms: 1000, here, program: PROGRAM, ...more }, { threads })
}

it.each(firstInQuick([2, 3, 5]))('gives what %i threads make in the order of the tasks', async threads => {
  expect(await drained(made(TASKS, threads))).toEqual(TASKS.map(task => `done: ${task}`))
})

it('works here where there is one thread, one task, or little to do', async () => {
  const here = TASKS.map(task => `here ${task}`)
  expect(await drained(made(TASKS, 1))).toEqual(here)
  expect(await drained(made([0], 3))).toEqual(['here 0'])
  expect(await drained(made(TASKS, 3, { ms: 49 }))).toEqual(here)
})

it('throws what a task throws in its turn, and what those before it gave comes first', async () => {
  const found: string[] = []
  const work = async (): Promise<void> => {
    for await (const one of made(['a', 'b', 'refuse', 'c'], 2)) found.push(one)
  }
  await expect(work()).rejects.toThrow(new StorageError('no disk'))
  expect(found).toEqual(['done: a', 'done: b'])
})

it('ends its threads with an error, and when nobody takes any more', async () => {
  const before = process.getActiveResourcesInfo().filter(name => name === 'MessagePort').length
  for await (const one of made(['a', 'wait', 'b'], 2)) {
    expect(one).toBe('done: a')
    break
  }
  await expect(drained(made(['a', 'die', 'b'], 2))).rejects.toThrow('a thread ended before its work was done')
  expect(process.getActiveResourcesInfo().filter(name => name === 'MessagePort')).toHaveLength(before)
})

it('takes no task far ahead of whoever takes the results', async () => {
  let asked = 0
  const tasks = new Proxy(TASKS, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) asked = Math.max(asked, Number(key) + 1)
      return Reflect.get(target, key)
    },
  })
  for await (const one of made(tasks, 2)) {
    expect(one).toBe('done: 0')
    break
  }
  expect(asked).toBeLessThanOrEqual(5)
})

it('does tasks from the last one to those that another thread has taken, in their order', () => {
  const taken = Uint8Array.of(1, 0, 0, 0)
  const done: string[] = []
  const run = (task: string): string => `result ${done.push(task)}`
  const tasks = ['a', 'b', 'c', 'd']
  expect(resultsFromEnd({ tasks, taken }, run)).toEqual(['result 3', 'result 2', 'result 1'])
  expect(done).toEqual(['d', 'c', 'b'])
  expect(resultsFromEnd({ tasks, taken }, run)).toEqual([])
})

it('shares data with all columns in memory that each thread has', () => {
  const days = Int32Array.of(3, 5, 9)
  const given = { series: { days, close: new Float64Array([0, 1.5, 2.5, 3.5]).subarray(1) }, same: days, name: 'A' }
  const copy = shareColumns(given)
  expect(copy).toEqual(given)
  expect(copy.same).toBe(copy.series.days)
  expect(copy.series.days.buffer).toBeInstanceOf(SharedArrayBuffer)
})
