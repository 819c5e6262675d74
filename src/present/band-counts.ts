import type { BandCount, BandCounts, FieldCounts } from '../local/band-counts.js'
import { type Column, column, type Described, tableOf } from './description.js'
import { count, share } from './numbers.js'

/** How often each band of some fields occurred; for machines a row a band. */
export function describeBandCounts(found: BandCounts): Described {
  const { timeframe, tickers, fields } = found
  return {
    document: found,
    columns: [
      ...['field', 'hash', 'timeframe', 'tickers', 'band', 'bars', 'share', 'events'],
      ...['by_ticker_least', 'by_ticker_median', 'by_ticker_most'],
    ],
    rows: fields.flatMap(({ field, hash, bands }) => bands.map(band => ({ field, hash, timeframe, tickers, ...band }))),
    paragraphs: fields.map(field => ({
      heading: [field.field, timeframe, count(tickers, 'ticker'), withoutBand(field)],
      parts: [{ table: tableOf(field.field, COLUMNS, field.bands) }],
    })),
  }
}

function withoutBand({ bars, undefined: none }: FieldCounts): string {
  return bars === 0 ? 'no bars' : `${share(none / bars)} of ${count(bars, 'bar')} without a band`
}

const COLUMNS: readonly Column<BandCount>[] = [
  column('band'),
  { title: 'Share', kind: 'share', of: ({ share }) => share },
  { title: '', kind: 'text', of: ({ share }) => '#'.repeat(Math.round((share ?? 0) * WIDEST)) || null },
  column('bars', 'count', { spare: 2 }),
  column('events', 'count', { spare: 1 }),
  {
    title: 'Least',
    kind: 'share',
    spare: 4,
    hint: 'share of the ticker that has fewest',
    of: row => row.by_ticker.least,
  },
  {
    title: 'Median',
    kind: 'share',
    spare: 3,
    hint: 'share of the ticker in the middle',
    of: row => row.by_ticker.median,
  },
  { title: 'Most', kind: 'share', spare: 4, hint: 'share of the ticker that has most', of: row => row.by_ticker.most },
]

/** Signs of a band that every bar has. */
const WIDEST = 30
