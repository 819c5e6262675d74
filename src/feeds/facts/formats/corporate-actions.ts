import { shown } from '../../value/shown.js'
import { factsFormat } from '../format.js'
import { BadCell } from '../values.js'

/** Splits and dividends; `value` is new shares for each old one, or cash. */
export const CORPORATE_ACTIONS = factsFormat({
  name: 'corporate actions csv',
  told: ['ex_date', 'type', 'value'],
  reads: { ex_date: 'date', type: 'text', value: 'number' },
  begin: out => ({
    row(row) {
      const { ticker, place } = row
      const ex_date = row.required('ex_date')
      const type = row.required('type')
      const ratio = row.optional('value') ?? 0
      if (/^split$/i.test(type) && !(ratio > 0))
        throw new BadCell('value', 'value is not above 0, as the ratio of a split must be')
      if (/^split$/i.test(type)) out.add('splits', ticker, { ex_date, ratio })
      else if (/^dividend$/i.test(type)) out.remark('dividends are not used and not loaded', place)
      else throw new BadCell('type', `type ${shown(type)} is not split or dividend`)
    },
  }),
})
