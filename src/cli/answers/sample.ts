import type { Local } from '../../local/index.js'
import { formatDay } from '../../model/day.js'
import { count } from '../render/amounts.js'

/** What the bundled sample holds, and how to have something else. */
export async function sampleNotice({ cache: { store } }: Local): Promise<string> {
  const [tickers, newest] = [await store.tickers(), await store.newestDay()]
  const range = newest === null ? '' : ` to ${formatDay(newest)}`
  return `sample data, ${count(tickers.length, 'ticker')}${range}; load your own: bands import FILE.csv`
}
