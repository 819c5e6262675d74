import { factsFormat } from '../format.js'

/** Members of an index with their sectors. */
export const GICS_SECURITIES = factsFormat({
  name: 'GICS securities csv',
  told: ['gics_sector'],
  reads: { name: 'text', gics_sector: 'text' },
  begin: out => ({
    row(row) {
      const { ticker } = row
      const named = { name: row.optional('name'), sector: row.optional('gics_sector') }
      out.add('securities', ticker, { ...named, asset_class: null, market_cap: null })
    },
  }),
})

/** One day of many listings from a screener, of which only what has no date is taken. */
export const SCREENER_SNAPSHOT = factsFormat({
  name: 'screener snapshot csv',
  told: ['name', 'exchange', 'sector', 'analyst_rating', 'market_cap'],
  reads: { name: 'text', sector: 'text', market_cap: 'positive' },
  begin: out => ({
    row(row) {
      const { ticker, place } = row
      const named = { name: row.optional('name'), sector: row.optional('sector') }
      out.add('securities', ticker, { ...named, asset_class: null, market_cap: row.optional('market_cap') })
      if (named.sector !== null)
        out.remark('sectors are those of the screener, not GICS; they replace the sectors that were there', place)
    },
  }),
})
