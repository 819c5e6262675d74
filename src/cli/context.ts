import { existsSync } from 'node:fs'
import type { Bands } from '../bands.js'
import { NotFound } from '../errors.js'
import type { Importer } from '../local/import.js'
import type { Local } from '../local/index.js'
import { formatDay } from '../model/day.js'
import type { Opened } from '../open.js'
import { isColoured } from './colour.js'
import type { Config } from './config.js'
import type { Format } from './format.js'
import { type Answer, write } from './output.js'
import { Progress } from './progress.js'
import type { Screen } from './render/layout.js'
import { paintFor } from './render/paint.js'
import { wrap } from './render/wrap.js'
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

/** What a command is lent: the database, the streams, what is known of the terminal, the clock. */
export class Context {
  readonly world: World
  readonly config: Config
  /** null: whatever suits the stream */
  readonly format: Format | null
  /** The exit code of a run that ends without an error. */
  outcome = 0
  #opened: Opened | null = null
  #importer: Importer | null = null
  #progress: Progress | null = null
  #shown = false
  #hushed = false
  #signal: Signal | null = null
  #forget: (() => void) | null = null

  constructor(world: World, config: Config, format: Format | null) {
    this.world = world
    this.config = config
    this.format = format
  }

  get out(): Stream {
    return this.world.out
  }

  /** What questions are asked of. */
  bands(): Promise<Bands> {
    return this.local()
  }

  /** The database on this machine, for what only it knows. */
  async local(): Promise<Local> {
    if (this.#opened === null) {
      const { openLocal } = await import('../open.js')
      const { db, tier, asOf } = this.config
      this.#opened = await openLocal({ db, tier, asOf, env: this.world.env })
    }
    return this.#opened.local
  }

  /** The bundled sample, whatever the user has. */
  async sample(): Promise<Bands> {
    const { openSample } = await import('../open.js')
    const { tier, asOf } = this.config
    this.#opened ??= openSample({ tier, asOf })
    return this.#opened.local
  }

  /** Where the opened database lies, and whether it is the bundled sample. */
  get opened(): Opened | null {
    return this.#opened
  }

  /** The database to write to. Without `make` it must be there already. Throws Busy when another process writes to it. */
  async importer({ wait = false, make = false } = {}): Promise<Importer> {
    const { databasePath, openImporter } = await import('../open.js')
    const path = databasePath({ db: this.config.db, env: this.world.env })
    if (!make && !existsSync(path)) throw new NotFound(`there is no database at ${path}; bands import FILE makes one.`)
    this.#importer ??= await openImporter({ db: this.config.db, env: this.world.env, wait })
    return this.#importer
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
    await this.#toErr(['', ...texts.flatMap(text => wrap(text, widthOf(err, env))).map(line => paint.faint(line))])
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
  async close(): Promise<void> {
    this.#progress?.erase()
    this.#forget?.()
    try {
      await this.#importer?.close()
      if (this.#opened?.sample && !this.#hushed) await this.#sampleNotice(this.#opened)
    } finally {
      await this.#opened?.local.close()
    }
  }

  #progressKind(): 'line' | 'plain' | 'none' {
    const { quiet, progress } = this.config
    if (quiet || progress === 'none') return 'none'
    if (progress === 'plain') return 'plain'
    return this.world.err.terminal && this.world.env.TERM !== 'dumb' ? 'line' : 'none'
  }

  async #sampleNotice({ local }: Opened): Promise<void> {
    const store = local.cache.store
    const [tickers, newest] = [await store.tickers(), await store.newestDay()]
    const range = newest === null ? '' : ` to ${formatDay(newest)}`
    const count = tickers.length === 1 ? '1 ticker' : `${tickers.length} tickers`
    await this.notice(`sample data, ${count}${range}; load your own: bands import FILE.csv`)
  }

  async #toErr(lines: readonly string[]): Promise<void> {
    await this.world.err.write(lines.map(line => `${line}\n`).join(''))
  }
}
