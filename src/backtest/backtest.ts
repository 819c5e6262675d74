import { createHash } from 'node:crypto'
import { InvalidParameter, parameter, sentence } from '../errors.js'
import { type Day, dateOf, formatDay } from '../model/day.js'
import { percent } from '../params/figures.js'
import { eventsFilter, type RunOptions, type Strategy } from '../params/strategy.js'
import type { EventFilter } from '../params/studies.js'
import { type MarketBars, type PricedSource, type Trial, type Trials, tickerBars, vocabulariesOf } from '../source.js'
import { variance } from '../statistics/moments.js'
import { deflatedSharpe, type SharpeSample, sharpe } from '../statistics/sharpe.js'
import { daysAt, rangeOf, signalsOf } from '../study/signals.js'
import { canonical, checkFamily } from '../study/trials.js'
import { contextReach } from '../study/words.js'
import { benchmarkOf, buyAndHold, heldAlone, heldInPart, type Judged, randomEntry } from './comparison.js'
import { averageExposure, curveOf, deepestFalls, equityPoints, monthlyReturns } from './equity.js'
import { portfolioCalendar, type Simulation, simulate } from './portfolio.js'
import type { Backtest, Benchmark, Trade } from './result.js'
import { barsAYearOf, closedOf, equityStatistics, returnsOf, sampleOf, tradeStatistics } from './statistics.js'
import { type Lived, lived, type Member, membersOf, type Taken, worthOf } from './trade.js'
import { namesOf, type Ready, validate, warningsOf } from './validation.js'
import { capitalMatters, costsInWords, exitsInWords, FILLS_IN_WORDS, inWords, placesInWords } from './words.js'

/** Beside the question: how progress is told, and the ledger that counts what was looked at. */
interface BacktestWays {
  step?: (text: () => string) => void
  trials?: Trials | null
}

/**
 * Trades a strategy over all bars that a market has, and judges what came of it. Throws InvalidParameter for rules that
 * contradict each other; NotFound, TierRestricted and Busy as the source does.
 */
export async function backtest(
  source: PricedSource,
  strategy: Strategy,
  run: RunOptions,
  { step, trials = null }: BacktestWays = {},
): Promise<Backtest> {
  const { candidates = [], family = 'run' } = run
  checkFamily(family, trials)
  // What is not there is refused before the work, not after it.
  const benchmark =
    strategy.benchmark === null ? null : await tickerBars(source, strategy.benchmark, strategy.timeframe)
  const [members, ...others] = await membersOf(source, [strategy, ...candidates], step)
  checkShares(strategy, members!)
  const own: Ready = { strategy, members: members! }
  const rivals: Ready[] = candidates.map((candidate, i) => ({ strategy: candidate, members: others[i]! }))
  step?.(() => 'trades')
  const simulation = simulate(own.members, strategy, portfolioCalendar(own.members))
  const { days } = simulation
  const trades = simulation.trades.map(trade => lived(strategy.fill, trade))
  const barsAYear = barsAYearOf(own.members, days)
  const curve = curveOf(simulation, strategy, barsAYear)
  const statistics = equityStatistics(curve)
  const signals = countsOf(simulation, strategy.timeframe)
  const part = averageExposure(simulation, strategy.side)
  const benchmarks = benchmarksOf(own, benchmark, part, { timeframe: strategy.timeframe, days, curve })
  step?.(() => 'random entries')
  const random_entry = randomEntry(strategy, simulation.trades, run.reps)
  const rivalLooks = rivals.map(lookAt)
  const last = [{ days }, ...rivalLooks].reduce((most, look) => Math.max(most, look.days.at(-1) ?? most), -1)
  const validation = validate(
    own,
    rivals,
    { calendar: portfolioCalendar([...own.members, ...others.flat()]), last },
    run,
  )
  const sample = sampleOf(statistics.sharpe, returnsOf(curve), barsAYear)
  const looks = [lookOf(strategy, simulation), ...rivalLooks]
  const interest = { money: simulation.interest, of_capital: simulation.interest / strategy.portfolio.capital }
  const found = { signals, statistics, benchmarks, random_entry, interest, validation }
  return {
    ...headOf(strategy, days, await source.asOfDay()),
    bars_a_year: barsAYear,
    ...found,
    trade_statistics: tradeStatistics(strategy.costs, closedOf(trades)),
    trades: toldTrades(strategy, trades),
    skipped: toldSkipped(simulation),
    equity: equityPoints(simulation),
    months: monthlyReturns(simulation, strategy.portfolio.capital),
    drawdowns: deepestFalls(simulation),
    trials: await deflated(looks, sample, trials, { family, vocabularies: await vocabulariesOf(source) }),
    assumptions: assumptionsOf(strategy, own.members, barsAYear, run, random_entry, part),
    warnings: [
      ...warningsOf(strategy, own.members, simulation, found, run),
      ...(await contextWarnings(source, strategy, own.members)),
      ...source.remarks(),
    ],
  }
}

/** A cost of each share is of shares as they were traded: adjusted prices make others of them, and no factors are stored. */
function checkShares({ costs: { per_share } }: Strategy, members: readonly Member[]): void {
  const adjusted = members.filter(({ prices }) => prices.adjustment === 'adjusted')
  if (per_share === 0 || adjusted.length === 0) return
  const param = 'cost_per_share'
  const are = `the prices of ${namesOf(adjusted)} are adjusted, so that their shares are not those that were traded`
  throw new InvalidParameter(
    sentence`${parameter(param)} ${per_share}: ${are}; give the cost as ${parameter('costs_bps')} of the price, or load prices as they were traded.`,
    { param, value: per_share },
  )
}

function lookAt({ strategy, members }: Ready): Look {
  return lookOf(strategy, simulate(members, strategy, portfolioCalendar(members)))
}

/** A ruined strategy has no ratio. */
function lookOf(strategy: Strategy, { days, equity }: Pick<Simulation, 'days' | 'equity'>): Look {
  const returns = returnsOf({ equity, start: strategy.portfolio.capital })
  return { strategy, days, sharpe: equity.every(value => value > 0) ? sharpe(returns, 1) : null }
}

function benchmarksOf(
  { strategy, members }: Ready,
  other: MarketBars | null,
  part: number,
  judged: Judged,
): Benchmark[] {
  const { days, curve } = judged
  const held = buyAndHold(
    members.map(({ prices }) => prices),
    days,
    curve.barsAYear,
  )
  const own = [
    benchmarkOf('buy and hold', held, judged),
    benchmarkOf(SAME_EXPOSURE, heldInPart(held, part, strategy.portfolio.cash_rate), judged),
  ]
  return other === null ? own : [...own, benchmarkOf(other.ticker, heldAlone(other, days), judged)]
}

const SAME_EXPOSURE = 'same exposure'

function headOf(strategy: Strategy, days: Int32Array, asOf: number | null) {
  const { tickers, timeframe, seed } = strategy
  return {
    schema: 'bands.backtest/1' as const,
    strategy,
    tickers: [...tickers],
    timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(asOf),
    seed,
  }
}

/** What must be said of a context ticker that has ended, or begins later than the signals. */
async function contextWarnings(
  source: PricedSource,
  { entry, timeframe }: Pick<Strategy, 'entry' | 'timeframe'>,
  members: readonly Member[],
): Promise<string[]> {
  const { context } = entry
  if (context === null) return []
  const { days } = (await tickerBars(source, context.ticker, timeframe)).series
  const events = members.flatMap(({ bars, signals }) => [...daysAt(bars.days, signals.bars)])
  const { first } = rangeOf(members.map(({ bars, eligible }) => daysAt(bars.days, eligible)))
  const isLate = first !== null && first < (days[0] ?? 0)
  // Without bars of it on the first days, what the context has left out has to be looked for.
  return contextReach(
    context.ticker,
    days,
    events,
    isLate ? await unfiltered(source, eventsFilter({ entry, timeframe }), members) : events,
  )
}

async function unfiltered(source: PricedSource, entry: EventFilter, members: readonly Member[]): Promise<Day[]> {
  const all: Day[] = []
  const tickers = members.map(({ ticker }) => ticker)
  for await (const { prices, signals } of signalsOf(source, tickers, { ...entry, context: null }))
    all.push(...daysAt(prices.series.days, signals.bars))
  return all
}

/** The bands of each field, by its name. */
type Vocabularies = ReadonlyMap<string, readonly string[]>

/** One strategy that was looked at, with the Sharpe ratio a bar that it showed at a risk-free rate of 0. */
interface Look {
  strategy: Strategy
  days: Int32Array
  sharpe: number | null
}

/**
 * Notes the strategies of a run in the ledger and deflates the first one's Sharpe ratio by how many there were: N are all
 * distinct strategies of the run, or with family `ledger` all that the ledger knows; the variance is that of those among
 * them that have a ratio (Bailey & López de Prado, "The deflated Sharpe ratio", 2014). The variance is of ratios without a
 * risk-free rate, which would move all of them alike.
 */
async function deflated(
  looks: readonly Look[],
  sample: SharpeSample | null,
  trials: Trials | null,
  { family, vocabularies }: { family: NonNullable<RunOptions['family']>; vocabularies: Vocabularies },
): Promise<Backtest['trials']> {
  const own = looks.map(look => trialOf(look, vocabularies))
  const noted = [...new Map(own.map(trial => [trial.hash, trial])).values()]
  const ledger = trials === null ? null : (await trials.note('strategy', noted)).ofKind
  const known = family === 'ledger' && trials !== null ? await trials.of('strategy') : noted
  const ratios = known.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe]))
  const spread = variance(ratios)
  const told = { run: noted.length, ledger, family, n: known.length, variance: spread }
  const none = (reason: string) => ({ ...told, deflated_sharpe: null, reason })
  if (sample === null) return none('the strategy has no Sharpe ratio')
  if (spread === null) return none(tooFew(told))
  const value = deflatedSharpe({ ...sample, trials: known.length, variance: spread })
  return value === null
    ? none('the moments of the returns allow for none')
    : { ...told, deflated_sharpe: value, reason: null }
}

function tooFew({ family, n, ledger }: Pick<Backtest['trials'], 'family' | 'n' | 'ledger'>): string {
  const one = n === 1 ? 'one strategy alone has no variance' : `the ${n} strategies show fewer than two ratios`
  if (family === 'ledger' || ledger === null || ledger < 2) return `${one}, by which a Sharpe ratio is deflated`
  return `${one}; the ledger knows ${ledger}, and family "ledger" deflates by them`
}

/** A strategy as the ledger keeps it: those that cannot trade differently on the same data have the same hash. */
export function trialOf({ strategy, days, sharpe }: Look, vocabularies: Vocabularies = new Map()): Trial {
  const [first, last] = [days[0], days.at(-1)]
  const range = first === undefined || last === undefined ? null : [formatDay(first), formatDay(last)]
  const hash = createHash('sha256')
    .update(canonical({ kind: 'strategy', ...tradingRules(strategy, vocabularies), range }))
    .digest('hex')
  return {
    hash,
    spec: `${inWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`,
    p: null,
    test: null,
    sharpe,
  }
}

/** What the returns of a strategy stand on, written in one way. */
function tradingRules(strategy: Strategy, vocabularies: Vocabularies): Record<string, unknown> {
  const { entry, side, exit, overlap, costs, portfolio, seed } = strategy
  const { bps, slippage_bps, per_share, fixed, borrow } = costs
  const all = vocabularies.get(entry.field)
  const plain: Strategy = {
    ...strategy,
    entry: { ...entry, bands: chosen(entry.bands, all), prev_bands: chosen(entry.prev_bands, all) },
    // Without a hold there is nothing to extend.
    overlap: overlap === 'extend' && exit.hold === null ? 'skip' : overlap,
    costs: { bps: bps + slippage_bps, slippage_bps: 0, per_share, fixed, borrow: side === 'long' ? 0 : borrow },
    portfolio: { ...portfolio, capital: capitalMatters(strategy) ? portfolio.capital : 1 },
  }
  const { name: _, benchmark: __, risk_free: ___, seed: ____, ...rules } = plain
  // Trades stand on the seed only where it draws lots among signals.
  return portfolio.shuffle ? { ...rules, seed } : rules
}

/** null: any band. */
function chosen(bands: readonly string[] | null, all: readonly string[] | undefined): readonly string[] | null {
  return bands?.length === all?.length ? null : bands
}

/** Trades as they are told, in the order of their entries, those of one day by ticker. */
function toldTrades(strategy: Strategy, trades: readonly Lived[]): Trade[] {
  const day = ({ member, entryBar }: Taken): number => member.bars.days[entryBar]!
  const byTicker = (a: Taken, b: Taken): number =>
    a.member.ticker < b.member.ticker ? -1 : Number(a.member.ticker > b.member.ticker)
  return trades
    .toSorted(({ taken: a }, { taken: b }) => day(a) - day(b) || byTicker(a, b) || a.signal - b.signal)
    .map(trade => toldTrade(strategy, trade))
}

function toldSkipped({ skipped }: Simulation): Backtest['skipped'] {
  return skipped
    .map(({ member, signal, reason }) => ({
      ticker: member.ticker,
      date: formatDay(member.bars.days[signal]!),
      reason,
    }))
    .sort((a, b) => (a.date !== b.date ? (a.date < b.date ? -1 : 1) : a.ticker < b.ticker ? -1 : 1))
}

/** What became of each signal; all of them together are the total. */
function countsOf(simulation: Simulation, timeframe: Strategy['timeframe']): Backtest['signals'] {
  const { trades, skipped, extended, pending, purged } = simulation
  const open = trades.filter(({ left }) => left.why === 'open').length
  const reasons: Record<string, number> = {}
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1
  return {
    total: trades.length + skipped.length + extended + pending + purged,
    closed: trades.length - open,
    open,
    pending,
    skipped: Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => (a < b ? -1 : 1))),
    extended,
    late: trades.filter(trade => fillDelay(trade) > DAYS_TO_NEXT[timeframe] + LATE).length,
  }
}

/** Longer than any weekend with its holidays: the ticker was halted, or its bars have a gap. */
const LATE = 5

/** From the date of a bar on, beyond those of a weekend: a day is filled on the next one, a week is a week further on. */
const DAYS_TO_NEXT: Readonly<Record<Strategy['timeframe'], number>> = { daily: 0, weekly: 7 }

/** Calendar days from a signal to its fill. */
function fillDelay({ member, signal, entryBar }: Taken): number {
  return member.bars.days[entryBar]! - member.bars.days[signal]!
}

function toldTrade(strategy: Strategy, { taken, bars: held, mfe, mae }: Lived): Trade {
  const { member, index, signal, left, invested, gross, net } = taken
  const { bars, states, signals } = member
  return {
    ticker: member.ticker,
    side: strategy.side,
    signal_date: formatDay(bars.days[signal]!),
    band: states.bands[signals.entered[index]!]!,
    prev_band: states.bands[signals.left[index]!]!,
    context_band: signals.contextBands?.[index] ?? null,
    entry_date: formatDay(bars.days[taken.entryBar]!),
    entry_price: taken.entry,
    exit_date: formatDay(left.day),
    exit_price: left.price,
    exit: left.why,
    bars: held,
    shares: taken.shares,
    invested,
    gross,
    net,
    pnl: left.why === 'open' ? worthOf(strategy, taken, left.price, left.day) - invested : invested * net,
    mfe,
    mae,
  }
}

/** What a run assumes, line by line. */
function assumptionsOf(
  strategy: Strategy,
  members: readonly Member[],
  barsAYear: number,
  run: RunOptions,
  { draws }: Backtest['random_entry'],
  part: number,
): string[] {
  const { costs, portfolio, overlap, risk_free, seed } = strategy
  return [
    `fills: ${FILLS_IN_WORDS[strategy.fill]}; exits: ${exitsInWords(strategy)}`,
    'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
    `costs: ${costsInWords(costs, strategy.side)}; gross is before them, net after`,
    `positions: at most ${placesInWords(portfolio)} at the close before, never more than ` +
      `the cash, which earns ${percent(portfolio.cash_rate)} a year`,
    OVERLAPS[overlap],
    `prices: ${pricesOf(members)}`,
    `statistics: ${yearInWords(members, barsAYear)}, standard deviations with n - 1, risk-free rate ${percent(risk_free)} a year`,
    `reference: buy and hold of the same tickers, equal money in each${members.length > 1 ? ' (cash before its first bar)' : ''}, without costs; ${SAME_EXPOSURE}: ${percent(Number(part.toFixed(4)))} of the equity in it, the strategy's average, renewed at each close`,
    draws === 0 ? `null: no random entries; seed ${seed}` : `null: ${DRAWS}, ${draws} times; seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

const DRAWS =
  'the signals of all trades moved to other dates together, same exits and costs, each mean by its Newey-West error'

const OVERLAPS: Readonly<Record<Strategy['overlap'], string>> = {
  skip: 'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
  allow: 'overlap: every signal is a position of its own',
  extend: 'overlap: one position a ticker; signals while it is on restart its hold',
}

/** Of calendars that differ the number is made of the days themselves. */
function yearInWords(members: readonly Member[], barsAYear: number): string {
  if (members.every(({ prices }) => prices.barsAYear === barsAYear)) return `${barsAYear} bars a year`
  const kinds = [...new Set(members.map(({ prices }) => prices.barsAYear))].sort((a, b) => a - b)
  return `${barsAYear.toFixed(1)} bars a year (as many as there are; the tickers have ${kinds.join(' and ')})`
}

function pricesOf(members: readonly Member[]): string {
  const kinds = [...new Set(members.map(({ prices }) => prices.adjustment))].sort()
  return kinds.length === 1 ? kinds[0]! : `some ${kinds.join(', some ')}`
}
