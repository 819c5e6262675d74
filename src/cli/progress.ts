import type { Stream } from './stream.js'

/** The work is shown once it has lasted this long, and drawn again at most this often (milliseconds). */
const PATIENCE = 500
const REDRAW = 100
const PLAIN_EVERY = 10_000

/** One line on a terminal's stderr that tells how far long work is, and is gone when the work is done. */
export class Progress {
  readonly #stream: Stream
  readonly #how: 'line' | 'plain' | 'none'
  readonly #width: number
  readonly #clock: () => number
  readonly #started: number
  #next: number
  #drawn = false

  constructor(stream: Stream, how: 'line' | 'plain' | 'none', width: number, clock: () => number) {
    this.#stream = stream
    this.#how = how
    this.#width = width
    this.#clock = clock
    this.#started = clock()
    this.#next = this.#started + (how === 'plain' ? PLAIN_EVERY : PATIENCE)
  }

  /** To be called as often as one likes; the text is only made when it is due. */
  step(text: () => string): void {
    if (this.#how === 'none') return
    const now = this.#clock()
    if (now < this.#next) return
    const line = `${text()}  ${elapsed(now - this.#started)}`
    if (this.#how === 'plain') {
      this.#next = now + PLAIN_EVERY
      this.#write(`${line}\n`)
    } else {
      this.#next = now + REDRAW
      this.#drawn = true
      this.#write(`\r${line.slice(0, this.#width - 1)}\x1b[K`)
    }
  }

  /** Takes the line away, so that something else can be written. */
  erase(): void {
    if (this.#drawn) this.#write('\r\x1b[K')
    this.#drawn = false
  }

  /** Nobody may be there to see it: that is no fault. */
  #write(text: string): void {
    this.#stream.write(text).catch(() => {})
  }
}

function elapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
