import { expectTypeOf, it } from 'vitest'
import type {
  Backtest,
  BacktestParams,
  BandEvent,
  BandsClient,
  BandsOptions,
  EventStudy,
  EventsPage,
  EventsParams,
  Noted,
  OwnFields,
  Performance,
  RemoteClient,
  StudyParams,
  Sweep,
  SweepParams,
  Tier,
} from '../../src/index.js'
import { openBands } from '../../src/index.js'

it('openBands takes a database, a tier and a date, all optional', () => {
  expectTypeOf(openBands).parameter(0).toEqualTypeOf<BandsOptions | undefined>()
  expectTypeOf(openBands).returns.resolves.toEqualTypeOf<BandsClient>()
  expectTypeOf<BandsOptions['tier']>().toEqualTypeOf<Tier | undefined>()
  expectTypeOf<{ tier: 'gold' }>().not.toExtend<BandsOptions>()
})

it('a search needs a ticker and a field, spelled as in the specification', () => {
  expectTypeOf<{ ticker: string; field: string }>().toExtend<EventsParams>()
  expectTypeOf<{ ticker: string }>().not.toExtend<EventsParams>()
  expectTypeOf<'contextTicker'>().not.toExtend<keyof EventsParams>()
})

it('a page holds events with a duration that may be null and an aftermath that may be null', () => {
  expectTypeOf<BandsClient['events']>().returns.resolves.toEqualTypeOf<EventsPage & Noted>()
  expectTypeOf<EventsPage['events'][number]>().toEqualTypeOf<BandEvent>()
  expectTypeOf<BandEvent['duration_days']>().toEqualTypeOf<number | null | undefined>()
  expectTypeOf<NonNullable<BandEvent['aftermath']>[string]>().toEqualTypeOf<{ performance: Performance } | null>()
})

it('a study needs tickers and a field, and answers the same of a database and of a server', () => {
  expectTypeOf<{ tickers: string[]; field: string; band: ['oversold']; horizon: [5, 20] }>().toExtend<StudyParams>()
  expectTypeOf<{ field: string }>().not.toExtend<StudyParams>()
  expectTypeOf<{ tickers: string[]; field: string; hold: 20; side: 'short' }>().toExtend<BacktestParams>()
  expectTypeOf<{ side: 'both' }>().not.toExtend<BacktestParams>()
  expectTypeOf<'duration'>().not.toExtend<keyof StudyParams>()
  expectTypeOf<BandsClient['study']>().returns.resolves.toEqualTypeOf<EventStudy & OwnFields>()
  expectTypeOf<RemoteClient['backtest']>().returns.resolves.toEqualTypeOf<Backtest & OwnFields>()
  expectTypeOf<BandsClient['sweep']>().parameter(0).toEqualTypeOf<SweepParams>()
  expectTypeOf<RemoteClient['sweep']>().returns.resolves.toEqualTypeOf<Sweep & OwnFields>()
})
