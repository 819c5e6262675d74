import { ConfigError, InvalidParameter } from '../errors.js'
import type { OptionSpec } from '../params/row.js'
import { webhookUrl } from '../remote/webhook.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { textOf } from './tickers.js'

/** An answer posted to a server of the user's own. */
export const WEBHOOK: readonly OptionSpec[] = [
  ['--webhook <URL>', 'post the answer there as JSON, signed: X-Bands-Signature', 'once', 'Webhook'],
  ['--webhook-secret-file <FILE>', 'what it is signed with; BANDS_WEBHOOK_SECRET unless given'],
  ['--allow-private', 'the webhook may be on this machine or in a private network'],
]

const SECRET = 'BANDS_WEBHOOK_SECRET'

/** Posts an answer; what there is to be said of it goes to stderr. */
export type Post = (document: object) => Promise<void>

/**
 * Where --webhook says that answers are posted; without it, nowhere. Throws InvalidParameter, ConfigError without a secret;
 * what it gives throws Upstream when an answer is not received.
 */
export async function webhookOf(context: Context, given: Given): Promise<Post> {
  const text = given.text('webhook')
  if (text === undefined) {
    refuseAlone(given)
    return async () => {}
  }
  const allowPrivate = given.flag('allow-private')
  const url = webhookUrl('webhook', text, { allowPrivate })
  const secret = await secretOf(context, given)
  const { timeout, retries } = context.config
  return async document => {
    const { post } = await import('../remote/webhook.js')
    const status = await post(document, { url, secret, allowPrivate, timeoutMs: timeout * 1000, retries })
    await context.remark(`posted to ${url.origin}, which answered ${status}.`)
  }
}

function refuseAlone(given: Given): void {
  const alone = ['webhook-secret-file', 'allow-private'].find(name => given.value(name) !== undefined)
  if (alone === undefined) return
  throw new InvalidParameter(`--${alone} is for --webhook URL, and none is given.`, {
    param: alone.replaceAll('-', '_'),
  })
}

async function secretOf(context: Context, given: Given): Promise<string> {
  const file = given.text('webhook-secret-file')
  const secret = file === undefined ? context.world.env[SECRET] : (await textOf(file)).trim()
  if (secret !== undefined && secret !== '') return secret
  throw new ConfigError(
    `a webhook is signed, and there is no secret: set ${SECRET}, or give --webhook-secret-file FILE.`,
  )
}
