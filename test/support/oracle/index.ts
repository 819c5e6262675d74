/**
 * The oracle: sections 0, 1, 2, 4, 5 and 6 of the definitions page, written from its words alone in the slowest and
 * most literal form, for comparison with the engine. It imports nothing of the project, on purpose: two readings of
 * one page agree only where both are right or both misread.
 */
export { type Bar, barsAsOf, type Options, type Timeframe, weeklyBars } from './bars.js'
export { type Event, events, eventsOfEveryField, recorded } from './events.js'
export { bands, FIELDS, type FieldName } from './fields.js'
export { type Column, type Indicators, indicators, rollingRanks, trueRange } from './indicators.js'
export { type Archive, archive, newestDate, type Query, rangeStart, search, type Tier } from './search.js'
export { above, below, equal, percentile, rank, zone, zoneOfRank } from './tolerance.js'
