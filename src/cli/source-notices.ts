import type { Local } from '../local/local.js'
import { formatDay } from '../model/day.js'
import { count, whole } from '../present/numbers.js'
import type { PulledTicker } from '../remote/beside.js'
import type { Allowance, Credits, Remote } from '../remote/remote.js'
import type { Config } from './config.js'
import type { Block, Row } from './draw/table.js'

/** A ticker without bars among those that have some: what it lacks is unknown. */
export function pulledRow({ ticker, source, pulled_at, as_of, events }: PulledTicker): Row {
  const none = { asset_class: null, sector: null, facts: null, prices: null, bars: null, weekly_bars: null }
  const unknown = { ...none, first: null, behind: null, gaps: null }
  return { ...unknown, ticker, last: as_of, events, source, format: 'pulled', imported_at: pulled_at }
}

/** What servers told, apart from what was derived here; nothing where nothing was pulled. */
export function pulledBlocks(pulled: readonly PulledTicker[]): Block[] {
  if (pulled.length === 0) return []
  const unfinished = pulled.filter(ticker => ticker.unfinished > 0)
  return [
    {
      title: [`pulled from servers: ${count(pulled.length, 'ticker')}`],
      table: {
        columns: [
          { title: 'TICKER' },
          { title: 'SERIES', align: 'right', spare: 2 },
          { title: 'EVENTS', align: 'right', spare: 1 },
          { title: 'PULLED' },
          { title: 'AS OF' },
          { title: 'FROM', spare: 3 },
        ],
        rows: pulled.map(({ ticker, series, events, pulled_at, as_of, source }) => [
          ...[ticker, whole(series.length), whole(events)],
          ...[pulled_at.slice(0, 10), as_of ?? '-', source],
        ]),
      },
      notes: unfinished.map(
        ({ ticker, unfinished, series }) =>
          `${ticker}: ${whole(unfinished)} of ${whole(series.length)} series not pulled to the end; bands pull goes on`,
      ),
    },
  ]
}

/** Who answered, and what the account of the key may still ask; for a hint. */
export function remoteHint({ url, credits }: Remote, { profile }: Config): string {
  const who = `answered by ${url}${profile === undefined ? '' : ` (profile ${profile})`}`
  const left = creditsLeft(credits)
  return left === '' ? who : `${who}; ${left}`
}

/** `9,998 of 100,000 credits left today, 998 of 10,000 left this hour`; empty where nothing is told. */
export function creditsLeft(credits: Credits | null): string {
  return [allowanceWords(credits?.day, 'today'), allowanceWords(credits?.hour, 'this hour')]
    .filter(text => text !== '')
    .join(', ')
}

function allowanceWords(allowance: Allowance | null | undefined, when: 'today' | 'this hour'): string {
  if (allowance == null) return ''
  const credits = when === 'today' ? ' credits' : ''
  return `${whole(allowance.remaining)} of ${whole(allowance.limit)}${credits} left ${when}`
}

/** What the bundled sample holds, and how to have something else. */
export async function sampleNotice({ store }: Local): Promise<string> {
  const [tickers, newest] = [await store.tickers(), await store.newestDay()]
  const range = newest === null ? '' : ` to ${formatDay(newest)}`
  return `sample data, ${count(tickers.length, 'ticker')}${range}; load your own: bands import FILE.csv`
}
