import type { Backtest } from '../../research/backtest/result.js'
import type { Answer } from '../output.js'
import { backtestBlocks } from '../render/backtest.js'
import type { BacktestStyle } from '../render/backtest-details.js'
import type { Row } from '../render/records.js'

/** A backtest: for machines a row a trade. */
export function backtestAnswer(found: Backtest, style: BacktestStyle): Answer {
  return {
    document: () => found,
    columns: TRADE,
    rows: () => tradeRows(found).rows,
    blocks: screen => backtestBlocks(found, screen, style),
  }
}

/** Trades, for a file too. */
export function tradeRows({ trades }: Backtest): { columns: readonly string[]; rows: Row[] } {
  return { columns: TRADE, rows: trades.map((trade): Row => ({ ...trade })) }
}

/** The equity curve, a row a bar. */
export function equityRows({ equity }: Backtest): { columns: readonly string[]; rows: Row[] } {
  return { columns: EQUITY, rows: equity.map((point): Row => ({ ...point })) }
}

const TRADE = [
  ...['ticker', 'side', 'signal_date', 'band', 'prev_band', 'context_band'],
  ...['entry_date', 'entry_price', 'exit_date', 'exit_price', 'exit', 'bars'],
  ...['shares', 'invested', 'gross', 'net', 'pnl', 'mfe', 'mae'],
]

const EQUITY = ['date', 'equity', 'gross', 'positions', 'drawdown']
