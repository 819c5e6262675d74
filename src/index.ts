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

export type { Backtest, Comparison, Grid } from './backtest/result.js'
export type { Noted, OwnFields } from './client/questions.js'
export {
  type BandsClient,
  type BandsOptions,
  openBands,
  openRemote,
  type RemoteClient,
  type RemoteClientOptions,
} from './client.js'
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
} from './errors.js'
export type { Field } from './fields/field.js'
export { FIELDS } from './fields/index.js'
export type { Importer } from './load/import.js'
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
} from './load/report.js'
export type { Explanation } from './local/explain.js'
export type { ExportFilter } from './local/export.js'
export type { KnownFact, KnownFacts } from './local/facts.js'
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
} from './model/event.js'
export type { FactKind, FactRecords } from './model/facts.js'
export type { Adjustment, AssetClass, Series } from './model/series.js'
export { PERFORMANCES, type Performance, STABILITIES, type Stability } from './model/series.js'
export type { Tier, Timeframe } from './model/terms.js'
export { databasePath } from './open/paths.js'
export { openImporter, type WholeStatus as Status } from './open.js'
export type { OwnField } from './params/fields-file.js'
export type { CompareParams, GridParams } from './params/grid.js'
export type { EventsParams, HistoryParams, OversoldParams, PoolParams, ScreenParams } from './params/questions.js'
export type { BacktestParams } from './params/strategy.js'
export type { StudyParams, SweepParams } from './params/studies.js'
export type { Allowance, Credits } from './remote/remote.js'
export type { Screen, ScreenMatch } from './screen/screen.js'
export type { Damage, TickerEntry } from './store/store.js'
export type { EventStudy } from './study/result.js'
export type { Sweep } from './sweep/result.js'
export type { Now } from './tally/now.js'
export type { PoolEvent, PoolEvents } from './tally/pool.js'
export type { Tally } from './tally/tally.js'
export type { Transitions } from './tally/transitions.js'
export type { TallyGrouping } from './tally/trials.js'
