import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Identifies machine and boot; empty if the system does not say. */
export function thisBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

let table: string | undefined

/**
 * The process table that this process's number belongs to: each boot and each container has its own, with its own
 * number 1.
 */
export function processTable(): string {
  table ??= createHash('sha256').update(`${thisBoot()} ${processNamespace()}`).digest('hex').slice(0, 12)
  return table
}

/** The name of the process namespace. Only Linux has several; elsewhere it is the host. */
function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return hostname()
  }
}

/** Whether a process of this process table runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    // EPERM: the process runs for another user.
    return (cause as { code?: string }).code === 'EPERM'
  }
}
