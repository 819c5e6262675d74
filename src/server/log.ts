import { redacted } from '../accounts/redact.js'
import type { Exchange } from './exchange.js'
import { LOG_LEVELS, type LogLevel, type ServerOptions } from './options.js'

/** JSON lines: a level, a time, and what is told. Whoever writes them, no key gets into one. */
export class Log {
  readonly #write: (line: string) => void
  readonly #least: number

  constructor({ level, write }: ServerOptions['log']) {
    this.#write = write
    this.#least = LOG_LEVELS.indexOf(level)
  }

  add(level: Exclude<LogLevel, 'silent'>, told: Readonly<Record<string, unknown>>): void {
    if (LOG_LEVELS.indexOf(level) < this.#least) return
    const line = JSON.stringify({ level, time: new Date().toISOString(), ...told })
    this.#write(`${redacted(line)}\n`)
  }

  /**
   * The line of a request whose answer has gone. Of its headers it has only what the caller calls the request. Put
   * together by hand, as there is one for every answer, also for one that takes no longer than this.
   */
  answered({ id, method, url, caller, charged, headers }: Exchange, status: number, milliseconds: number): void {
    if (this.#least > LOG_LEVELS.indexOf('info')) return
    const called = headers['x-request-id']
    const asked = `"id":"${id}","method":"${method}","url":${legible(url)}`
    const told = `"status":${status},"ms":${milliseconds.toFixed(3)},"credits":${charged}`
    const who = caller === null ? '' : `,"account":${caller.account},"key":"${caller.key}"`
    const name = called === undefined ? '' : `,"called":${legible(String(called))}`
    this.#write(`{"level":"info","time":"${new Date().toISOString()}",${asked},${told}${who}${name}}\n`)
  }
}

/**
 * As JSON, cut, without keys, and without any run of letters as long as a key has: one may be spelled so that its first
 * letters are not seen.
 */
function legible(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  const plain = blotted(decoded(cut))
  return JSON.stringify(plain === decoded(cut) ? cut : plain)
}

function blotted(text: string): string {
  return redacted(text).replace(/[0-9A-Za-z]{32,}/g, '…')
}

/** As it reads without percent signs, however often it was encoded; bytes that are no text stay as they are. */
function decoded(text: string): string {
  const once = text.replace(/(%[0-9A-Fa-f]{2})+/g, bytes => {
    try {
      return decodeURIComponent(bytes)
    } catch {
      return bytes
    }
  })
  return once === text ? text : decoded(once)
}

const LONGEST = 500
