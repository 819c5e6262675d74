import { isColoured } from './colour.js'
import type { Config } from './config.js'
import type { Format } from './format.js'
import { type Answer, write } from './output.js'
import { Progress } from './progress.js'
import type { Screen } from './render/layout.js'
import { paintFor } from './render/paint.js'
import { wrap } from './render/wrap.js'
import { Sources } from './sources.js'
import type { Stream } from './stream.js'
import { isUnicode, widthOf } from './terminal.js'
import type { Signal, World } from './world.js'

/** The user asked for the end while something was under way. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly signal: Signal

  constructor(signal: Signal) {
    super(signal)
    this.signal = signal
  }
}

/** What a command is lent: who answers, the streams, what is known of the terminal, the clock. */
export class Context extends Sources {
  /** null: whatever suits the stream */
  readonly format: Format | null
  /** What was typed after `bands`. */
  readonly argv: readonly string[]
  /** The exit code of a run that ends without an error. */
  outcome = 0
  #progress: Progress | null = null
  #shown = false
  #hushed = false
  #hinted = false
  #signal: Signal | null = null
  #forget: (() => void) | null = null

  constructor(world: World, config: Config, format: Format | null, argv: readonly string[] = []) {
    super(world, config)
    this.format = format
    this.argv = argv
  }

  get out(): Stream {
    return this.world.out
  }

  /** Writes an answer; for people, a blank line apart from the one before. */
  async show(answer: Answer): Promise<void> {
    this.#progress?.erase()
    if (this.#shown && (this.format === null || this.format === 'table')) await this.out.write('\n')
    this.#shown = true
    await write(answer, this.format, this.out, () => this.screen())
  }

  /** What people see the answer on. Asked for as a table, it is drawn even into a pipe. */
  async screen(): Promise<Screen> {
    const drawn = this.out.terminal || this.format === 'table'
    return {
      width: drawn ? widthOf(this.out, this.world.env) : Number.POSITIVE_INFINITY,
      words: !drawn,
      unicode: isUnicode(this.world.env),
      paint: await paintFor(isColoured(this.config.colour, this.world.env, this.out.terminal)),
    }
  }

  /** A word about the answer that belongs on every stderr. */
  async notice(text: string): Promise<void> {
    this.#progress?.erase()
    const width = this.world.err.terminal ? widthOf(this.world.err, this.world.env) : Number.POSITIVE_INFINITY
    await this.#toErr(wrap(text, width))
  }

  /** Advice for a person at a terminal; nobody else sees it. */
  async hint(...texts: string[]): Promise<void> {
    const { out, err, env } = this.world
    const forPeople = this.format === null || this.format === 'table'
    if (this.config.quiet || !out.terminal || !err.terminal || !forPeople || texts.length === 0) return
    const paint = await paintFor(isColoured(this.config.colour, env, err.terminal))
    const lines = texts.flatMap(text => wrap(text, widthOf(err, env))).map(line => paint.faint(line))
    await this.#toErr(this.#hinted ? lines : ['', ...lines])
    this.#hinted = true
  }

  /**
   * From here on a signal does not end the process at once but at the next step, so that half-written files can go. Only
   * for work that lets the event loop turn: a signal is not heard while it stands still. Everything else may be killed at
   * any time, because the database is safe.
   */
  endTidily(): void {
    this.#forget ??= this.world.onStop(signal => {
      this.#signal = signal
      this.#progress?.erase()
    })
  }

  /** Long work: shown on a terminal while it lasts. Throws Stopped when the user wants a tidy end. */
  step(text: () => string): void {
    if (this.#signal !== null) throw new Stopped(this.#signal)
    this.#progress ??= new Progress(this.world.err, this.#progressKind(), widthOf(this.world.err, this.world.env), () =>
      this.world.now().getTime(),
    )
    this.#progress.step(text)
  }

  /** From here on not even the sample is mentioned. */
  hush(): void {
    this.#hushed = true
  }

  /** Closes what was opened, and says so when the sample has answered. */
  override async close(): Promise<void> {
    this.#progress?.erase()
    this.#forget?.()
    try {
      if (!this.#hushed) await this.#tellSource()
    } finally {
      await super.close()
    }
  }

  #progressKind(): 'line' | 'plain' | 'none' {
    const { quiet, progress } = this.config
    if (quiet || progress === 'none') return 'none'
    if (progress === 'plain') return 'plain'
    return this.world.err.terminal && this.world.env.TERM !== 'dumb' ? 'line' : 'none'
  }

  /** Whose data that was, where it is not the user's own. */
  async #tellSource(): Promise<void> {
    if (this.opened?.sample) {
      const { sampleNotice } = await import('./answers/sample.js')
      await this.notice(await sampleNotice(this.opened.local))
    }
    for (const mark of this.opened?.local.marks ?? []) await this.notice(mark)
    if (this.asked === null || !this.#shown) return
    const { remoteHint } = await import('./answers/remote.js')
    await this.hint(remoteHint(this.asked, this.config))
  }

  async #toErr(lines: readonly string[]): Promise<void> {
    await this.world.err.write(lines.map(line => `${line}\n`).join(''))
  }
}
