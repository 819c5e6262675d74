import { descriptor, type Stream } from './stream.js'

export type { Stream } from './stream.js'

export type Signal = 'SIGINT' | 'SIGTERM'

/** All that a run of the program touches of its process; lent, so that a test can lend another. */
export interface World {
  readonly out: Stream
  readonly err: Stream
  readonly env: NodeJS.ProcessEnv
  stdin(): NodeJS.ReadableStream
  now(): Date
  /** Calls back when the user wants the run to end; returns how to stop listening. */
  onStop(stop: (signal: Signal) => void): () => void
}

export function processWorld(): World {
  return {
    out: descriptor(1),
    err: descriptor(2),
    env: process.env,
    stdin: () => process.stdin,
    now: () => new Date(),
    onStop,
  }
}

/** What runs is asked to end and tidy up; if it does not within the grace, or at a second signal, the signal ends it. */
function onStop(stop: (signal: Signal) => void): () => void {
  const undo = (['SIGINT', 'SIGTERM'] as const).map(signal => {
    const heard = (): void => {
      stop(signal)
      setTimeout(() => process.kill(process.pid, signal), GRACE).unref()
    }
    process.once(signal, heard)
    return () => process.off(signal, heard)
  })
  return () => {
    for (const forget of undo) forget()
  }
}

const GRACE = 500
