// For: the questions and studies that a program asks.
// In: options of a call, as text and numbers.
// Out: answers as objects, with the notes that a terminal would show.

import { wordsAsText } from '../../core/errors.js'
import type { AnyField, FieldSet } from '../../core/fields/index.js'
import { isRuled } from '../../core/language/as-field.js'
import { conditionsIn } from '../../core/language/condition.js'
import { readRank } from '../../core/language/rank.js'
import { dateOf } from '../../core/model/day.js'
import type { EventHistory, EventsPage, HistoryQuery, OversoldPage, PoolQuery } from '../../core/model/event.js'
import { objectOf } from '../../core/params/arguments.js'
import {
  EVENTS_WITH_CONDITIONS,
  type EventsParams,
  type HistoryParams,
  NOW,
  OVERSOLD,
  type OversoldParams,
  type PoolEventsParams,
  type PoolParams,
  parseEvents,
  parseHistory,
  parseOversold,
  parsePool,
  parsePoolEvents,
  parseTransitions,
  type TransitionsParams,
  UNLIMITED_EVENTS,
  UNLIMITED_OVERSOLD,
} from '../../core/params/questions.js'
import { type ParamsOf, paramsNotInTable, readParams } from '../../core/params/row.js'
import { TALLY, tallyOptions } from '../../core/params/studies.js'
import { fieldByName } from '../../core/params/values.js'
import { eventHistory, fieldsFor, type Source, type Trials } from '../../core/source.js'
import { type Now, now } from '../../research/tally/now.js'
import { type PoolEvents, poolEvents } from '../../research/tally/pool.js'
import { type Tally, tally } from '../../research/tally/tally.js'
import { type Transitions, transitionsOf } from '../../research/tally/transitions.js'

/** Notes on an answer that its fields cannot hold, as sentences: usually why it is empty. */
export interface Noted extends OwnFields {
  notes: string[]
}

/**
 * Questions about events, answered by a database or a server. Parameters are named as in the specification. Answers
 * equal the `--json` output, with the notes of standard error added. Every question may throw InvalidParameter,
 * TierRestricted or NotFound.
 */
export abstract class Questions {
  readonly #bands: Source
  protected readonly knownFields: FieldSet

  constructor(bands: Source, knownFields: FieldSet) {
    this.#bands = bands
    this.knownFields = knownFields
  }

  /**
   * `GET /v1/events`: the newest matching transitions of one field of one ticker, with their aftermath. `limit`
   * defaults to 10. A database without a tier takes any number, or `all`.
   */
  async events(params: EventsParams): Promise<EventsPage & Noted> {
    const query = parseEvents(params, this.withholds ? EVENTS_WITH_CONDITIONS : UNLIMITED_EVENTS, this.knownFields)
    const page = await this.#bands.events(query)
    const notes = page.total_occurrences > 0 ? [] : await this.#whyNoEvents(query)
    return this.withDefinitions(params, { ...page, notes })
  }

  /**
   * The newest events of several tickers together, at most `limit`: newest first, and those of one date in order of
   * ticker. A database adds raw returns and percentiles.
   */
  async poolEvents(params: PoolEventsParams): Promise<PoolEvents & Noted> {
    const query = parsePoolEvents(params, this.withholds ? EVENTS_WITH_CONDITIONS : UNLIMITED_EVENTS, this.knownFields)
    const found = await poolEvents(this.#bands, query)
    const { notes } = await this.#addEmptyNote(query, { ...found, events: found.total_occurrences })
    return this.withDefinitions(params, { ...found, notes })
  }

  /** `GET /v1/scan/oversold`: the oversold tickers. `limit` defaults to 20; without a tier, any or `all` is taken. */
  async oversold(params: OversoldParams = {}): Promise<OversoldPage & Noted> {
    const query = parseOversold(params, this.withholds ? OVERSOLD : UNLIMITED_OVERSOLD)
    const page = await this.#bands.oversold(query)
    if (page.match_count > 0) return { ...page, notes: [] }
    const { emptyScanNote } = await import('../../core/empty.js')
    return { ...page, notes: [this.#bands.server?.note ?? emptyScanNote(query, page, dateOf(query.date))] }
  }

  /** All matching transitions, oldest first; of a database with raw returns and percentiles. */
  async history(params: HistoryParams): Promise<EventHistory & Noted> {
    const query = parseHistory(params, this.knownFields)
    const history = await eventHistory(this.#bands, query)
    const notes = history.events.length > 0 ? [] : await this.#whyNoEvents(query)
    return this.withDefinitions(params, { ...history, notes })
  }

  /**
   * Counts how often each performance followed, compared with any bar, with returns if prices are known. Rows are by
   * band unless `band` names one. The trial log of a database counts the windows.
   */
  async tally(params: PoolParams & ParamsOf<typeof TALLY>): Promise<Tally & Noted> {
    const written = objectOf('params', params)
    const pool = parsePool(paramsNotInTable(TALLY, written), this.knownFields)
    const query = { ...pool, ...tallyOptions(written, pool.timeframe) }
    const found = await this.withTrialLog(trials => tally(this.#bands, query, { trials }))
    return this.withDefinitions(params, await this.#addEmptyNote(pool, found))
  }

  /** Runs a question with the trial log, or with null if there is none. */
  protected abstract withTrialLog<Found extends { warnings: string[] }>(
    ask: (trials: Trials | null) => Promise<Found>,
  ): Promise<Found>

  /** Which band follows which, and how long each lasts, in bars; with a context also by the band that it was in. */
  async transitions(params: TransitionsParams): Promise<Transitions & Noted> {
    const pool = parseTransitions(params, this.knownFields)
    return this.withDefinitions(params, await this.#addEmptyNote(pool, await transitionsOf(this.#bands, pool)))
  }

  /**
   * Returns the present band of fields, its start, and the usual duration (default: all fields of the tier). `omitted`
   * lists the fields of the tier that need an import first.
   */
  async now(params: ParamsOf<typeof NOW>): Promise<Now & OwnFields> {
    const { tickers, field: named, timeframe, ...filter } = readParams(NOW, params, this.knownFields)
    // Without tickers the answer is empty, so no field is looked up.
    const wanted = tickers.length === 0 ? [] : named
    const { fields, omitted } = await fieldsFor(this.#bands, wanted, { ticker: tickers[0], timeframe })
    // Fields that the caller did not name are skipped where they are missing.
    const skip = named === undefined ? await this.#bands.missing?.() : undefined
    const query = { tickers, fields, omitted, timeframe, skip, ...filter }
    return this.withDefinitions(params, await now(this.#bands, query))
  }

  /** All known fields with their tiers and bands: the built-in ones, then the user's own. */
  fields(): readonly AnyField[] {
    return this.knownFields.all
  }

  /** The conditions that the user has named (`bands conditions`), by name. */
  conditions(): Record<string, string> {
    const { conditions } = this.knownFields
    const names = conditions?.names ?? []
    return Object.fromEntries(names.map(name => [name, conditions?.named(name) ?? '']))
  }

  async close(): Promise<void> {
    await this.#bands.close()
  }

  /** Adds the hashes of the user's own fields that an answer uses, and the named conditions of its question. */
  protected withDefinitions<Answer extends object>(params: object, answer: Answer): Answer & OwnFields {
    const definitions: OwnFields = {}
    const ownFields = definitionsIn(answer, this.knownFields)
    if (ownFields !== null) definitions.own_fields = ownFields
    const conditions = conditionsOf(params, this.knownFields)
    if (conditions !== null) definitions.named_conditions = conditions
    return { ...answer, ...definitions }
  }

  /** Whether the limits of the specification apply: at a tier, and at a server. */
  protected abstract get withholds(): boolean

  /** Adds notes to an answer. If it has no event, they give the reason. */
  async #addEmptyNote<Found extends Pick<Tally, 'tickers' | 'events' | 'query_range' | 'as_of'> & Partial<Noted>>(
    { tickers: _tickers, ...query }: PoolQuery,
    found: Found,
  ): Promise<Found & Noted> {
    const { tickers, notes = [] } = found
    if (found.events > 0) return { ...found, notes }
    let reasons: string[]
    if (tickers.length > 1) {
      const { emptyPoolNote } = await import('../../core/empty.js')
      reasons = [emptyPoolNote(query, found, await this.#bands.known(tickers))]
    } else reasons = await this.#whyNoEvents({ ...query, ticker: tickers[0]! })
    return { ...found, notes: [...notes, ...reasons] }
  }

  /** Sentences: why a question about one ticker has no event, and advice. Empty if the source gives no reason. */
  async #whyNoEvents(query: HistoryQuery): Promise<string[]> {
    const why = await this.#bands.whyEmpty(query)
    if (why === null) return []
    const { emptyNote } = await import('../../core/empty.js')
    const { reason, advice } = emptyNote(why, query)
    return [wordsAsText(reason), ...(advice === null ? [] : [wordsAsText(advice)])]
  }
}

/** The definitions of the user's own fields that an answer uses. */
export interface OwnFields {
  /** The hash of each used definition by field name; absent if there are none. */
  own_fields?: Record<string, string>
  /** What each `@NAME` of the question means, by name; absent if there are none. */
  named_conditions?: Record<string, string>
}

/** The keys of an answer whose texts are names of fields, or conditions. */
const KEYS_WITH_FIELDS = ['field', 'fields', 'when']

/** The hashes of the user's own fields that an answer names, and that these use, by name; null if there are none. */
function definitionsIn(answer: object, fields: FieldSet): Record<string, string> | null {
  const hasOwnFields = fields.all.some(({ hash }) => hash !== undefined)
  if (!hasOwnFields) return null
  const used = new Map<string, string>()
  for (const name of fieldNamesIn(answer)) addDefinition(used, name, fields)
  return used.size === 0 ? null : Object.fromEntries(used)
}

/** The texts of the named conditions that a question uses, itself or by another condition, by name; null if none. */
function conditionsOf(params: object, { conditions }: FieldSet): Record<string, string> | null {
  const used = new Map<string, string>()
  // Adds the conditions that a text names, or the texts in an object.
  const walk = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) walk(inner)
    if (typeof value !== 'string') return
    for (const name of conditionsIn(value)) {
      const text = used.has(name) ? undefined : conditions?.named(name)
      if (text === undefined) continue
      used.set(name, text)
      walk(text)
    }
  }
  walk(params)
  return used.size === 0 ? null : Object.fromEntries(used)
}

/** Adds the hash of a field's definition to `used`, by its name, and the hashes of the fields that its rules name. */
function addDefinition(used: Map<string, string>, name: string, fields: FieldSet): void {
  const field = fieldByName(name, fields)
  if (field === undefined || used.has(name)) return
  if (field.hash !== undefined) used.set(name, field.hash)
  if (isRuled(field)) for (const subject of field.subjects) addDefinition(used, subject.field, fields)
}

/** The names of all fields and conditions in a document, each once. */
function fieldNamesIn(document: object): Set<string> {
  const names = new Set<string>()
  // Adds the names in a value, by the key that it is stored under; items of a list have the key of the list.
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (KEYS_WITH_FIELDS.includes(key)) names.add(value)
      // A ranking is by a field or by an expression.
      const ranked = key === 'rank' ? readRank(value).of : null
      if (ranked?.is === 'field') names.add(ranked.field)
    } else if (Array.isArray(value)) for (const item of value) walk(item, key)
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) walk(inner, name)
  }
  walk(document, '')
  return names
}
