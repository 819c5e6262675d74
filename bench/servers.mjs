// Servers as processes of their own, customers with keys, and what asks them.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { environment, printed } from './measure.mjs'

/** Linux counts the time of a process in hundredths of a second. */
const TICKS = 100

/** A child that tells its address in one line of JSON; it goes when this process does. */
export async function started(command) {
  const [program, ...words] = command
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'ignore'], env: environment() })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const text = await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('exit', code => reject(new Error(`${command.join(' ')} ended with ${code}`)))
  })
  const stop = () => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    return ended
  }
  return { url: JSON.parse(text).url, pid: child.pid, stop }
}

export function served(build, db) {
  return started(build.bands('serve', '--port', '0', '--db', db, '--json', '--log', 'level info'))
}

/** Keys of as many accounts. */
export function keysOf(build, db, count, { tier = 'pro', name = 'customer' } = {}) {
  return Array.from({ length: count }, (_, i) => {
    printed(build.bands('accounts', 'create', `${name}-${i}`, '--tier', tier, '--db', db))
    return JSON.parse(printed(build.bands('keys', 'create', `${name}-${i}`, '--db', db, '--json'))).key
  })
}

/** Seconds of processor that a process has taken, all its threads; unknown where there is no /proc. */
export function processorOf(pid) {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user, system] = rest.split(' ').slice(11, 13)
    return (Number(user) + Number(system)) / TICKS
  } catch {
    return Number.NaN
  }
}

/** One request: its status, the milliseconds that it took, and the body; status 0 for one that was cut off. */
export function asker(url, agent = new Agent({ keepAlive: true, maxSockets: 500 })) {
  return (path, key) =>
    new Promise(resolve => {
      const start = performance.now()
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const parts = []
      const sent = get(url + path, { agent, headers }, answer => {
        answer.on('data', part => parts.push(part))
        answer.on('error', () => resolve({ status: 0 }))
        answer.on('end', () => {
          resolve({ status: answer.statusCode, took: performance.now() - start, body: Buffer.concat(parts) })
        })
      })
      sent.on('error', () => resolve({ status: 0 }))
    })
}

/** Milliseconds that so large a share of the answers took at most; one that was cut off took for ever. */
export function within(share, answers) {
  const times = answers.map(({ took = Number.POSITIVE_INFINITY }) => took).sort((a, b) => a - b)
  return times[Math.min(times.length - 1, Math.floor(times.length * share))]
}
