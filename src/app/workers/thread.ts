// For: the program of every thread.
// In: the first message, then tasks by number.
// Out: the results, by the same numbers.

import { parentPort, workerData } from 'node:worker_threads'
import { BandsError } from '../../core/errors.js'
import type { TickerData } from '../../data/load/derive.js'
import type { ExportData } from '../../data/local/export.js'
import {
  type Done,
  type FromThread,
  type Handler,
  type Job,
  resultsFromEnd,
  type SharedTasks,
  type Start,
  serializeError,
  type ToThread,
} from '../../data/threads.js'
import type { CellTask, GridData } from '../../research/backtest/grid.js'
import type { DrawsData } from '../../research/backtest/tested-run.js'
import type { StudyTask } from '../../research/study/event-study.js'
import type { Material } from '../../research/study/window.js'
import type { SweepData, SweepTask } from '../../research/sweep/validation.js'
import type { BandsOptions } from '../client.js'
import type { ScanData } from '../open/scan.js'

/** The program of each job, loaded only by its own threads. */
const JOBS: Readonly<Record<Job, (data: never) => Promise<Handler>>> = {
  scan: async (data: ScanData) => (await import('../open/scan.js')).begin(data),
  // The events of one ticker as text, with `rows.between` between two of them, or tables of tickers as row groups.
  export: async ({ path, tier, today, filter, rows }: ExportData) => {
    const [{ Cache }, { eventBlock }, { tableGroups: groupsOf }, { openSqlite }] = await Promise.all([
      import('../../data/local/cache.js'),
      import('../../data/local/export.js'),
      import('../../data/local/export-columns.js'),
      import('../../data/store/sqlite/data.js'),
    ])
    let cache: InstanceType<typeof Cache> | undefined
    return {
      async answer(task: string | readonly string[]) {
        cache ??= new Cache(openSqlite(path, { readonly: true }), tier, null, { clock: () => today })
        if ('between' in rows) {
          const block = await eventBlock(cache, { ...filter, tickers: [task as string] }, rows.between)
          return { result: block, transfer: [block.text.buffer] }
        }
        const groups = await groupsOf(cache, { ...rows, filter }, task as readonly string[])
        return { result: groups, transfer: groups.map(({ group }) => group.bytes.buffer) }
      },
    }
  },
  sweep: async (data: SweepData) => {
    const runBatch = (await import('../../research/sweep/validation.js')).cellRunner(data)
    return { answer: (task: SweepTask) => ({ result: [...runBatch(task)] }) }
  },
  grid: async (data: GridData) => {
    const runCell = (await import('../../research/backtest/grid.js')).cellRunner(data)
    return { answer: (task: CellTask) => ({ result: runCell(task) }) }
  },
  study: async (data: Material) => {
    const runPart = (await import('../../research/study/event-study.js')).partRunner(data)
    return { answer: (task: StudyTask) => ({ result: runPart(task) }) }
  },
  // The task brings the data of the study.
  'last-of-study': async () => {
    const { partRunner } = await import('../../research/study/event-study.js')
    return {
      answer: (shared: SharedTasks<Material, StudyTask>) => ({
        result: resultsFromEnd(shared, partRunner(shared.data)),
      }),
    }
  },
  draws: async (data: DrawsData) => {
    const runDraw = (await import('../../research/backtest/tested-run.js')).drawRunner(data)
    return { answer: (draw: number) => ({ result: runDraw(draw) }) }
  },
  // Each task brings the data of its tickers.
  derive: async () => {
    const { deriveRecord } = await import('../../data/load/derive.js')
    return { answer: (tickers: readonly TickerData[]) => ({ result: tickers.map(deriveRecord) }) }
  },
  ask: async (options: BandsOptions) => (await import('../ui/questions.js')).newQuestionHandler(options),
}

// The program of a thread: one job, a task at a time.
const port = parentPort!
const { job, data } = workerData as Start
const handler = JOBS[job](data as never)
const abortByTask = new Map<number, AbortController>()
let lastTask: Promise<void> = handler.then(() => {})

port.on('message', (message: ToThread) => {
  if ('stop' in message) return abortByTask.get(message.stop)?.abort()
  const { id, task } = message
  const stop = new AbortController()
  abortByTask.set(id, stop)
  lastTask = lastTask.then(async () => {
    await runTask(id, task, stop.signal)
    abortByTask.delete(id)
  })
})

/** Runs a task, and sends its result or its error under the task's number. */
async function runTask(id: number, task: unknown, signal: AbortSignal): Promise<void> {
  try {
    const { result, transfer } = await (await handler).answer(task, signal)
    send({ id, result }, transfer)
  } catch (error) {
    send(error instanceof BandsError ? { id, refusal: serializeError(error) } : { id, fault: error })
  }
}

function send(message: FromThread, transfer: Done<unknown>['transfer'] = []): void {
  port.postMessage(message, transfer)
}
