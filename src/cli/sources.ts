import { existsSync } from 'node:fs'
import type { Bands } from '../bands.js'
import { InvalidParameter, NotFound } from '../errors.js'
import type { Importer } from '../local/import.js'
import type { Local } from '../local/index.js'
import type { Puller } from '../local/pull/puller.js'
import type { Opened } from '../open.js'
import type { Remote } from '../remote/index.js'
import { type Config, HERE, isRemoteTyped } from './config.js'
import { hasConfigFile } from './profiles/folder.js'
import type { World } from './world.js'

/** Who answers a run: the database on this machine, or a server. Opened when first asked for. */
export class Sources {
  readonly world: World
  readonly config: Config
  #opened: Opened | null = null
  #importer: Importer | null = null
  #puller: Puller | null = null
  #remote: Promise<Remote | null> | null = null
  #asked: Remote | null = null

  constructor(world: World, config: Config) {
    this.world = world
    this.config = config
  }

  /** What questions are asked of: the server that was chosen, otherwise the database on this machine. */
  async bands(): Promise<Bands> {
    return (await this.remote()) ?? this.local()
  }

  /** The server that was chosen; null where the database on this machine answers. */
  async remote(config = this.config): Promise<Remote | null> {
    const { remote, profile } = config
    // Most users have no server, and are not to wait for the code that asks one.
    if (remote !== undefined || profile !== undefined || hasConfigFile(this.world.env)) {
      const { openChosen } = await import('./profiles/open.js')
      this.#remote ??= openChosen(config, this.world.env)
      this.#asked = await this.#remote
    }
    if (this.#asked === null) refuseServerOptions(this.config)
    return this.#asked
  }

  /** The server that questions went to; null while none did. */
  get asked(): Remote | null {
    return this.#asked
  }

  /** Throws InvalidParameter where the command line asks a server alone: for what that cannot answer. */
  refuseRemote(): void {
    if (!isRemoteTyped(this.config)) return
    const option = this.config.from.remote === '--remote' ? 'remote' : 'profile'
    const what = `--${option} asks a server, and this is about the database here; leave it out.`
    throw new InvalidParameter(what, { param: option })
  }

  /** The database on this machine, for what only it knows. */
  async local(): Promise<Local> {
    this.refuseRemote()
    return this.#here()
  }

  /** The server that was chosen, if one is, and the database here, which has the prices: --db names it in either case. */
  async beside(): Promise<{ remote: Remote | null; local: Local }> {
    const remote = await this.remote(isRemoteTyped(this.config) ? this.#besideDatabase : this.config)
    return { remote, local: await this.#here() }
  }

  async #here(): Promise<Local> {
    if (this.#opened === null) {
      const { openLocal } = await import('../open.js')
      const { db, tier, asOf } = this.config
      this.#opened = await openLocal({ db, tier, asOf, env: this.world.env })
    }
    return this.#opened.local
  }

  /** The bundled sample, whatever the user has. */
  async sample(): Promise<Bands> {
    this.refuseRemote()
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
    this.refuseRemote()
    const { databasePath, openImporter } = await import('../open.js')
    const path = databasePath({ db: this.config.db, env: this.world.env })
    if (!make && !existsSync(path)) throw new NotFound(`there is no database at ${path}; bands import FILE makes one.`)
    this.#importer ??= await openImporter({ db: this.config.db, env: this.world.env, wait })
    return this.#importer
  }

  /** The server that events are pulled from: the database is another matter here. Throws InvalidParameter for none. */
  async origin(): Promise<Remote> {
    const { openChosen } = await import('./profiles/open.js')
    this.#remote ??= openChosen(this.#besideDatabase, this.world.env)
    this.#asked = await this.#remote
    if (this.#asked === null) throw noServer()
    return this.#asked
  }

  /** Its address alone, for which no key is needed. */
  async originUrl(): Promise<string> {
    const [{ chosenServer }, { addressOf }] = await Promise.all([
      import('./profiles/chosen.js'),
      import('../remote/address.js'),
    ])
    const chosen = await chosenServer(this.#besideDatabase, this.world.env)
    if (chosen === null) throw noServer()
    return addressOf(chosen.url, { allowPlainHttp: this.config.allowPlainHttp }).base
  }

  /** The database that is pulled into, made if it is missing. Throws Busy when another process writes to it. */
  async puller({ wait = false } = {}): Promise<Puller> {
    const { openPuller } = await import('../open.js')
    const { db } = this.config
    this.#puller ??= await openPuller({ db, env: this.world.env, wait, now: () => this.world.now() })
    return this.#puller
  }

  /** Naming the database says nothing here about who is asked. */
  get #besideDatabase(): Config {
    const { db: _db, ...from } = this.config.from
    return { ...this.config, from }
  }

  async close(): Promise<void> {
    try {
      await this.#importer?.close()
      await this.#puller?.close()
    } finally {
      await this.#opened?.local.close()
      await this.#asked?.close()
    }
  }
}

function noServer(): InvalidParameter {
  return new InvalidParameter(
    'no server is chosen to pull from: name one with --remote URL, or with --profile NAME after bands login.',
    {
      param: 'remote',
    },
  )
}

/** What only a server could heed is not passed over: the answer would come from elsewhere than was meant. */
function refuseServerOptions({ remote, from }: Config): void {
  if (remote === HERE) return
  const option = from.key_file ?? from.timeout ?? from.retries
  if (option === undefined) return
  const message = `${option} is for a server, and none is chosen; give --remote URL, or --profile NAME.`
  throw new InvalidParameter(message, { param: option.slice(2).replaceAll('-', '_') })
}
