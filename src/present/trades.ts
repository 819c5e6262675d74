import type { Backtest, Trade } from '../backtest/result.js'
import { tradeHistogram } from './charts.js'
import { type Column, plain, reasonsPart, type Section, type Table, tableOf } from './description.js'
import { ratio, returnText, UNKNOWN, whole, words } from './numbers.js'

/** What each trade brought. */
export function tradesSection(found: Backtest): Section {
  const { trades, trade_statistics: of } = found
  return {
    id: 'trades',
    title: 'Net return a trade',
    short: 'Trades',
    on: 'wide',
    parts: [
      { chart: tradeHistogram(trades) },
      {
        on: 'page',
        facts: [
          ['Deviation (n − 1)', returnText(of.deviation).replace('+', '')],
          ['Profit factor (gains / losses)', ratio(of.profit_factor)],
          ['Expectancy, a trade', returnText(of.expectancy)],
          ['SQN (√n · mean / deviation)', ratio(of.sqn)],
          ['Longest losing run, trades', of.longest_losing_run === null ? UNKNOWN : whole(of.longest_losing_run)],
          ['Average length, bars', ratio(of.average_bars, 1)],
        ],
      },
      ...reasonsPart([{ where: 'trades', reasons: of.reasons }]).map(part => ({ ...part, on: 'page' as const })),
      {
        on: 'page',
        table: tradesTable(found),
      },
    ],
  }
}

/** Each trade of a backtest. */
export function tradesTable({ trades }: Backtest): Table {
  // Newest entry first; of one date by ticker.
  const rows = [...trades].sort((a, b) =>
    a.entry_date === b.entry_date ? (a.ticker < b.ticker ? -1 : 1) : a.entry_date < b.entry_date ? 1 : -1,
  )
  return tableOf('Trades, newest first', tradeColumns(trades), rows, {
    sorted: { cut: 'the newest' },
    empty: 'There was no trade.',
  })
}

function tradeColumns(trades: readonly Trade[]): Column<Trade>[] {
  const context = trades.some(({ context_band }) => context_band !== null)
  return [
    { title: 'Signal', kind: 'date', of: ({ signal_date }) => signal_date },
    { title: 'Ticker', kind: 'text', of: ({ ticker }) => ticker },
    { title: 'Band', kind: 'text', of: ({ prev_band, band }) => `${prev_band} → ${band}` },
    ...(context ? [{ title: 'Context', kind: 'text' as const, of: ({ context_band }: Trade) => context_band }] : []),
    { title: 'In', kind: 'date', of: ({ entry_date }) => entry_date },
    { title: 'at', kind: 'price', of: ({ entry_price }) => entry_price },
    { title: 'Out', kind: 'date', of: ({ exit_date }) => exit_date },
    { title: 'at', kind: 'price', of: ({ exit_price }) => exit_price },
    { title: 'Why', kind: 'text', of: ({ exit }) => words(exit) },
    { title: 'Bars', kind: 'count', of: ({ bars }) => bars },
    { title: 'Gross', kind: 'return', of: ({ gross }) => gross, tone: plain },
    { title: 'Net', kind: 'return', of: ({ net }) => net },
    { title: 'P&L', kind: 'money', hint: 'Money, net', of: ({ pnl }) => pnl },
    { title: 'MFE', kind: 'return', hint: 'Greatest gain on the way', of: ({ mfe }) => mfe, tone: plain },
    { title: 'MAE', kind: 'return', hint: 'Greatest loss on the way', of: ({ mae }) => mae, tone: plain },
  ]
}

/** A signal and what became of it. */
interface Outcome {
  date: string
  ticker: string
  trade: Trade | null
  why: string
}

const SIGNALS: readonly Column<Outcome>[] = [
  { title: 'Signal', kind: 'date', of: ({ date }) => date },
  { title: 'Ticker', kind: 'text', of: ({ ticker }) => ticker },
  { title: 'Entry', kind: 'date', spare: 2, of: ({ trade }) => trade?.entry_date ?? '' },
  { title: 'At', kind: 'price', spare: 1, of: ({ trade }) => trade?.entry_price ?? '' },
  { title: 'Exit', kind: 'date', spare: 3, of: ({ trade }) => trade?.exit_date ?? '' },
  { title: 'At', kind: 'price', spare: 1, of: ({ trade }) => trade?.exit_price ?? '' },
  { title: 'Bars', kind: 'count', spare: 4, of: ({ trade }) => trade?.bars ?? '' },
  { title: 'Net', kind: 'return', of: ({ trade }) => trade?.net ?? '' },
  { title: 'Why', kind: 'text', of: ({ why }) => why },
]

/** What became of each signal, in the order of their days. */
export function signalsSection({ trades, skipped }: Backtest): Section {
  const rows = [
    ...trades.map((trade): Outcome => ({ date: trade.signal_date, ticker: trade.ticker, trade, why: trade.exit })),
    ...skipped.map(({ date, ticker, reason }): Outcome => {
      return { date, ticker, trade: null, why: `skipped: ${words(reason)}` }
    }),
  ]
  rows.sort((a, b) => (a.date === b.date ? (a.ticker < b.ticker ? -1 : 1) : a.date < b.date ? -1 : 1))
  const title = 'What became of each signal'
  const empty = 'There was no signal.'
  return {
    id: 'signals',
    title,
    short: 'Signals',
    on: 'explain',
    parts: [{ table: tableOf(title, SIGNALS, rows, { whole: 'json', empty }) }],
  }
}
