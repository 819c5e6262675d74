import { FileLost, type InvalidParameter, printable, wrong } from '../../core/errors.js'
import type { AnyField, FieldSet } from '../../core/fields/index.js'
import { formatDay } from '../../core/model/day.js'
import { count, whole } from '../../core/numbers.js'
import type { Cluster, Omitted, Source } from '../../core/source.js'
import type { Local } from '../../data/local/local.js'
import type { Opened } from '../open/database.js'
import type { DatabaseChoice } from '../open/paths.js'
import type { Allowance, Credits, Remote } from '../remote/remote.js'
import { type Config, hasConfigFile, isRemoteTyped, LOCAL } from './config.js'
import type { Style } from './draw/described.js'
import type { Screen } from './draw/table.js'
import { linesText, paintFor, wrap } from './draw/text.js'
import { type Answer, type Format, write } from './output.js'
import { isColoured, isUnicode, paged, type Signal, type Stream, spelledOut, type World, widthOf } from './world.js'

/** The tools of a command: the answering source, opened on first use, the streams, the terminal, the clock. */
export class Context {
  readonly world: World
  readonly config: Config
  /** null: the default of the stream */
  readonly format: Format | null
  /** The words after `bands`. */
  readonly argv: readonly string[]
  /** The known fields. */
  readonly fields: FieldSet
  /** The exit code of a run that ends without an error. */
  outcome = 0
  /** Own fields that were looked up for the question, by name, with the hash of their definition. */
  readonly #own: ReadonlyMap<string, string>
  /** Named conditions that were looked up, by name. */
  readonly #conditions: ReadonlyMap<string, string>
  #opened: Opened | null = null
  #cluster: Cluster | undefined
  #remote: Promise<Remote | null> | null = null
  #usedRemote: Remote | null = null
  /** Closed at the end of the run. */
  readonly #open: Closed[] = []
  #progress: ReturnType<typeof progressOn> | null = null
  #shown = false
  #hushed = false
  #hinted = false
  #signal: Signal | null = null
  #forget: (() => void) | null = null

  constructor(world: World, config: Config, format: Format | null, argv: readonly string[], fields: FieldSet) {
    const { set, used, conditions } = noting(fields)
    this.world = world
    this.config = config
    this.format = format
    this.argv = argv
    this.fields = set
    this.#own = used
    this.#conditions = conditions
  }

  /** The options that choose the database. */
  get choice(): DatabaseChoice {
    return { db: this.config.db, env: this.world.env, notice: sentence => void this.notice(sentence) }
  }

  /** The source that answers: the chosen server, otherwise the local database. */
  async bands(): Promise<Source> {
    return (await this.remote()) ?? (await this.here()).bands
  }

  /** The chosen server; null if the local database answers. */
  async remote(config = this.config): Promise<Remote | null> {
    const usedRemote = await this.server(config)
    if (usedRemote === null) refuseServerOptions(this.config)
    return usedRemote
  }

  /** The chosen server, for a command that also uses the options of a server for something else. */
  async server(config = this.config): Promise<Remote | null> {
    const { remote, profile } = config
    // Most users have no server, and should not wait for the code that calls one.
    if (remote !== undefined || profile !== undefined || hasConfigFile(this.world.env)) await this.#chosen(config)
    return this.#usedRemote
  }

  async #chosen(config: Config): Promise<Remote | null> {
    const { openChosen } = await import('./profiles.js')
    this.#remote ??= openChosen(config, this.world.env)
    this.#usedRemote = await this.#remote
    return this.#usedRemote
  }

  /** The server that answered questions; null before the first one. */
  get asked(): Remote | null {
    return this.#usedRemote
  }

  /** Throws InvalidParameter for a server on the command line, if only the local database can answer. */
  refuseRemote(): void {
    if (!isRemoteTyped(this.config)) return
    const option = this.config.from.remote === '--remote' ? 'remote' : 'profile'
    const what = `--${option} asks a server, and this is about the database here; leave it out.`
    throw wrong(option, what)
  }

  /** Whether the limits of the specification apply: at a tier, and at a server. */
  async withholds(): Promise<boolean> {
    return this.config.tier !== null || (await this.remote()) !== null
  }

  /** The local database, for data that only it has. */
  async local(): Promise<Local> {
    return (await this.here()).local
  }

  /** The local database together with its pulled events. */
  async here(): Promise<Opened> {
    this.refuseRemote()
    return this.#here()
  }

  /** The server that was chosen, if one is, and the database here, which has the prices: --db names it in either case. */
  async remoteAndLocal(): Promise<{ remote: Remote | null; local: Local }> {
    const remote = await this.remote(isRemoteTyped(this.config) ? this.#configWithoutDb : this.config)
    return { remote, local: (await this.#here()).local }
  }

  async #here(): Promise<Opened> {
    const { openLocal } = await import('../open/database.js')
    this.#opened ??= await openLocal({ ...this.choice, ...this.#view, cluster: await this.cluster() })
    return this.#opened
  }

  /** The bundled sample, even if the user has a database. */
  async sample(): Promise<Local> {
    this.refuseRemote()
    const { openSample } = await import('../open/database.js')
    this.#opened ??= openSample({ ...this.#view, cluster: await this.cluster() })
    return this.#opened.local
  }

  /** The cluster that does long work; undefined without one. It is reached with the first task. */
  async cluster(): Promise<Cluster | undefined> {
    const { cluster, threads } = this.config
    if (cluster === undefined) return undefined
    const { clusterAt } = await import('../open/database.js')
    this.#cluster ??= await clusterAt({ ...this.choice, cluster, threads })
    return this.#cluster
  }

  /** As which tier and day questions are answered. */
  get #view() {
    const { tier, as_of: asOf, threads } = this.config
    return { tier, asOf, threads, fields: this.fields, now: () => this.world.now() }
  }

  /** The opened database: its path, and whether it is the sample. */
  get opened(): Opened | null {
    return this.#opened
  }

  /** The server for pulling events; the database does not replace it here. Throws InvalidParameter without a server. */
  async origin(): Promise<Remote> {
    const remote = await this.#chosen(this.#configWithoutDb)
    if (remote === null) throw noServer()
    return remote
  }

  /** The address of the server, without a key. */
  async originUrl(): Promise<string> {
    const [{ chosenServer }, { addressOf }] = await Promise.all([
      import('./profiles.js'),
      import('../remote/address.js'),
    ])
    const chosen = await chosenServer(this.#configWithoutDb, this.world.env)
    if (chosen === null) throw noServer()
    return addressOf(chosen.url, { allowPlainHttp: this.config.allow_plain_http }).base
  }

  /** Here --db does not choose between server and database. */
  get #configWithoutDb(): Config {
    const { db: _db, ...from } = this.config.from
    return { ...this.config, from }
  }

  /** Has something closed when the run ends, however it ends. */
  closing<Open extends Closed | null>(open: Open): Open {
    if (open !== null) this.#open.push(open)
    return open
  }

  get out(): Stream {
    return spelledOut(this.world.out)
  }

  /** Whether people read the answer. */
  get isForPeople(): boolean {
    return this.format === null || this.format === 'table'
  }

  /** Whether machines read the answer row by row: then no rows are omitted by default. */
  get isRowByRow(): boolean {
    return this.format === 'csv' || this.format === 'ndjson'
  }

  /** Whether a person at a terminal gets hints. */
  get isHinting(): boolean {
    const { out, err } = this.world
    return !this.config.quiet && out.terminal && err.terminal && this.isForPeople
  }

  /** Writes an answer; for people, with a blank line after the one before. `whole`: never through the pager. */
  async show(answer: Answer, { whole = false, ...style }: Style & { whole?: boolean } = {}): Promise<void> {
    this.#progress?.erase()
    if (this.#shown && this.isForPeople) await this.out.write('\n')
    this.#shown = true
    const { format, config } = this
    const out = whole || this.isRowByRow ? this.world.out : paged(this.world)
    const document = this.withOwnNames(answer.document)
    await write({ ...answer, document }, { format, raw: config.csv_raw, out, screen: () => this.screen() }, style)
  }

  /** A document of an answer, with the definitions of the user's own fields, by hash, and of the user's conditions. */
  withOwnNames(document: unknown): unknown {
    const isObject = typeof document === 'object' && document !== null && !Array.isArray(document)
    if (!isObject || this.#own.size + this.#conditions.size === 0) return document
    return {
      ...document,
      ...(this.#own.size > 0 && { own_fields: Object.fromEntries(this.#own) }),
      ...(this.#conditions.size > 0 && { named_conditions: Object.fromEntries(this.#conditions) }),
    }
  }

  /** The screen for people. A requested table is drawn even into a pipe. */
  async screen(): Promise<Screen> {
    const drawn = this.out.terminal || this.format === 'table'
    return {
      width: drawn ? widthOf(this.out, this.world.env) : Number.POSITIVE_INFINITY,
      words: !drawn,
      unicode: isUnicode(this.world.env),
      paint: await paintFor(isColoured(this.config.color, this.world.env, this.out.terminal)),
    }
  }

  /** A word about the answer that belongs on every stderr. */
  async notice(text: string): Promise<void> {
    this.#progress?.erase()
    const width = this.world.err.terminal ? widthOf(this.world.err, this.world.env) : Number.POSITIVE_INFINITY
    await this.world.err.write(linesText(wrap(printable(text), width)))
  }

  /** CSV and NDJSON cannot hold the omitted fields, so they are named on stderr. */
  async noticeOmitted(omitted: readonly Omitted[]): Promise<void> {
    if (!this.isRowByRow) return
    const { omittedNotes } = await import('../present/words.js')
    for (const note of omittedNotes(omitted)) await this.notice(note)
  }

  /** A notice that --quiet hides. */
  async remark(text: string): Promise<void> {
    if (!this.config.quiet) await this.notice(text)
  }

  /** A hint, only for a person at a terminal. */
  async hint(...texts: string[]): Promise<void> {
    const { err, env } = this.world
    if (!this.isHinting || texts.length === 0) return
    const paint = await paintFor(isColoured(this.config.color, env, err.terminal))
    const lines = texts.flatMap(text => wrap(printable(text), widthOf(err, env))).map(line => paint.faint(line))
    await err.write(linesText(this.#hinted ? lines : ['', ...lines]))
    this.#hinted = true
  }

  /**
   * From now on a signal ends the process at the next step, so that half-written files are removed. Only for work that
   * yields to the event loop, which receives the signal. Other work may be killed at any time, because the database is
   * safe.
   */
  endTidily(): void {
    this.#forget ??= this.world.onStop(signal => {
      this.#signal = signal
      this.#progress?.erase()
    })
  }

  /** Long work: shown on a terminal while it lasts. Throws Stopped when the user wants a tidy end. */
  readonly step = (text: () => string): void => {
    if (this.#signal !== null) throw new Stopped(this.#signal)
    const { err, env } = this.world
    const clock = (): number => this.world.now().getTime()
    this.#progress ??= progressOn(err, this.#progressKind(), widthOf(err, env), clock)
    this.#progress.step(text)
  }

  /** From here on not even the sample is mentioned. */
  hush(): void {
    this.#hushed = true
  }

  /**
   * Closes everything, and says so if the sample has answered. Throws FileLost if the written database is no longer the
   * file at its path.
   */
  async close(): Promise<void> {
    this.#progress?.erase()
    this.#forget?.()
    try {
      if (!this.#hushed) await this.#noticeSource()
    } finally {
      await this.#closeAll()
    }
  }

  /** A lost lock or a server that is gone does not stop the other closings. */
  async #closeAll(): Promise<void> {
    const all = [...this.#open, this.#opened?.local, this.#usedRemote, this.#cluster].map(one => one?.close())
    for (const ended of await Promise.allSettled(all))
      if (ended.status === 'rejected' && ended.reason instanceof FileLost) throw ended.reason
  }

  #progressKind(): ProgressKind {
    const { quiet, progress } = this.config
    if (quiet || progress === 'none') return 'none'
    if (progress === 'plain') return 'plain'
    return this.world.err.terminal && this.world.env.TERM !== 'dumb' ? 'line' : 'none'
  }

  /** Notes that the data are the sample's, or end before the day of the question. */
  async #noticeSource(): Promise<void> {
    if (this.opened?.sample) await this.notice(await sampleNotice(this.opened.local))
    await this.#noticeEnd()
    for (const mark of this.opened?.bands.marks ?? []) await this.notice(mark)
    if (this.#shown && this.format !== 'json')
      for (const [name, condition] of this.#conditions) await this.notice(`@${name} is ${condition}`)
    if (this.asked === null || !this.#shown) return
    await this.hint(remoteHint(this.asked, this.config))
  }

  async #noticeEnd(): Promise<void> {
    const { as_of: asOf } = this.config
    if (asOf === null || this.opened === null) return
    const newest = await this.opened.local.store.newestDay()
    if (newest !== null && asOf > newest)
      await this.notice(`--as-of ${formatDay(asOf)} is after the data, which end on ${formatDay(newest)}`)
  }
}

/** Has to be closed. */
interface Closed {
  close(): Promise<void>
}

function noServer(): InvalidParameter {
  const how = 'name one with --remote URL, or with --profile NAME after bands login'
  return wrong('remote', `no server is chosen to pull from: ${how}.`)
}

/** Options of a server are refused without one: the answer would come from another source than intended. */
function refuseServerOptions({ remote, from }: Config): void {
  if (remote === LOCAL) return
  const option = from.key_file ?? from.timeout ?? from.retries
  if (option === undefined) return
  const message = `${option} is for a server, and none is chosen; give --remote URL, or --profile NAME.`
  throw wrong(option.slice(2).replaceAll('-', '_'), message)
}

/** The user stopped the work. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly signal: Signal

  constructor(signal: Signal) {
    super(signal)
    this.signal = signal
  }
}

/** Records the used own fields and named conditions: an answer names their definitions. */
function noting(fields: FieldSet) {
  const used = new Map<string, string>()
  const conditions = new Map<string, string>()
  const known = fields.conditions
  const named = (name: string): AnyField | undefined => {
    const field = fields.named(name)
    if (field?.hash !== undefined) used.set(name, field.hash)
    return field
  }
  const conditionNamed = (name: string): string | undefined => {
    const text = known?.named(name)
    if (text !== undefined) conditions.set(name, text)
    return text
  }
  // Built-in fields have no definitions to record.
  const set: FieldSet = {
    ...(fields.all.every(({ hash }) => hash === undefined) ? fields : { ...fields, named }),
    ...(known && {
      conditions: {
        get names() {
          return known.names
        },
        named: conditionNamed,
      },
    }),
  }
  return { set, used, conditions }
}

/** A hint with the answering server and the remaining credits of the key's account. */
function remoteHint({ url, credits }: Remote, { profile }: Config): string {
  const who = `answered by ${url}${profile === undefined ? '' : ` (profile ${profile})`}`
  const left = creditsLeft(credits)
  return left === '' ? who : `${who}; ${left}`
}

/** `9,998 of 100,000 credits left today, 998 of 10,000 left this hour`; empty if unknown. */
export function creditsLeft(credits: Credits | null): string {
  const left = (allowance: Allowance | null | undefined, what: string): string[] =>
    allowance == null ? [] : [`${whole(allowance.remaining)} of ${whole(allowance.limit)} ${what}`]
  return [...left(credits?.day, 'credits left today'), ...left(credits?.hour, 'left this hour')].join(', ')
}

/** Describes the bundled sample, and how to load other data. */
async function sampleNotice({ store }: Local): Promise<string> {
  const tickers = await store.tickers()
  const newest = await store.newestDay()
  const range = newest === null ? '' : ` to ${formatDay(newest)}`
  return `sample data, ${count(tickers.length, 'ticker')}${range}; load your own: bands import FILE.csv`
}

/** The work is shown once it has lasted this long, and drawn again at most this often (milliseconds). */
const PATIENCE = 500
const REDRAW = 100
const PLAIN_EVERY = 10_000

type ProgressKind = 'line' | 'plain' | 'none'

/** A progress line on a terminal's stderr, removed when the work is done. */
export function progressOn(stream: Stream, how: ProgressKind, width: number, clock: () => number) {
  const started = clock()
  let next = started + (how === 'plain' ? PLAIN_EVERY : PATIENCE)
  let isDrawn = false
  // A closed stderr is no error.
  const write = (text: string): void => void stream.write(text).catch(() => {})
  return {
    /** To be called as often as one likes; the text is only made when it is due. */
    step(text: () => string): void {
      const now = clock()
      if (how === 'none' || now < next) return
      const line = `${printable(text())}  ${elapsed(now - started)}`
      next = now + (how === 'plain' ? PLAIN_EVERY : REDRAW)
      isDrawn = how === 'line'
      write(isDrawn ? `\r${line.slice(0, width - 1)}\x1b[K` : `${line}\n`)
    },
    /** Takes the line away, so that something else can be written. */
    erase(): void {
      if (isDrawn) write('\r\x1b[K')
      isDrawn = false
    },
  }
}

function elapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
