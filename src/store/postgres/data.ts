import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { StorageError } from '../../errors.js'
import { type Day, parseDay } from '../../model/day.js'
import type { FactKind, FactSheets, Security } from '../../model/facts.js'
import type { Series } from '../../model/series.js'
import type { Timeframe } from '../../model/terms.js'
import { fewAtFirst, isSoundEntry, newestUpTo, oneField, partsFor, recordedIn } from '../checked.js'
import { decodePrices } from '../codec.js'
import { type EntryRow, entryOf, type Hashed, marksIn, type SeriesName, summaryOf, unsettledIn } from '../content.js'
import type { PageStore } from '../pages.js'
import { lent } from '../remembered.js'
import type {
  BarBySeries,
  Batch,
  Content,
  Damage,
  Engine,
  Footprint,
  PackedTail,
  Recorded,
  RecordedSeries,
  SeriesQuery,
  Store,
  TickerCopy,
  TickerEntry,
  TickerSummary,
  Writer,
} from '../store.js'
import { addressOf } from './address.js'
import { inOneQuestion } from './asked.js'
import { Database, type Queries } from './connection.js'
import { pagesIn } from './pages.js'
import { type Place, WritingPlace } from './place.js'
import {
  allSeries,
  barChunks,
  contentRows,
  entryRow,
  entryRows,
  findSeries,
  foundTickers,
  NEWEST,
  type Reading,
  securityRows,
  sheetRows,
  tailOf,
  VERSION,
} from './read.js'
import { dataSchema, OF_TICKERS, prepareData, STEPS, sizeOf } from './schema.js'
import type { Announced, Layout } from './shards.js'

// A question loads neither what writes nor what verifies.

interface PostgresOptions {
  /** Questions only: the tables must be there, and nothing is written. */
  readonly: boolean
  /** What the URL was given as. */
  param?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** In what place it is written; that of one writer at a time unless given. */
  place?: Place | undefined
}

/** How long a statement that reads may take, in milliseconds: a verification reads all there is of a ticker, a list all tickers. */
const STATEMENT_MS = 300_000

/**
 * The store in a database of PostgreSQL. Throws InvalidParameter and ConfigError for a URL that cannot be used, Busy and
 * StorageError where the database cannot be, or holds nothing that could be asked.
 */
export async function openPostgres(
  url: string,
  { readonly, param = 'db', env = process.env, place }: PostgresOptions,
): Promise<Store> {
  const database = await Database.open(addressOf(param, url, env), { statement: STATEMENT_MS })
  try {
    await prepareData(database, { make: !readonly })
    return new PostgresStore(database, url, readonly ? null : (place ?? new WritingPlace(database)))
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Whether a database has the tables. Throws as the opening does. */
export async function hasTables(
  url: string,
  { param = 'db', env = process.env }: Omit<PostgresOptions, 'readonly' | 'place'>,
): Promise<boolean> {
  const database = await Database.open(addressOf(param, url, env))
  try {
    return (await dataSchema(database)) !== null
  } finally {
    await database.close()
  }
}

/** How the tables lie; or makes them so. Throws as the opening does, and StorageError where they are to be made and are there. */
export async function laidOut(
  url: string,
  {
    param = 'db',
    env = process.env,
    layout,
  }: Omit<PostgresOptions, 'readonly' | 'place'> & { layout?: Layout | undefined },
): Promise<Layout> {
  const database = await Database.open(addressOf(param, url, env), { statement: STATEMENT_MS })
  try {
    const { layOut, layoutIn } = await import('./shards.js')
    if (layout === undefined) await prepareData(database, { make: false })
    else await layOut(database, layout)
    return await layoutIn(database)
  } finally {
    await database.close()
  }
}

class PostgresStore implements Store {
  readonly location: string
  readonly address: string
  readonly pages: PageStore
  readonly #database: Database
  readonly #place: Place | null
  #parts: readonly string[] | null = null
  /** The transaction that all is read in by whoever was called in it; others read beside it. */
  readonly #moment = new AsyncLocalStorage<Queries>()

  constructor(database: Database, address: string, place: Place | null) {
    this.location = database.location
    this.address = address
    this.#database = database
    this.#place = place
    this.pages = pagesIn({ reading: () => this.#reading(), writing: work => this.#writing({}, [], work) })
  }

  get engine(): Engine {
    const queued = async () => (await import('./queue.js')).queuedIn(this.#database)
    return lent<Engine>(this.#database as Database & Engine, { queued })
  }

  async version(): Promise<string> {
    const [row] = await this.#reading().query<{ version: string }>(`SELECT ${VERSION} AS version`)
    return row!.version
  }

  async definitions(): Promise<string> {
    return (await this.#meta('definitions')) ?? ''
  }

  async tickers(): Promise<TickerEntry[]> {
    return (await entryRows(this.#reading())).map(entryOf)
  }

  async ticker(ticker: string): Promise<TickerEntry | null> {
    const row = await entryRow(this.#reading(), ticker)
    return row === undefined ? null : entryOf(row)
  }

  async newestDay(upTo = Number.POSITIVE_INFINITY): Promise<Day | null> {
    const day = await this.#newestDay()
    return day === null || day <= upTo ? day : newestUpTo(this, upTo)
  }

  /** What is said of one ticker may be damaged, which is no matter to all others: then its bars tell its last day. */
  async #newestDay(): Promise<Day | null> {
    const db = this.#reading()
    let newest: Day | null = null
    for (let skipped = 0; ; skipped++) {
      const [row] = await db.query<Hashed<EntryRow>>(`${NEWEST} LIMIT 1 OFFSET $1`, [skipped])
      if (row === undefined) return newest
      const isSound = isSoundEntry(row)
      const last = isSound ? parseDay(row.last)! : await this.#lastBar(row.ticker)
      newest = Math.max(newest ?? last, last)
      if (isSound) return newest
    }
  }

  async #lastBar(ticker: string): Promise<Day> {
    const { prices } = (await barChunks(this.#reading(), ticker, true))!
    return decodePrices(prices, null).days.at(-1)!
  }

  async bars(ticker: string): Promise<Series | null> {
    const chunks = await barChunks(this.#reading(), ticker)
    return chunks === undefined ? null : decodePrices(chunks.prices, chunks.unadjusted)
  }

  async sheets(ticker: string, but?: readonly FactKind[]): Promise<FactSheets> {
    const rows = await sheetRows(this.#reading(), ticker, but)
    return rows.length === 0 ? {} : (await import('../sheets.js')).sheetsOf(rows)
  }

  names(what?: 'bars'): Promise<string[]> {
    const of = what === undefined ? '' : "WHERE what = 'bars'"
    return this.#tickersIn(`SELECT DISTINCT ticker FROM bands_data.listed ${of} ORDER BY ticker`)
  }

  factTickers(): Promise<string[]> {
    return this.#tickersIn('SELECT DISTINCT ticker FROM bands_data.facts ORDER BY ticker')
  }

  async securities(): Promise<Map<string, Security>> {
    const rows = await securityRows(this.#reading())
    const { securityIn } = await import('../sheets.js')
    return new Map(rows.map(row => [row.ticker, securityIn(row)]))
  }

  async unsettled(): Promise<readonly string[]> {
    return unsettledIn(await this.#meta('unsettled'))
  }

  async *series({ tickers, ...query }: SeriesQuery): AsyncGenerator<RecordedSeries | null> {
    for (const names of fewAtFirst(tickers))
      for (const found of await findSeries(this.#reading(), names, query.timeframe, partsFor(query)))
        yield recordedIn(this, found, query, found.unsettled)
  }

  async recorded(ticker: string, timeframe: Timeframe, field: string): Promise<Recorded | null> {
    const query = { fields: [field], outcomes: true }
    const [found] = await findSeries(this.#reading(), [ticker], timeframe, partsFor(query))
    return oneField(recordedIn(this, found!, query, found!.unsettled), field)
  }

  tail(ticker: string, since: BarBySeries, from: BarBySeries): Promise<PackedTail | null> {
    return tailOf(this.#reading(), ticker, since, from)
  }

  async summaries(): Promise<TickerSummary[]> {
    return this.#atOnce(async db => {
      const [daily, weekly] = [await allSeries(db, 'daily'), await allSeries(db, 'weekly')]
      return (await entryRows(db)).map((row, i) => ({
        entry: entryOf(row),
        ...marksIn(daily[i]!),
        ...{ daily: summaryOf(daily[i]!), weekly: summaryOf(weekly[i]!) },
      }))
    })
  }

  async stamp(ticker: string, timeframe: Timeframe): Promise<string | null> {
    const [row] = await this.#reading().query<{ hash: string }>(STAMP, [ticker, timeframe])
    return row?.hash ?? null
  }

  contents(): Promise<Content[]> {
    return contentRows(this.#reading())
  }

  async copies(tickers: readonly string[]): Promise<TickerCopy[]> {
    const { copyOf } = await import('../copies.js')
    return this.#atOnce(async db => (await foundTickers(db, tickers)).map(found => copyOf(this, found)))
  }

  asked(series?: SeriesName): Store {
    return inOneQuestion(this, () => this.#reading(), series)
  }

  async atOneMoment<T>(work: () => Promise<T>): Promise<T> {
    return this.#atOnce(async (_db, session) => {
      // Who works on what was read may take its time before it reads on.
      await session.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      return this.#moment.run(session, work)
    })
  }

  async write(batch: Batch, definitions: string): Promise<void> {
    const { removed = [], copies = [], amendments = [], sheets = [], unpulled = [], unsettled } = batch
    const { packedOf, putAmendment, putCopies, putRecords, putSheet } = await import('./write.js')
    const { checkNotPulled, removePulled } = await import('./pages.js')
    // All that is to be thought of is thought of before others have to wait.
    const records = Array.from(batch.records ?? [], packedOf)
    const [amended, replaced] = [[...amendments], [...sheets]]
    const whole = [...records, ...copies.flatMap(({ record }) => record ?? [])]
    const put = new Set([...whole.map(({ entry }) => entry.ticker), ...replaced.map(({ ticker }) => ticker)])
    const spread = (await this.#elsewhere()).length > 0
    // What goes from one server as it comes to another, goes once it has come.
    const later = spread ? removed.filter(ticker => put.size > 0 && !put.has(ticker)) : []
    const first = removed.filter(ticker => !later.includes(ticker))
    const touched = [...first, ...copies.map(({ ticker }) => ticker), ...put]
    await this.#writing({ definitions, unsettled, records: whole }, touched, async session => {
      const db = this.#reading(session)
      await setMeta(session, 'definitions', definitions)
      if (unsettled !== undefined) await setMeta(session, 'unsettled', JSON.stringify(unsettled))
      for (const ticker of [...first, ...copies.map(({ ticker }) => ticker)]) await remove(session, ticker)
      for (const ticker of unpulled) await removePulled(session, ticker)
      const names = records.map(({ entry }) => entry.ticker)
      if (names.length > 0) await checkNotPulled(this.location, session, names)
      await putCopies(session, copies)
      await putRecords(session, records)
      for (const amendment of amended) await putAmendment(db, amendment)
      // Last, because a security's asset class is told with its ticker too.
      for (const sheet of replaced) await putSheet(db, sheet)
    })
    for (const ticker of later) await this.remove(ticker)
  }

  remove(ticker: string, unsettled?: readonly string[]): Promise<boolean> {
    return this.#writing({ unsettled }, [ticker], async session => {
      if (unsettled !== undefined) await setMeta(session, 'unsettled', JSON.stringify(unsettled))
      return remove(session, ticker)
    })
  }

  async footprint(): Promise<Footprint> {
    return { schema: STEPS.length, newestSchema: STEPS.length, bytes: await sizeOf(this.#reading()) }
  }

  async verify(): Promise<Damage[]> {
    const { verifyContent } = await import('./verify.js')
    return this.#atOnce(verifyContent)
  }

  async lock(writer: Writer): Promise<void> {
    const place = this.#writable()
    await place.take(writer)
    if (!place.isAlone || (await this.#elsewhere()).length === 0) return
    const { makeGood } = await import('./shards.js')
    try {
      await this.#database.transaction(makeGood)
    } catch (error) {
      await place.leave(writer)
      throw error
    }
  }

  async unlock(writer: Writer): Promise<void> {
    await this.#writable().leave(writer)
  }

  async close(): Promise<void> {
    await this.#place?.close()
    await this.#database.close()
  }

  #reading(session: Queries = this.#moment.getStore() ?? this.#database): Reading {
    return { location: this.location, query: (text, values) => session.query(text, values) }
  }

  /** Several reads of one state, whatever is written meanwhile. */
  async #atOnce<T>(work: (db: Reading, session: Queries) => Promise<T>): Promise<T> {
    const moment = this.#moment.getStore()
    if (moment !== undefined) return work(this.#reading(), moment)
    const parts = await this.#elsewhere()
    const { beginMoment } = await import('./shards.js')
    const begun = async (session: Queries): Promise<T> => {
      await beginMoment(session, parts)
      return work(this.#reading(session), session)
    }
    return this.#database.transaction(begun, { snapshot: true })
  }

  /**
   * All or nothing; one after the other, since each begins with the same row, as others are to see that something was
   * written. Over several servers, each by itself is all or nothing.
   * @param tickers whose entries it may change
   */
  async #writing<T>(before: Announced, tickers: string[], work: (session: Queries) => Promise<T>): Promise<T> {
    const place = this.#writable()
    const isSpread = (await this.#elsewhere()).length > 0
    const { announce, endWriting, settleDays } = await import('./shards.js')
    const mark = randomUUID()
    // By itself, whatever else a place writes with the work.
    if (isSpread) await this.#database.transaction(session => announce(session, mark, before), { lock: STATEMENT_MS })
    return place.transaction(async session => {
      await session.query("UPDATE bands_data.meta SET value = gen_random_uuid() WHERE key = 'version'")
      const result = await work(session)
      if (isSpread) await settleDays(session, tickers)
      if (isSpread) await endWriting(session, mark)
      return result
    })
  }

  /** Partitions on other servers, one for each of them; that never changes. */
  async #elsewhere(): Promise<readonly string[]> {
    const { partsElsewhere } = await import('./shards.js')
    this.#parts ??= await partsElsewhere(this.#database)
    return this.#parts
  }

  #writable(): Place {
    if (this.#place === null) throw new StorageError(`${this.location} was opened for questions alone`)
    return this.#place
  }

  async #meta(key: string): Promise<string | undefined> {
    const [row] = await this.#reading().query<{ value: string }>('SELECT value FROM bands_data.meta WHERE key = $1', [
      key,
    ])
    return row?.value
  }

  async #tickersIn(sql: string): Promise<string[]> {
    return (await this.#reading().query<{ ticker: string }>(sql)).map(({ ticker }) => ticker)
  }
}

const STAMP = `SELECT series.hash FROM bands_data.tickers
  JOIN bands_data.series ON series.ticker = tickers.ticker AND timeframe = $2 WHERE tickers.ticker = $1`

async function setMeta(session: Queries, key: string, value: string): Promise<void> {
  await session.query(
    'INSERT INTO bands_data.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, value],
  )
}

/** All there is of a ticker; false when there was nothing. */
async function remove(session: Queries, ticker: string): Promise<boolean> {
  let removed = 0
  for (const table of OF_TICKERS)
    removed += (await session.query(`DELETE FROM bands_data.${table} WHERE ticker = $1 RETURNING 1`, [ticker])).length
  return removed > 0
}
