import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../errors.js'
import { ClosedPipe, type Stream } from './world.js'

/**
 * A log on its way to a stream: many lines in one write, and nobody waits for it. What a reader does not take in time is
 * left out, and counted, and so is what cannot be written; a reader that has gone misses the rest.
 */
export class LogLines {
  readonly #out: Pick<Stream, 'write'>
  #text = ''
  #dropped = 0
  #why = ''
  #flushing: Promise<void> | null = null
  #gone = false

  constructor(out: Pick<Stream, 'write'>) {
    this.#out = out
  }

  add(line: string): void {
    if (this.#gone) return
    if (this.#text.length > MOST) this.#drop(1, 'its reader is too slow')
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
      await this.#out.write(text).catch(error => this.#fail(error, text))
    }
    this.#flushing = null
  }

  #fail(error: unknown, text: string): void {
    if (error instanceof ClosedPipe) this.#gone = true
    else this.#drop(text.split('\n').length - 1, (error as Error).message)
  }

  #drop(lines: number, why: string): void {
    this.#dropped += lines
    this.#why = why
  }

  #dropNotice(): string {
    if (this.#dropped === 0) return ''
    const message = `${this.#dropped} lines of the log were left out: ${this.#why}`
    this.#dropped = 0
    return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), message })}\n`
  }
}

/** Characters that may wait for the reader. */
const MOST = 4 * 1024 * 1024

/** Milliseconds in which lines gather. */
const PAUSE = 10

/** A file at whose end lines are added; it may be moved away and opened anew, as programs that rotate logs do. */
export class LogFile {
  readonly #path: string
  #file: FileHandle

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** Made if it is missing. Throws ConfigError. */
  static async open(path: string): Promise<LogFile> {
    return new LogFile(path, await opened(path))
  }

  async write(text: string | Uint8Array): Promise<void> {
    await this.#file.appendFile(text)
  }

  /** What is written from now on goes to whatever lies at its path. Throws ConfigError, and goes on with what it had. */
  async reopen(): Promise<void> {
    const before = this.#file
    this.#file = await opened(this.#path)
    await before.close()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a', 0o640)
  } catch (cause) {
    throw new ConfigError(`cannot write the log ${path}: ${(cause as Error).message}.`, { cause })
  }
}
