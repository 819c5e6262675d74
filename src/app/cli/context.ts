import { FileLost, type InvalidParameter, printable, wrong } from '../../core/errors.js'
import type { AnyField, FieldSet } from '../../core/fields/index.js'
import { formatDay } from '../../core/model/day.js'
import { count, numberText } from '../../core/numbers.js'
import type { Cluster, Omitted, Source } from '../../core/source.js'
import type { Local } from '../../data/local/local.js'
import type { BandsClient } from '../client.js'
import type { Opened } from '../open/database.js'
import type { DatabaseChoice } from '../open/paths.js'
import type { Allowance, Credits, Remote } from '../remote/remote.js'
import { type Config, hasConfigFile, isRemoteTyped, LOCAL } from './config.js'
import type { Style } from './draw/described.js'
import type { Screen } from './draw/table.js'
import { linesText, paintFor, wrap } from './draw/text.js'
import { type Answer, type Format, writeInFormat } from './output.js'
import { isColoured, isUnicode, printableStream, type Signal, type Stream, type World, widthOf } from './world.js'

/** The tools of a command: the answering source, opened on first use, the streams, the terminal, the clock. */
export class Context {
  readonly world: World
  readonly config: Config
  /** null for the default of the stream. */
  readonly format: Format | null
  /** The words after `bands`. */
  readonly argv: readonly string[]
  readonly fields: FieldSet
  /** The exit code of a run that ends without an error. */
  exitCode = 0
  /** The user's own fields that were looked up in this run: the hash of each definition by the field's name. */
  readonly #usedOwnFields: ReadonlyMap<string, string>
  /** The named conditions that were looked up in this run, by name. */
  readonly #usedConditions: ReadonlyMap<string, string>
  #opened: Opened | null = null
  #cluster: Cluster | undefined
  #remote: Promise<Remote | null> | null = null
  #usedRemote: Remote | null = null
  readonly #toClose: Closable[] = []
  #progress: ReturnType<typeof progressDisplay> | null = null
  #hasShown = false
  #omitsSourceNotice = false
  #hasHinted = false
  #signal: Signal | null = null
  #stopListening: (() => void) | null = null

  constructor(world: World, config: Config, format: Format | null, argv: readonly string[], fields: FieldSet) {
    // An answer has the definitions of the own fields and conditions that it uses.
    const { recordingFields, usedOwnFields, usedConditions } = recordUses(fields)
    this.world = world
    this.config = config
    this.format = format
    this.argv = argv
    this.fields = recordingFields
    this.#usedOwnFields = usedOwnFields
    this.#usedConditions = usedConditions
  }

  get databaseChoice(): DatabaseChoice {
    return { db: this.config.db, env: this.world.env, notice: sentence => void this.notice(sentence) }
  }

  /** The source that answers: the chosen server, otherwise the local database. */
  async source(): Promise<Source> {
    return (await this.remote()) ?? (await this.localDatabase()).bands
  }

  /** The chosen server; null if the local database answers, which then refuses the options of a server. */
  async remote(config = this.config): Promise<Remote | null> {
    const usedRemote = await this.server(config)
    if (usedRemote === null) refuseServerOptions(this.config)
    return usedRemote
  }

  /** The chosen server, as `remote` returns it. Options of a server are not refused: the command may use them. */
  async server(config = this.config): Promise<Remote | null> {
    const { remote, profile } = config
    // Most users have no server, and should not wait for the code that calls one.
    if (remote !== undefined || profile !== undefined || hasConfigFile(this.world.env))
      await this.#openChosenServer(config)
    return this.#usedRemote
  }

  /** Opens the server that the settings choose, once for a run; null if they choose none. */
  async #openChosenServer(config: Config): Promise<Remote | null> {
    const { openChosenServer } = await import('./profiles.js')
    this.#remote ??= openChosenServer(config, this.world.env)
    this.#usedRemote = await this.#remote
    return this.#usedRemote
  }

  /** The server that answered questions; null before the first one. */
  get usedRemote(): Remote | null {
    return this.#usedRemote
  }

  /** Throws InvalidParameter for a server on the command line, if only the local database can answer. */
  refuseRemote(): void {
    if (!isRemoteTyped(this.config)) return
    const option = this.config.from.remote === '--remote' ? 'remote' : 'profile'
    const what = `--${option} asks a server, and this is about the database here; leave it out.`
    throw wrong(option, what)
  }

  /** Whether an answer has at most MAX_LIMIT rows: with --tier, and from a server. */
  async hasMaxLimit(): Promise<boolean> {
    return this.config.tier !== null || (await this.remote()) !== null
  }

  /** The local database, for data that only it has. */
  async local(): Promise<Local> {
    return (await this.localDatabase()).local
  }

  /** The local database together with its pulled events. */
  async localDatabase(): Promise<Opened> {
    this.refuseRemote()
    return this.#openLocal()
  }

  /** The chosen server (null without one), and the local database with the prices. --db does not replace the server. */
  async remoteAndLocal(): Promise<{ remote: Remote | null; local: Local }> {
    const remote = await this.remote(isRemoteTyped(this.config) ? this.#configWithoutDb : this.config)
    return { remote, local: (await this.#openLocal()).local }
  }

  async #openLocal(): Promise<Opened> {
    const { openLocal } = await import('../open/database.js')
    this.#opened ??= await openLocal({ ...this.databaseChoice, ...this.#localSettings, cluster: await this.cluster() })
    return this.#opened
  }

  /** The local database as the library has it, with a cache: for a program that answers until it is stopped. */
  async openClient(): Promise<{ client: BandsClient; path: string; sample: boolean }> {
    this.refuseRemote()
    const [{ CACHE_BYTES, openLocal }, { BandsClient }] = await Promise.all([
      import('../open/database.js'),
      import('../client.js'),
    ])
    const opened = await openLocal({ ...this.databaseChoice, ...this.#localSettings, cacheBytes: CACHE_BYTES })
    const { path, sample } = opened
    // Trials are counted in the log that belongs to the chosen database.
    const client = new BandsClient(opened, { path, sample, tier: this.config.tier, ledger: this.databaseChoice })
    return { client, path, sample }
  }

  /** The bundled sample, even if the user has a database. */
  async sample(): Promise<Local> {
    this.refuseRemote()
    const { openSample } = await import('../open/database.js')
    this.#opened ??= openSample({ ...this.#localSettings, cluster: await this.cluster() })
    return this.#opened.local
  }

  /** The cluster that does long work; undefined without one. It is reached with the first task. */
  async cluster(): Promise<Cluster | undefined> {
    const { cluster, threads } = this.config
    if (cluster === undefined) return undefined
    const { openCluster } = await import('../open/database.js')
    this.#cluster ??= await openCluster({ ...this.databaseChoice, cluster, threads })
    return this.#cluster
  }

  /** The settings that decide how the local database answers. */
  get #localSettings() {
    const { tier, as_of: asOf, threads } = this.config
    return { tier, asOf, threads, fields: this.fields, now: () => this.world.now() }
  }

  /** The opened database: its path, and whether it is the sample. */
  get opened(): Opened | null {
    return this.#opened
  }

  /** The server for pulling events: --db only says where they go. Throws InvalidParameter without a server. */
  async pullServer(): Promise<Remote> {
    const remote = await this.#openChosenServer(this.#configWithoutDb)
    if (remote === null) throw noServer()
    return remote
  }

  /** The address of the server that `pullServer` opens; it needs no key. Throws InvalidParameter without a server. */
  async pullServerUrl(): Promise<string> {
    const [{ chosenServer }, { addressOf }] = await Promise.all([
      import('./profiles.js'),
      import('../remote/address.js'),
    ])
    const chosen = await chosenServer(this.#configWithoutDb, this.world.env)
    if (chosen === null) throw noServer()
    return addressOf(chosen.url, { allowPlainHttp: this.config.allow_plain_http }).base
  }

  /** The settings of the run as if --db were not typed: it would choose the local database instead of a server. */
  get #configWithoutDb(): Config {
    const { db: _db, ...from } = this.config.from
    return { ...this.config, from }
  }

  /** Closes something when the run ends, also after an error; returns it. null has no effect. */
  closeAtEnd<Resource extends Closable | null>(resource: Resource): Resource {
    if (resource !== null) this.#toClose.push(resource)
    return resource
  }

  get out(): Stream {
    return printableStream(this.world.out)
  }

  get isForPeople(): boolean {
    return this.format === null || this.format === 'table'
  }

  /** Whether machines read the answer row by row: then no rows are omitted by default. */
  get isRowFormat(): boolean {
    return this.format === 'csv' || this.format === 'ndjson'
  }

  /** Whether a person at a terminal gets hints. */
  get showsHints(): boolean {
    const { out, err } = this.world
    return !this.config.quiet && out.terminal && err.terminal && this.isForPeople
  }

  /** Writes an answer; for people, a blank line separates two answers. */
  async show(answer: Answer, style: Style = {}): Promise<void> {
    this.#progress?.erase()
    if (this.#hasShown && this.isForPeople) await this.out.write('\n')
    this.#hasShown = true
    const { format, config } = this
    const document = this.withUsedDefinitions(answer.document)
    await writeInFormat(
      // The spread calls the getters of the answer, which make both rows and paragraphs; a format needs only one.
      document === answer.document ? answer : { ...answer, document },
      { format, raw: config.csv_raw, out: this.world.out, screen: () => this.screen() },
      style,
    )
  }

  /** The document of an answer, with the used own fields (by the hash of their definition) and the used conditions. */
  withUsedDefinitions(document: unknown): unknown {
    const isObject = typeof document === 'object' && document !== null && !Array.isArray(document)
    if (!isObject || this.#usedOwnFields.size + this.#usedConditions.size === 0) return document
    const described: Record<string, unknown> = { ...document }
    if (this.#usedOwnFields.size > 0) described.own_fields = Object.fromEntries(this.#usedOwnFields)
    if (this.#usedConditions.size > 0) described.named_conditions = Object.fromEntries(this.#usedConditions)
    return described
  }

  /** The screen for people. In a pipe, unless a table is requested, it has no limit of width, and words for signs. */
  async screen(): Promise<Screen> {
    const isDrawn = this.out.terminal || this.format === 'table'
    return {
      width: isDrawn ? widthOf(this.out, this.world.env) : Number.POSITIVE_INFINITY,
      isPiped: !isDrawn,
      unicode: isUnicode(this.world.env),
      paint: await paintFor(isColoured(this.config.color, this.world.env, this.out.terminal)),
    }
  }

  /** Writes a sentence about the answer on stderr, which --quiet does not hide. */
  async notice(text: string): Promise<void> {
    this.#progress?.erase()
    const width = this.world.err.terminal ? widthOf(this.world.err, this.world.env) : Number.POSITIVE_INFINITY
    await this.world.err.write(linesText(wrap(printable(text), width)))
  }

  /** Names the omitted fields on stderr for CSV and NDJSON, which cannot hold them. */
  async noticeOmitted(omitted: readonly Omitted[]): Promise<void> {
    if (!this.isRowFormat) return
    const { omittedNotes } = await import('../present/words.js')
    for (const note of omittedNotes(omitted)) await this.notice(note)
  }

  /** Writes a notice that --quiet hides. */
  async remark(text: string): Promise<void> {
    if (!this.config.quiet) await this.notice(text)
  }

  /** Writes hints, only for a person at a terminal. A label and a command line to paste stay on one line. */
  async hint(...texts: string[]): Promise<void> {
    const { err, env } = this.world
    if (!this.showsHints || texts.length === 0) return
    const paint = await paintFor(isColoured(this.config.color, env, err.terminal))
    const width = (text: string) => (/^[a-z ]+: bands /.test(text) ? Number.POSITIVE_INFINITY : widthOf(err, env))
    const lines = texts.flatMap(text => wrap(printable(text), width(text))).map(line => paint.faint(line))
    await err.write(linesText(this.#hasHinted ? lines : ['', ...lines]))
    this.#hasHinted = true
  }

  /** From now on a signal ends the run at its next step, not at once, so that no half-written file stays. */
  deferSignals(): void {
    this.#stopListening ??= this.world.onStop(signal => {
      this.#signal = signal
      this.#progress?.erase()
    })
  }

  /** Reports the progress of long work at each step. Throws Stopped after a signal, if `deferSignals` was called. */
  readonly step = (text: () => string): void => {
    if (this.#signal !== null) throw new Stopped(this.#signal)
    const { err, env } = this.world
    const clock = (): number => this.world.now().getTime()
    this.#progress ??= progressDisplay(err, this.#progressKind(), widthOf(err, env), clock)
    this.#progress.step(text)
  }

  /** From now on the run does not say where its data come from, not even if they are the sample's. */
  omitSourceNotice(): void {
    this.#omitsSourceNotice = true
  }

  /** Closes everything; says if the sample answered. Throws FileLost if the written database has left its path. */
  async close(): Promise<void> {
    this.#progress?.erase()
    this.#stopListening?.()
    try {
      await this.noticeSource()
    } finally {
      await this.#closeAll()
    }
  }

  /** Closes every opened resource, even if closing one fails. Throws only FileLost. */
  async #closeAll(): Promise<void> {
    const closings = [...this.#toClose, this.#opened?.local, this.#usedRemote, this.#cluster].map(resource =>
      resource?.close(),
    )
    for (const ended of await Promise.allSettled(closings))
      if (ended.status === 'rejected' && ended.reason instanceof FileLost) throw ended.reason
  }

  #progressKind(): ProgressKind {
    const { quiet, progress } = this.config
    if (quiet || progress === 'none') return 'none'
    if (progress === 'plain') return 'plain'
    return this.world.err.terminal && this.world.env.TERM !== 'dumb' ? 'line' : 'none'
  }

  /** Writes once: the sample, data that end early, used conditions (JSON has them in it), a server, its credits. */
  async noticeSource(): Promise<void> {
    if (this.#omitsSourceNotice) return
    this.#omitsSourceNotice = true
    if (this.opened?.sample) await this.notice(await sampleNotice(this.opened.local))
    await this.#noticeAsOfAfterData()
    for (const note of this.opened?.bands.sourceNotes ?? []) await this.notice(note)
    if (this.#hasShown && this.format !== 'json')
      for (const [name, condition] of this.#usedConditions) await this.notice(`@${name} is ${condition}`)
    if (this.usedRemote === null || !this.#hasShown) return
    await this.hint(remoteHint(this.usedRemote, this.config))
  }

  /** Says on stderr if --as-of names a day after the newest bar. */
  async #noticeAsOfAfterData(): Promise<void> {
    const { as_of: asOf } = this.config
    if (asOf === null || this.opened === null) return
    const newest = await this.opened.local.store.newestDay()
    if (newest !== null && asOf > newest)
      await this.notice(`--as-of ${formatDay(asOf)} is after the data, which end on ${formatDay(newest)}`)
  }
}

export interface FailedRun {
  argv: readonly string[]
  world: World
  /** Absent if the line was not understood. */
  context?: Context | undefined
}

interface Closable {
  close(): Promise<void>
}

function noServer(): InvalidParameter {
  const advice = 'name one with --remote URL, or with --profile NAME after bands login'
  return wrong('remote', `no server is chosen to pull from: ${advice}.`)
}

/** Refuses options for a server if none is chosen: another source would answer. `--remote local` allows them. */
function refuseServerOptions({ remote, from }: Config): void {
  if (remote === LOCAL) return
  const option = from.key_file ?? from.timeout ?? from.retries
  if (option === undefined) return
  const message = `${option} is for a server, and none is chosen; give --remote URL, or --profile NAME.`
  throw wrong(option.slice(2).replaceAll('-', '_'), message)
}

export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly signal: Signal

  constructor(signal: Signal) {
    super(signal)
    this.signal = signal
  }
}

/** Wraps fields so that the own fields and named conditions that are looked up are recorded, for the answers. */
function recordUses(fields: FieldSet) {
  const usedOwnFields = new Map<string, string>()
  const usedConditions = new Map<string, string>()
  const knownConditions = fields.conditions
  const fieldNamed = (name: string): AnyField | undefined => {
    const field = fields.named(name)
    if (field?.hash !== undefined) usedOwnFields.set(name, field.hash)
    return field
  }
  const conditionNamed = (name: string): string | undefined => {
    const text = knownConditions?.named(name)
    if (text !== undefined) usedConditions.set(name, text)
    return text
  }
  // Built-in fields have no definitions to record.
  const isBuiltIn = fields.all.every(({ hash }) => hash === undefined)
  const withOwnFields = isBuiltIn ? fields : { ...fields, named: fieldNamed }
  if (knownConditions === undefined) return { recordingFields: withOwnFields, usedOwnFields, usedConditions }
  const conditions = {
    get names() {
      return knownConditions.names
    },
    named: conditionNamed,
  }
  return { recordingFields: { ...withOwnFields, conditions }, usedOwnFields, usedConditions }
}

/** A hint with the answering server and the remaining credits of the key's account. */
function remoteHint({ url, credits }: Remote, { profile }: Config): string {
  const profileText = profile === undefined ? '' : ` (profile ${profile})`
  const creditsText = creditsLeft(credits)
  return `answered by ${url}${profileText}${creditsText === '' ? '' : `; ${creditsText}`}`
}

/** `9,998 of 100,000 credits left today, 998 of 10,000 left this hour`; empty if unknown. */
export function creditsLeft(credits: Credits | null): string {
  const parts: string[] = []
  const addAllowance = (allowance: Allowance | null | undefined, what: string): void => {
    if (allowance != null) parts.push(`${numberText(allowance.remaining)} of ${numberText(allowance.limit)} ${what}`)
  }
  addAllowance(credits?.day, 'credits left today')
  addAllowance(credits?.hour, 'left this hour')
  return parts.join(', ')
}

/** Describes the bundled sample, and how to load other data. */
async function sampleNotice({ store }: Local): Promise<string> {
  const tickers = await store.tickers()
  const newest = await store.newestDay()
  const range = newest === null ? '' : ` to ${formatDay(newest)}`
  return `sample data, ${count(tickers.length, 'ticker')}${range}; load your own: bands import FILE.csv`
}

/** When progress is first drawn, the time between two drawings, and the time between two lines of `plain`. */
const FIRST_DRAW_MS = 500
const REDRAW_MS = 100
const PLAIN_LINE_MS = 10_000

type ProgressKind = 'line' | 'plain' | 'none'

/** Shows progress: `line` redraws a line of a terminal, `plain` writes one every ten seconds. @param clock in ms */
export function progressDisplay(stream: Stream, kind: ProgressKind, width: number, clock: () => number) {
  const started = clock()
  let nextAt = started + (kind === 'plain' ? PLAIN_LINE_MS : FIRST_DRAW_MS)
  let isDrawn = false
  // A closed stderr is no error.
  const write = (text: string): void => void stream.write(text).catch(() => {})
  return {
    /** May be called at every step; the text is only made when it is shown. */
    step(text: () => string): void {
      const now = clock()
      if (kind === 'none' || now < nextAt) return
      const line = `${printable(text())}  ${minutesAndSeconds(now - started)}`
      nextAt = now + (kind === 'plain' ? PLAIN_LINE_MS : REDRAW_MS)
      isDrawn = kind === 'line'
      write(isDrawn ? `\r${line.slice(0, width - 1)}\x1b[K` : `${line}\n`)
    },
    /** Takes the line away, so that something else can be written. */
    erase(): void {
      if (isDrawn) write('\r\x1b[K')
      isDrawn = false
    },
  }
}

/** `02:05` */
function minutesAndSeconds(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
