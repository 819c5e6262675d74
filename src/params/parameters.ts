import { ASSET_CLASSES, MARKET_CAP_TIERS, OVERSOLD_ORDERS, SEVERITIES } from '../model/event.js'
import { FACT_KINDS } from '../model/facts.js'
import { CONTEXT, EVENTS_CONTEXT } from './context.js'
import { FLAG, ONE_OF_FIELDS, several } from './figures.js'
import {
  ASKED_FIELD,
  BAND,
  BANDS,
  COUNT,
  DAY,
  FIELD,
  integerOf,
  oneOf,
  TEXT,
  TICKER,
  TIMEFRAME,
  wordOf,
} from './kinds.js'
import { given, needed, open, type Parameter, type ParamsOf, type Table } from './row.js'
import { WHEN } from './when.js'

export type { Parameter }

export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 100
const DEFAULT_MATCHES = 20
const LIMIT = { ...integerOf(1, MAX_LIMIT), name: 'Limit' }
const SIZE = wordOf(MARKET_CAP_TIERS, 'SIZE', 'MarketCapTier')

export const TIMEFRAME_ROW = given(TIMEFRAME, 'daily', 'the bars that bands are made of: daily or weekly')

/** The parameters of `GET /v1/events`, in the order of the specification. */
export const EVENTS = {
  ticker: needed(TICKER, 'a ticker that is loaded, in either case'),
  field: needed(FIELD, 'band field; which a caller may ask for depends on the tier'),
  timeframe: TIMEFRAME_ROW,
  band: open(BAND, 'only events that enter this band'),
  limit: given(LIMIT, DEFAULT_LIMIT, `how many of the newest events, 1 to ${MAX_LIMIT}`),
  before: open(DAY, 'only events before this day'),
  after: open(DAY, 'only events after this day'),
  ...EVENTS_CONTEXT,
} as const satisfies Table

/** The parameters of `GET /v1/scan/oversold`. */
export const OVERSOLD = {
  asset_class: given(wordOf(ASSET_CLASSES, 'CLASS', 'AssetClass'), 'all', 'only stock, crypto or etf'),
  sector: open({ ...TEXT, name: 'Sector' }, 'only tickers of this sector; case does not matter'),
  market_cap_tier: open(SIZE, `only ${MARKET_CAP_TIERS.join(', ')} ones`),
  min_market_cap_tier: open(SIZE, 'only tickers of this size or larger'),
  min_severity: given(
    wordOf(SEVERITIES, 'BAND', 'Severity'),
    'oversold',
    `the least that counts: ${SEVERITIES.join(' or ')}`,
  ),
  sort_by: given(
    wordOf(OVERSOLD_ORDERS, 'ORDER', 'OversoldOrder'),
    'severity',
    `what comes first: ${OVERSOLD_ORDERS.join(', ')}`,
  ),
  limit: given(LIMIT, DEFAULT_MATCHES, `how many matches at most, 1 to ${MAX_LIMIT}`),
  timeframe: TIMEFRAME_ROW,
  date: open(DAY, 'as of that day, on Plus and Pro; the latest unless given'),
} as const satisfies Table

/** The same as it is asked on the command line and in programs: of several bands at once, and of conditions. */
export const ASKED_EVENTS = {
  ...EVENTS,
  field: needed(ASKED_FIELD, EVENTS.field.help),
  band: open(BANDS, 'only events that enter this band, or one of several'),
  ...WHEN,
} as const satisfies Table

/** The same where nothing is withheld: asked of the user's own data, as nobody's subscriber. */
export const OWN_EVENTS = {
  ...ASKED_EVENTS,
  limit: given(COUNT, DEFAULT_LIMIT, 'how many of the newest events, or all'),
} as const satisfies Table

export const OWN_OVERSOLD = {
  ...OVERSOLD,
  limit: given(COUNT, DEFAULT_MATCHES, 'how many matches at most, or all'),
} as const satisfies Table

const TICKERS = several(TICKER, 'TICKERS')

/** What a program asks of the present of tickers, of one bar, and of the facts of a ticker. */
export const NOW = {
  tickers: needed(TICKERS, 'tickers that are loaded'),
  fields: open(several(ONE_OF_FIELDS, 'FIELDS'), 'only these fields, in this order'),
  timeframe: TIMEFRAME_ROW,
  band: open(several(TEXT, 'BANDS'), 'only fields that are in this band, or in one of several'),
  since: open(DAY, 'only bands that were entered on that day or later'),
  changed: given(FLAG, false, 'only bands that were entered on the newest bar'),
} as const satisfies Table

export const EXPLAIN = {
  ticker: EVENTS.ticker,
  field: needed(ASKED_FIELD, EVENTS.field.help),
  timeframe: TIMEFRAME_ROW,
  ...WHEN,
  date: open(DAY, 'the bar of that day, or the last before it; the newest unless given'),
} as const satisfies Table

export const FACTS = {
  ticker: EVENTS.ticker,
  kind: open(oneOf(FACT_KINDS, 'KIND'), 'only records of this kind'),
} as const satisfies Table

/** A question as people write it, spelled as in the specification; every value may also be text. A condition alone is the field. */
export type EventsParams = FieldOrCondition<ParamsOf<typeof ASKED_EVENTS>>

/** What needs a field, or a condition in its place. */
export type FieldOrCondition<Params extends { field: unknown }> =
  | Params
  | (Omit<Params, 'field' | 'when'> & { field?: undefined; when: string })

/** The same without a limit. */
export type HistoryParams = Distributed<EventsParams, 'limit'>

/** Without some, each kind by itself. */
type Distributed<Params, Names extends string> = Params extends unknown ? Omit<Params, Names> : never

/** The same of several tickers, counted together. */
export type PoolParams = Distributed<HistoryParams, 'ticker'> & { tickers: readonly string[] }

/** The newest of several tickers. */
export type PoolEventsParams = Distributed<EventsParams, 'ticker'> & { tickers: readonly string[] }

/** Transitions are of every band. */
export type TransitionsParams = Distributed<PoolParams, 'band' | 'context_band'>

/** One bar of one field, or of a condition. */
export type ExplainParams = FieldOrCondition<ParamsOf<typeof EXPLAIN>>

/** A scan as people write it; every value may also be text. */
export type OversoldParams = ParamsOf<typeof OVERSOLD>

const { timeframe, band, before, after } = ASKED_EVENTS

/** What narrows a search on the command line. */
export const FILTERS = {
  timeframe,
  band,
  before,
  after,
  ...WHEN,
  context: CONTEXT,
  ...EVENTS_CONTEXT,
} as const satisfies Table
