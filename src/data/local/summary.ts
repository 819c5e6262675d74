import { stabilityOf } from '../../core/engine/record.js'
import { countBelow, countUpTo, type Day, dateOf, formatDay } from '../../core/model/day.js'
import type {
  BandMeta,
  Identity,
  Snapshot,
  SnapshotPage,
  SnapshotQuery,
  SnapshotRange,
  SnapshotsPage,
} from '../../core/model/pages.js'
import { type AssetClass, BAR_FIGURES, barOf, type Series } from '../../core/model/series.js'
import { TIMEFRAMES, windowName } from '../../core/model/terms.js'
import { isChosen, META, PRICES, placeOf } from '../../core/params/places.js'
import { firstItem, type GrantedFields } from '../../core/source.js'
import { entitle, entitleDate, planOf } from '../../core/tiers.js'
import type { Local } from './local.js'
import { assetClassOf, marketCapTierOf, sectorOf } from './scan-states.js'
import { periodAt, type View } from './view.js'

/**
 * The state of a ticker on one day, or on each bar of a range: prices, and each field's band in force. Plans with
 * aftermath also show the band's stability (its meta values). A bar has the bands known when it was final. Throws
 * NotFound and Busy; InvalidParameter for a day after today or before every tier's range. Throws TierRestricted for a
 * day or a field that only a higher tier has.
 */
export async function tickerSummary(local: Local, query: SnapshotQuery): Promise<SnapshotPage | SnapshotsPage> {
  const { date, range, ticker, timeframe } = query
  const { tier } = local
  const wantedFields = entitledFields(local, query)
  const today = await local.today()
  if (date !== undefined) entitleDate(date, tier, today)
  if (range !== undefined) entitleDate(range.start, tier, today, 'start')
  const datedLocal = date === undefined ? local : local.on(date)
  const identity = await identityOf(datedLocal, query, date ?? today)
  const { fields, omitted } = await readableFields(datedLocal, wantedFields, identity.asset_class)
  const series = await datedLocal.series(ticker, timeframe)
  const views = await readViews(datedLocal, query, fields)
  const snapshotOn = (barIndex: number): Snapshot =>
    snapshotAt(barIndex, { query, series, views, showsMeta: planOf(tier).aftermath })
  const omittedKey = omitted.length > 0 ? { omitted } : {}
  if (range === undefined) return { ...identity, ...snapshotOn(series.days.length - 1), ...omittedKey }
  return { ...identity, ...snapshotRange(series, range, snapshotOn), ...omittedKey }
}

/**
 * The fields of a query that the tier has. A query names places in the answer: of a field (`trend.direction`), or of a
 * section (`trend`). Throws TierRestricted for the place of a field above the tier or of its meta values, and for a
 * section of such fields only.
 */
function entitledFields({ tier, fieldSet }: Local, { fields: places }: SnapshotQuery): string[] {
  const wanted = fieldSet.all.filter(({ name }) => isChosen(placeOf(name), places) || wantsMetaOf(name, places))
  const granted = wanted.filter(field => {
    try {
      entitle({ field: field.name }, tier, fieldSet)
      return true
    } catch (error) {
      const place = placeOf(field.name)
      if (places?.includes(place) || places?.includes(place + META)) throw error
      return false
    }
  })
  const [firstWanted] = wanted
  // Throws, and says which tier has the field.
  if (places !== undefined && granted.length === 0 && firstWanted !== undefined)
    entitle({ field: firstWanted.name }, tier, fieldSet)
  return granted.map(({ name }) => name)
}

/** Whether a query names the place of a field's meta values. */
function wantsMetaOf(field: string, places: readonly string[] | undefined): boolean {
  return places?.includes(placeOf(field) + META) ?? false
}

/** A ticker's sector and size as known now, and its class, which may depend on facts of the day. Throws NotFound. */
async function identityOf(local: Local, { ticker, timeframe }: SnapshotQuery, day: Day): Promise<Identity> {
  const entry = await local.entry(ticker)
  const security = (await local.store.securities()).get(ticker) ?? null
  const listed = { entry, security }
  return {
    ticker,
    timeframe,
    asset_class: await assetClassOf(listed, local.store, day),
    sector: sectorOf(listed),
    market_cap_tier: marketCapTierOf(listed),
    data_status: 'eod',
  }
}

/**
 * The chosen fields that can be read: no fundamentals for coins and funds. `omitted` has those that wait for an import,
 * which only fundamentals do.
 */
async function readableFields(
  local: Local,
  wantedFields: readonly string[],
  assetClass: AssetClass | null,
): Promise<{ fields: string[]; omitted: { field: string; why: string }[] }> {
  const granted: GrantedFields = await local.granted()
  const hasFundamentals = assetClass !== 'crypto' && assetClass !== 'etf'
  const fields = granted.fields
    .filter(({ name, needs }) => wantedFields.includes(name) && (hasFundamentals || needs === 'bars'))
    .map(({ name }) => name)
  const omitted = granted.omitted.filter(({ field }) => hasFundamentals && wantedFields.includes(field))
  return { fields, omitted }
}

/** The view of each field of a ticker, in one read. */
async function readViews(
  local: Local,
  { ticker, timeframe }: SnapshotQuery,
  fields: readonly string[],
): Promise<Map<string, View>> {
  const views = new Map<string, View>()
  if (fields.length === 0) return views
  const viewOfField = await firstItem(
    local.views({ tickers: [ticker], timeframe, fields: [...fields], outcomes: false }),
  )
  for (const field of fields) views.set(field, await viewOfField(field))
  return views
}

interface SnapshotData {
  query: SnapshotQuery
  series: Series
  views: ReadonlyMap<string, View>
  /** Whether the tier shows the stability of bands. */
  showsMeta: boolean
}

/** The state on a bar; index -1 means that there are no bars, and gives nulls. */
function snapshotAt(
  barIndex: number,
  { query: { fields: places, meta }, series, views, showsMeta }: SnapshotData,
): Snapshot {
  const snapshot: Snapshot = { as_of_date: barIndex < 0 ? null : formatDay(series.days[barIndex]!) }
  const figures = BAR_FIGURES.filter(name => isChosen(`${PRICES}.${name}`, places))
  if (figures.length > 0) {
    const bar = barIndex < 0 ? null : barOf(series, barIndex)
    snapshot.ohlcv = bar && Object.fromEntries(figures.map(name => [name, bar[name]]))
  }
  for (const [field, view] of views) {
    const place = placeOf(field)
    if (isChosen(place, places))
      setAtPlace(snapshot, place, barIndex < 0 ? null : (periodAt(view, barIndex)?.band ?? null))
    const wantsMeta = (meta && isChosen(place, places)) || wantsMetaOf(field, places)
    if (wantsMeta && showsMeta) setAtPlace(snapshot, place + META, barIndex < 0 ? null : metaAt(view, barIndex))
  }
  return snapshot
}

/** Sets a value at a place: `trend.direction` is the key `direction` of the object `trend`. */
function setAtPlace(snapshot: Snapshot, place: string, value: unknown): void {
  const parts = place.split('.')
  let section: Record<string, unknown> = snapshot
  for (const part of parts.slice(0, -1)) {
    section[part] ??= {}
    section = section[part] as Record<string, unknown>
  }
  section[parts.at(-1)!] = value
}

/** The stability of the band in force on a bar; null without a band. */
function metaAt(view: View, barIndex: number): BandMeta | null {
  const period = periodAt(view, barIndex)
  if (period === null) return null
  const { timeframe, record } = view
  const { flipsLookback } = TIMEFRAMES[timeframe]
  const lasted = barIndex - period.since + 1
  const flips = countUpTo(record!.bars, barIndex) - countUpTo(record!.bars, barIndex - flipsLookback)
  return {
    timeframe,
    periods_in_current_state: lasted,
    flips_recent: flips,
    flips_lookback: windowName(flipsLookback, timeframe),
    stability: stabilityOf(flips, lasted),
  }
}

/**
 * The keys of an answer about a range of bars. It shows the first `limit` bars after `offset`, or with `even` (then
 * without an offset) as many bars spread evenly over the range. @param snapshotOn makes the snapshot of a bar
 */
function snapshotRange(
  { days }: Series,
  { start, end, limit, offset, even }: SnapshotRange,
  snapshotOn: (barIndex: number) => Snapshot,
) {
  const from = countBelow(days, start)
  const total = Math.max(0, (end === undefined ? days.length : countUpTo(days, end)) - from)
  const rowsAfterOffset = Math.max(0, total - offset)
  const rows = Math.min(limit, rowsAfterOffset)
  // The first and the last bar are among those that are spread evenly.
  const step = even && rows > 1 ? (total - 1) / (rows - 1) : 1
  const indexes = Array.from({ length: rows }, (_, i) => from + offset + Math.round(i * step))
  return {
    start: formatDay(start),
    end: dateOf(end),
    row_count: rows,
    total_rows: total,
    has_more: !even && rowsAfterOffset > rows,
    snapshots: indexes.map(snapshotOn),
  }
}
