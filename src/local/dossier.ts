import { type FactSheets, factsOf, securityOf } from '../model/fact-sheet.js'
import type { Facts, Security } from '../model/facts.js'

/**
 * The facts that fields may stand on: null where there are none, and for crypto and funds, which have no fundamentals
 * whatever is loaded. A ticker without an asset class counts as a stock when it has facts.
 */
export function countedFacts(sheets: FactSheets): Facts | null {
  if (!isStock(securityOf(sheets))) return null
  const facts = factsOf(sheets)
  return Object.values(facts).some(records => records.length > 0) ? facts : null
}

/** Why no fundamental field can have data for a ticker. */
export function lackOf(field: string, ticker: string, sheets: FactSheets): string {
  const assetClass = securityOf(sheets)?.asset_class ?? 'stock'
  if (assetClass !== 'stock') return `${field} is a field of stocks, and ${ticker} is of class ${assetClass}`
  return `${field} stands on dated facts, and none are loaded for ${ticker}; bands import-facts FILE loads them`
}

function isStock(security: Security | null): boolean {
  return security?.asset_class == null || security.asset_class === 'stock'
}

/** The sector as tickers are compared by it: case and outer blanks aside; null where it is unknown or does not count. */
export function sectorKey(security: Security | null | undefined): string | null {
  if (security?.sector == null || !isStock(security)) return null
  return security.sector.trim().toLowerCase()
}
