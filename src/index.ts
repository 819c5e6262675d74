// For: the library: what a program may import.
// In: nothing of its own.
// Out: `openBands`, `openRemote`, the types of their answers, and the errors.

/**
 * The public face: what an embedding program may import. Importing it touches no disk and no network.
 *
 * @example
 * import { openBands } from 'bands'
 * const bands = await openBands({ db: 'my.db' })
 * const { events, total_occurrences } = await bands.events({ ticker: 'AAPL', field: 'rsi_zone', band: 'oversold' })
 * const { windows } = await bands.study({ tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold' })
 * const { statistics } = await bands.backtest({ tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold', hold: 20 })
 * await bands.close()
 * @example
 * import { openRemote } from 'bands'
 * const server = await openRemote({ url: 'https://api.example.com', key: process.env.BANDS_API_KEY ?? '' })
 * const { groups } = await server.tally({ tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold' })
 */

export type { Noted, OwnFields } from './app/client/questions.js'
export {
  type BandsClient,
  type BandsOptions,
  openBands,
  openRemote,
  type RemoteClient,
  type RemoteClientOptions,
} from './app/client.js'
export type { WholeStatus as Status } from './app/open/database.js'
export { type FetchOptions, fetchBars, type UpdateOptions, updateBars } from './app/open/fetching.js'
export { databasePath } from './app/open/paths.js'
export { openImporter } from './app/open/writing.js'
export type { FetchedTicker, FetchPlan } from './app/providers/fetch.js'
export type { Provider } from './app/providers/provider.js'
export type { Allowance, Credits, SummaryPage } from './app/remote/remote.js'
export {
  BadData,
  BandsError,
  Busy,
  ConfigError,
  type ErrorCode,
  InvalidParameter,
  NotFound,
  RateLimited,
  StorageError,
  TierRestricted,
  Unauthorized,
  Unavailable,
  Upstream,
} from './core/errors.js'
export type { Field } from './core/fields/field.js'
export { FIELDS } from './core/fields/index.js'
export type {
  Aftermath,
  BandEvent,
  Baseline,
  EventHistory,
  EventsPage,
  ExportedBar,
  ExportedEvent,
  ExportedSeriesBar,
  HistoricEvent,
  OversoldMatch,
  OversoldPage,
} from './core/model/event.js'
export type { FactKind, FactRecords } from './core/model/facts.js'
export type { AccountPage, BarsPage, SearchPage, SnapshotPage, SnapshotsPage } from './core/model/pages.js'
export type { Adjustment, AssetClass, Series } from './core/model/series.js'
export { PERFORMANCES, type Performance, STABILITIES, type Stability } from './core/model/series.js'
export type { Tier, Timeframe } from './core/model/terms.js'
export type { OwnField } from './core/params/fields-file.js'
export type { CompareParams, GridParams } from './core/params/grid.js'
export type { BarsParams } from './core/params/pages.js'
export type {
  ChangesParams,
  EventsParams,
  HistoryParams,
  OversoldParams,
  PoolParams,
  ScreenParams,
} from './core/params/questions.js'
export type { SearchParams } from './core/params/search.js'
export type { BacktestParams } from './core/params/strategy.js'
export type { StudyParams, SweepParams, TallyGrouping } from './core/params/studies.js'
export type { SummaryParams } from './core/params/summary.js'
export type { Importer } from './data/load/import.js'
export type {
  BarsReport,
  FactsReport,
  FileReport,
  ImportOptions,
  ImportProgress,
  RefusedTicker,
  SheetReport,
  SourcedBars,
  TickerReport,
} from './data/load/report.js'
export type { Explanation } from './data/local/explain.js'
export type { ExportFilter } from './data/local/export.js'
export type { KnownFact, KnownFacts } from './data/local/facts.js'
export type { Damage, TickerEntry } from './data/store/store.js'
export type { Backtest, Comparison, Grid } from './research/backtest/result.js'
export type { Changes, Screen, ScreenMatch } from './research/screen/screen.js'
export type { EventStudy } from './research/study/result.js'
export type { Sweep } from './research/sweep/result.js'
export type { Now } from './research/tally/now.js'
export type { PoolEvent, PoolEvents } from './research/tally/pool.js'
export type { Tally } from './research/tally/tally.js'
export type { Transitions } from './research/tally/transitions.js'
