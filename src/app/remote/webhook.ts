import { createHmac, randomUUID } from 'node:crypto'
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import {
  ConfigError,
  InvalidParameter,
  parameter,
  sentence,
  typedLineWith,
  Upstream,
  wrong,
} from '../../core/errors.js'
import { DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS, webUrl } from './address.js'
import { failureOf } from './dispatcher.js'
import { backoff, Deadline, isTemporary, retryAfter, tryUntilFinal } from './patience.js'

/** Where a document is posted, and how often it is tried. */
export interface Webhook {
  /** With any secret in its path or query; messages show only its origin. */
  url: URL
  secret: string
  /** Allow addresses that are not public: this machine, or a private network. */
  allowPrivate: boolean
  timeoutMs?: number | undefined
  retries?: number | undefined
}

/** Parses a webhook's address, the value of `param`. Throws InvalidParameter if invalid, private or with a password. */
export function webhookUrl(param: string, text: string, { allowPrivate }: Pick<Webhook, 'allowPrivate'>): URL {
  const url = webUrl(text)
  const allowed = 'an address such as https://example.com/hook'
  // Invalid text may hold a secret, and is not repeated.
  if (url === null)
    throw wrong(param, sentence`${parameter(param)} is no address of a server; it is ${allowed}.`, { allowed })
  if (url.username !== '' || url.password !== '')
    throw wrong(param, sentence`${parameter(param)} has a user name or a password in it; leave it out.`, { allowed })
  if (!allowPrivate) refusePrivateAddress(url)
  return url
}

/**
 * Posts a document as JSON. `X-Bands-Signature: sha256=HEX` is the HMAC of `DELIVERY.TIME.BODY`, where DELIVERY and
 * TIME are the headers `X-Bands-Delivery` and `X-Bands-Time`. Retries as the remote client does: each attempt has the
 * same delivery and its own time. Returns the status, from 200 to 299. Throws InvalidParameter for an address that is
 * not public, unless that is allowed. Throws Upstream for any other answer, and for none; a redirect is not followed.
 */
export async function postToWebhook(
  document: unknown,
  { url, secret, allowPrivate, ...retryOptions }: Webhook,
): Promise<number> {
  if (secret === '') throw new ConfigError('the secret of the webhook is empty.')
  const { timeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES } = retryOptions
  const body = JSON.stringify(document)
  const delivery = randomUUID()
  // Addresses are checked when connecting, because a name may be looked up differently the next moment.
  const agent = new Agent({ connect: allowPrivate ? {} : { lookup: lookupPublic }, maxResponseSize: 2 ** 20 })
  const deadline = new Deadline(timeoutMs)
  try {
    const { outcome, attempts } = await tryUntilFinal(
      () => {
        const headers = signatureHeaders(secret, delivery, body)
        return tryToPost(url, { dispatcher: agent, method: 'POST', headers, body, signal: deadline.signal })
      },
      {
        maxAttempts: 1 + retries,
        deadline,
        sleep: (ms, signal) => pause(ms, undefined, { signal }),
        waitAfter({ canRetry, demandedMs }, attemptNumber) {
          if (!canRetry) return null
          return { ms: demandedMs ?? backoff(attemptNumber, Math.random), demanded: demandedMs !== null }
        },
      },
    )
    if ('status' in outcome && outcome.status >= 200 && outcome.status < 300) return outcome.status
    throw deliveryError(url, outcome, attempts)
  } finally {
    await agent.destroy()
  }
}

/** The headers of one attempt, signed with the present time. */
function signatureHeaders(secret: string, delivery: string, body: string): Record<string, string> {
  // Seconds since 1970.
  const time = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', secret).update(`${delivery}.${time}.${body}`).digest('hex')
  return {
    'content-type': 'application/json',
    'user-agent': 'bands',
    'x-bands-delivery': delivery,
    'x-bands-time': time,
    'x-bands-signature': `sha256=${signature}`,
  }
}

/** One attempt: whether another may help, the pause that the server demands in milliseconds, and its result. */
type Attempt = { canRetry: boolean; demandedMs: number | null } & ({ status: number } | { what: string })

/** Posts once. Throws InvalidParameter for an address that is not public. */
async function tryToPost(url: URL, options: Parameters<typeof request>[1]): Promise<Attempt> {
  try {
    const { statusCode: status, headers, body } = await request(url, options)
    await body.dump()
    const canRetry = isTemporary(status)
    return { status, canRetry, demandedMs: canRetry ? retryAfter(headers, null, Date.now()) : null }
  } catch (thrown) {
    // A name with several addresses fails with an error for each.
    const refusal = thrown instanceof AggregateError ? thrown.errors[0] : thrown
    if (refusal instanceof InvalidParameter) throw refusal
    return { ...failureOf(thrown), demandedMs: null }
  }
}

/** The error for a delivery that failed. @param outcome of the last attempt */
function deliveryError({ origin }: URL, outcome: Attempt, attempts: number): Upstream {
  const times = attempts === 1 ? '' : ` (tried ${attempts} times)`
  if (!('status' in outcome)) return new Upstream(`the webhook at ${origin} ${outcome.what}${times}.`, origin)
  const redirect = outcome.status >= 300 && outcome.status < 400 ? ', a redirect, which is not followed' : ''
  return new Upstream(`the webhook at ${origin} answered ${outcome.status}${redirect}${times}.`, origin, outcome.status)
}

/** Global unicast of IPv6 (RFC 4291). Every other IPv6 address is refused, as are special ranges in both families. */
const GLOBAL_UNICAST = blockList(['2000::/3'])

/** Special-purpose ranges (IANA registries, RFC 6890); of IPv6 only those within global unicast. */
const SPECIAL_RANGES = blockList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  // Documentation, relays of 6to4, benchmarks; multicast and reserved addresses.
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  '224.0.0.0/3',
  // Protocol assignments with Teredo, documentation, 6to4.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
])

/** A list of address ranges such as `10.0.0.0/8`. */
function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', prefixLength] = range.split('/')
    list.addSubnet(net, Number(prefixLength), familyOf(net))
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

function isPublic(address: string): boolean {
  const family = familyOf(address)
  return (family === 'ipv4' || GLOBAL_UNICAST.check(address, family)) && !SPECIAL_RANGES.check(address, family)
}

/** Throws InvalidParameter for a URL whose host is an IP address that is not public. */
function refusePrivateAddress({ hostname }: URL): void {
  const withoutBrackets = hostname.replace(/^\[|\]$/g, '')
  if (isIP(withoutBrackets) !== 0 && !isPublic(withoutBrackets)) throw privateAddressError(hostname)
}

function privateAddressError(host: string): InvalidParameter {
  const message = sentence`${host} is not a public address: it is on this machine, in a private network or in a reserved range; ${parameter('allow_private')} allows it.`
  return wrong('webhook', message, {}, { remedy: typedLineWith('screen', [], { allow_private: true }) })
}

/** Looks up the addresses of a host, as a socket needs it. Passes InvalidParameter on if one of them is not public. */
const lookupPublic: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, '', 0)
    if (!addresses.every(({ address }) => isPublic(address))) return done(privateAddressError(host), '', 0)
    if (options.all === true) return done(null, addresses)
    done(null, addresses[0]!.address, addresses[0]!.family)
  })
}
