import { createHmac, randomUUID } from 'node:crypto'
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { ConfigError, InvalidParameter, parameter, sentence, Upstream, wrong } from '../errors.js'
import { DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS, webUrl } from './address.js'
import { failureOf } from './dispatcher.js'
import { askedWait, backoff } from './transport.js'

/** Where an answer is posted, and how patiently. */
export interface Webhook {
  /** Whole, with whatever secret its path or its query has; only its origin is ever told. */
  url: URL
  /** What the signature is made with. */
  secret: string
  /** It may be this machine, or lie in a network of one's own. */
  allowPrivate: boolean
  timeoutMs?: number | undefined
  retries?: number | undefined
}

/** The address of a webhook. Throws InvalidParameter for one that is none, or that carries a password. */
export function webhookUrl(param: string, text: string, { allowPrivate }: Pick<Webhook, 'allowPrivate'>): URL {
  const url = webUrl(text)
  const allowed = 'an address such as https://example.com/hook'
  // What is no address may hold a secret, and is not repeated.
  if (url === null)
    throw wrong(param, sentence`${parameter(param)} is no address of a server; it is ${allowed}.`, { allowed })
  if (url.username !== '' || url.password !== '')
    throw wrong(param, sentence`${parameter(param)} has a user name or a password in it; leave it out.`, { allowed })
  if (!allowPrivate) checkNumber(url)
  return url
}

/**
 * Posts a document as JSON, signed over its bytes: `X-Bands-Signature: sha256=HEX`. Tries again as the remote client does,
 * under the same `X-Bands-Delivery`. The answer: its status, from 200 to 299. Throws InvalidParameter for an address in a
 * private network that was not allowed, Upstream for any other answer, and for none; a redirect is not followed.
 */
export async function post(document: unknown, { url, secret, allowPrivate, ...ways }: Webhook): Promise<number> {
  if (secret === '') throw new ConfigError('the secret of the webhook is empty.')
  const { timeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES } = ways
  const body = JSON.stringify(document)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'bands',
    'x-bands-delivery': randomUUID(),
    'x-bands-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
  // Addresses are judged where they are connected to: a name may be looked up differently the next moment.
  const agent = new Agent({ connect: allowPrivate ? {} : { lookup: lookupPublic }, maxResponseSize: 2 ** 20 })
  const signal = AbortSignal.timeout(timeoutMs)
  const deadline = performance.now() + timeoutMs
  try {
    for (let attempt = 1; ; attempt++) {
      const tried = await attemptAt(url, { dispatcher: agent, method: 'POST', headers, body, signal })
      if ('status' in tried && tried.status >= 200 && tried.status < 300) return tried.status
      const wait = tried.wait ?? backoff(attempt, Math.random)
      // Who asks for a longer wait than there is time for is not asked again before, and nobody waits in vain.
      if (!tried.again || attempt > retries || performance.now() + wait > deadline) throw refused(url, tried, attempt)
      await pause(wait, undefined, { signal }).catch(() => {})
      if (signal.aborted) throw refused(url, tried, attempt)
    }
  } finally {
    await agent.destroy()
  }
}

type Tried = { again: boolean; wait: number | null } & ({ status: number } | { what: string })

async function attemptAt(url: URL, options: Parameters<typeof request>[1]): Promise<Tried> {
  try {
    const { statusCode: status, headers, body } = await request(url, options)
    await body.dump()
    const again = status === 429 || (status >= 500 && status !== 501)
    return { status, again, wait: again ? askedWait(headers, null, Date.now()) : null }
  } catch (thrown) {
    const refusal = thrown instanceof AggregateError ? thrown.errors[0] : thrown
    if (refusal instanceof InvalidParameter) throw refusal
    return { ...failureOf(thrown), wait: null }
  }
}

function refused({ origin }: URL, tried: Tried, attempts: number): Upstream {
  const times = attempts === 1 ? '' : ` (tried ${attempts} times)`
  if (!('status' in tried)) return new Upstream(`the webhook at ${origin} ${tried.what}${times}.`, origin)
  const redirect = tried.status >= 300 && tried.status < 400 ? ', a redirect, which is not followed' : ''
  return new Upstream(`the webhook at ${origin} answered ${tried.status}${redirect}${times}.`, origin, tried.status)
}

/** Of this machine, of networks of one's own, of links, and what is no single machine's address (RFC 6890). */
const PRIVATE = new BlockList()
const RANGES = {
  ipv4: [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ],
  ipv6: ['::/127', '64:ff9b::/96', '100::/64', '2001:db8::/32', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
} as const
for (const family of ['ipv4', 'ipv6'] as const)
  for (const range of RANGES[family]) {
    const [net, bits] = range.split('/')
    PRIVATE.addSubnet(net!, Number(bits), family)
  }

function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function checkNumber({ hostname }: URL): void {
  const number = hostname.replace(/^\[|\]$/g, '')
  if (isIP(number) !== 0 && isPrivate(number)) throw notAllowed(hostname)
}

function notAllowed(host: string): InvalidParameter {
  const message = sentence`${host} is this machine, or lies in a private network; ${parameter('allow_private')} allows that.`
  return wrong('webhook', message)
}

const lookupPublic: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, '', 0)
    // One that is not public is enough: nobody has a reason to mix them.
    if (found.some(({ address }) => isPrivate(address))) return done(notAllowed(host), '', 0)
    if (options.all === true) return done(null, found)
    done(null, found[0]!.address, found[0]!.family)
  })
}
