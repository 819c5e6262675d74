import { setTimeout as sleep } from 'node:timers/promises'
import type { Stream } from './stream.js'

/**
 * A log on its way to a stream: many lines in one write, and nobody waits for it. What a reader does not take in time is
 * left out, and counted; a reader that has gone misses the rest.
 */
export class LogLines {
  readonly #out: Stream
  #text = ''
  #dropped = 0
  #flushing: Promise<void> | null = null
  #gone = false

  constructor(out: Stream) {
    this.#out = out
  }

  add(line: string): void {
    if (this.#gone) return
    if (this.#text.length > MOST) this.#dropped++
    else this.#text += line
    this.#flushing ??= this.#flush()
  }

  /** Settles when everything has been handed over. */
  async flushed(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing
  }

  async #flush(): Promise<void> {
    while (this.#text !== '' && !this.#gone) {
      await sleep(PAUSE)
      const text = this.#text + this.#dropNotice()
      this.#text = ''
      await this.#out.write(text).catch(() => {
        this.#gone = true
      })
    }
    this.#flushing = null
  }

  #dropNotice(): string {
    if (this.#dropped === 0) return ''
    const message = `${this.#dropped} lines of the log were left out: its reader is too slow`
    this.#dropped = 0
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), message })}\n`
  }
}

/** Characters that may wait for the reader. */
const MOST = 4 * 1024 * 1024

/** Milliseconds in which lines gather. */
const PAUSE = 10
