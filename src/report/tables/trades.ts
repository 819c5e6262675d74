import type { Backtest, Trade } from '../../research/backtest/result.js'
import { count, decimal, gain, NONE, price, words } from '../format.js'
import { type Column, signTone } from './column.js'

export function tradeColumns({ trades }: Backtest): Column<Trade>[] {
  const context = trades.some(({ context_band }) => context_band !== null)
  return [
    { title: 'Signal', text: ({ signal_date }) => signal_date, order: ({ signal_date }) => signal_date },
    { title: 'Ticker', text: ({ ticker }) => ticker, order: ({ ticker }) => ticker },
    { title: 'Band', text: ({ prev_band, band }) => `${prev_band} → ${band}`, order: ({ band }) => band },
    ...(context ? [CONTEXT] : []),
    { title: 'In', text: ({ entry_date }) => entry_date, order: ({ entry_date }) => entry_date },
    {
      title: 'at',
      numeric: true,
      text: ({ entry_price }) => price(entry_price),
      order: ({ entry_price }) => entry_price,
    },
    { title: 'Out', text: ({ exit_date }) => exit_date, order: ({ exit_date }) => exit_date },
    { title: 'at', numeric: true, text: ({ exit_price }) => price(exit_price), order: ({ exit_price }) => exit_price },
    { title: 'Why', text: ({ exit }) => words(exit), order: ({ exit }) => exit },
    { title: 'Bars', numeric: true, text: ({ bars }) => count(bars), order: ({ bars }) => bars },
    { title: 'Gross', numeric: true, text: ({ gross }) => gain(gross), order: ({ gross }) => gross },
    {
      title: 'Net',
      numeric: true,
      text: ({ net }) => gain(net),
      order: ({ net }) => net,
      tone: ({ net }) => signTone(net),
    },
    {
      title: 'P&L',
      hint: 'Money, net',
      numeric: true,
      text: ({ pnl }) => decimal(pnl, pnl > -100 && pnl < 100 ? 4 : 0),
      order: ({ pnl }) => pnl,
    },
    { title: 'MFE', numeric: true, text: ({ mfe }) => gain(mfe), order: ({ mfe }) => mfe },
    { title: 'MAE', numeric: true, text: ({ mae }) => gain(mae), order: ({ mae }) => mae },
  ]
}

/** Newest entry first; of one date by ticker. */
export function tradeRows({ trades }: Backtest): Trade[] {
  return [...trades].sort((a, b) => {
    if (a.entry_date !== b.entry_date) return a.entry_date < b.entry_date ? 1 : -1
    return a.ticker < b.ticker ? -1 : 1
  })
}

const CONTEXT: Column<Trade> = {
  title: 'Context',
  text: ({ context_band }) => context_band ?? NONE,
  order: ({ context_band }) => context_band,
}
