import type { Local } from '../local/local.js'
import { formatDay } from '../model/day.js'
import { count, whole } from '../present/numbers.js'
import type { Allowance, Credits, Remote } from '../remote/remote.js'
import type { Config } from './config.js'

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
