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
export { RateLimited, Unauthorized, Unavailable, Upstream } from './errors/service.js'
export {
  BadData,
  BandsError,
  Busy,
  ConfigError,
  type ErrorCode,
  InvalidParameter,
  NotFound,
  StorageError,
  TierRestricted,
} from './errors.js'
export type { Field } from './fields/field.js'
export { FIELDS } from './fields/index.js'
export {
  type BandsClient,
  type BandsOptions,
  openBands,
  openRemote,
  type RemoteClient,
  type RemoteClientOptions,
} from './library.js'
export type { Explanation } from './local/explain.js'
export type { ExportFilter } from './local/export.js'
export type { KnownFact, KnownFacts } from './local/facts.js'
export type { Importer } from './local/import.js'
export type {
  BarsReport,
  FactsReport,
  FileReport,
  ImportOptions,
  ImportProgress,
  SheetReport,
  SourcedBars,
  TickerReport,
} from './local/import-report.js'
export type { Status } from './local/status.js'
export type { Aftermath, BandEvent, Baseline, EventHistory, EventsPage, HistoricEvent } from './model/event.js'
export type { ExportedBar, ExportedEvent, ExportedSeriesBar } from './model/export.js'
export type { FactKind, FactRecords } from './model/facts.js'
export type { OversoldMatch, OversoldPage, OversoldParams } from './model/oversold.js'
export type { EventsParams, HistoryParams, PoolParams } from './model/query.js'
export { PERFORMANCES, type Performance, STABILITIES, type Stability } from './model/record.js'
export type { Adjustment, AssetClass, Series } from './model/series.js'
export type { Tier } from './model/tier.js'
export type { Timeframe } from './model/timeframe.js'
export { databasePath, openImporter } from './open.js'
export type { Allowance, Credits } from './remote/index.js'
export type { Backtest } from './research/backtest/result.js'
export type { BacktestParams } from './research/params/backtest.js'
export type { StudyParams } from './research/params/study.js'
export type { SweepParams } from './research/params/sweep.js'
export type { EventStudy } from './research/study/result.js'
export type { Sweep } from './research/sweep/result.js'
export type { Damage, TickerEntry } from './store/store.js'
export type { Now } from './study/now.js'
export type { Tally } from './study/tally.js'
export type { TallyGrouping } from './study/tally-groups.js'
export type { Transitions } from './study/transitions.js'
