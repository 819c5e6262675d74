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
  /**
   * Calls back when the user wants the run to end; returns how to stop listening. `grace`: the milliseconds after which
   * the run is ended whether or not it is through.
   */
  onStop(stop: (signal: Signal) => void, grace?: number): () => void
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
function onStop(stop: (signal: Signal) => void, grace = GRACE): () => void {
  const forget = (): void => {
    for (const signal of SIGNALS) process.off(signal, heard)
  }
  const heard = (signal: NodeJS.Signals): void => {
    forget()
    stop(signal as Signal)
    setTimeout(() => process.kill(process.pid, signal), grace).unref()
  }
  for (const signal of SIGNALS) process.on(signal, heard)
  return forget
}

const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM']
const GRACE = 500
