import type { MarketBars } from '../market.js'

const EVERY_DAY = 365

/** Whether returns lack dividends; crypto pays none, and what trades at weekends is taken for crypto where nobody told. */
export function lacksDividends({
  adjustment,
  assetClass,
  barsAYear,
}: Pick<MarketBars, 'adjustment' | 'assetClass' | 'barsAYear'>): boolean {
  return adjustment === 'raw' && assetClass !== 'crypto' && !(assetClass === null && barsAYear === EVERY_DAY)
}
