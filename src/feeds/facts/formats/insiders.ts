import { assumedFiling, type InsiderTrade } from '../../../model/facts.js'
import { shown } from '../../value/shown.js'
import { FILED_LATER, WITHOUT_SHARES } from '../assumed.js'
import { factsFormat } from '../format.js'

const SIDES = new Map([
  ['purchase', 'buy'],
  ['sale', 'sell'],
] as const)

/** Transactions of insiders by kind, dated by the trade. */
export const INSIDER_TRADES = factsFormat({
  name: 'insider trades csv',
  told: ['transaction_date', 'filer', 'kind', 'shares'],
  reads: { transaction_date: 'date', filer: 'text', kind: 'text', shares: 'number', value: 'amount' },
  begin: out => ({
    row(row) {
      const { ticker, place } = row
      const traded = row.required('transaction_date')
      const kind = row.required('kind').toLowerCase()
      const side = SIDES.get(kind as 'purchase' | 'sale')
      const shares = row.optional('shares')
      const value = row.optional('value')
      if (side === undefined) {
        out.remark(`rows of kind ${shown(kind)} are no open-market trades and are not loaded`, place)
        return
      }
      if (shares === null || !(shares > 0)) {
        out.remark(WITHOUT_SHARES, place)
        return
      }
      const known = assumedFiling(traded)
      const trade: InsiderTrade = { known, session: null, insider: row.required('filer'), side, shares, value }
      out.add('insiders', ticker, trade)
      out.remark(FILED_LATER, place)
    },
  }),
})
