import { parentPort, workerData } from 'node:worker_threads'
import { BandsError } from '../errors.js'
import { type Done, type FromThread, type Handler, type Job, refusalOf, type Start, type ToThread } from '../threads.js'

/** The jobs, each loaded by the threads that it is for. */
const JOBS: Readonly<Record<Job, () => Promise<{ begin(data: unknown): Handler }>>> = {
  scan: () => import('./scan.js'),
  export: () => import('./export.js'),
  study: () => import('./study.js'),
  sweep: () => import('./sweep.js'),
  grid: () => import('./grid.js'),
  derive: () => import('./derive.js'),
  ledger: () => import('./ledger.js'),
}

// The program of a thread: one job, a task at a time.
const port = parentPort!
const { job, data } = workerData as Start
const handler = JOBS[job]().then(({ begin }) => begin(data))
const waiting = new Map<number, AbortController>()
let working: Promise<void> = handler.then(() => {})

port.on('message', (message: ToThread) => {
  if ('stop' in message) return waiting.get(message.stop)?.abort()
  const { id, task } = message
  const stop = new AbortController()
  waiting.set(id, stop)
  working = working.then(async () => {
    await answer(id, task, stop.signal)
    waiting.delete(id)
  })
})

async function answer(id: number, task: unknown, signal: AbortSignal): Promise<void> {
  try {
    const { result, transfer } = await (await handler).answer(task, signal)
    send({ id, result }, transfer)
  } catch (error) {
    send(error instanceof BandsError ? { id, refusal: refusalOf(error) } : { id, fault: error })
  }
}

function send(message: FromThread, transfer: Done<unknown>['transfer'] = []): void {
  port.postMessage(message, transfer)
}
