import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Which boot of which machine this is; empty where the system does not tell. */
export function thisBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

let table: string | undefined

/** In which table the number of this process is found: each boot and each container has its own, and a number 1 in it. */
export function processTable(): string {
  table ??= createHash('sha256').update(`${thisBoot()} ${namespace()}`).digest('hex').slice(0, 12)
  return table
}

/** Only Linux has several. */
function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return hostname()
  }
}

/** Whether a process of this table runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    // It is another user's.
    return (cause as { code?: string }).code === 'EPERM'
  }
}
