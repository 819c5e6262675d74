import { hostname } from 'node:os'
import type { Writer } from './store.js'

/** A writer that was killed leaves its row behind; on this host the process table tells, on another nothing does. */
export function mayBeAlive({ pid, host }: Writer): boolean {
  if (host !== hostname()) return true
  if (pid === process.pid) return true
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as { code?: string }).code === 'EPERM'
  }
}
