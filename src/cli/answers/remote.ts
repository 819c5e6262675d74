import type { Allowance, Credits, Remote } from '../../remote/index.js'
import type { Config } from '../config.js'
import { whole } from '../render/amounts.js'

/** Who answered, and what the account of the key may still ask; for a hint. */
export function remoteHint({ url, credits }: Remote, { profile }: Config): string {
  const who = `answered by ${url}${profile === undefined ? '' : ` (profile ${profile})`}`
  const left = creditsLeft(credits)
  return left === '' ? who : `${who}; ${left}`
}

/** `9,998 of 100,000 credits left today, 998 of 10,000 left this hour`; empty where nothing is told. */
export function creditsLeft(credits: Credits | null): string {
  return [told(credits?.day, 'today'), told(credits?.hour, 'this hour')].filter(text => text !== '').join(', ')
}

function told(allowance: Allowance | null | undefined, when: 'today' | 'this hour'): string {
  if (allowance == null) return ''
  const credits = when === 'today' ? ' credits' : ''
  return `${whole(allowance.remaining)} of ${whole(allowance.limit)}${credits} left ${when}`
}
