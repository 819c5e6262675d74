// For: the page of bands in a browser of this machine.
// In: an open database, and requests of the page with JSON parameters.
// Out: the page, answers as JSON of the library's functions, and parts of pages as HTML.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  BandsError,
  ConfigError,
  type ErrorCode,
  NotFound,
  quoted,
  remedy,
  sentence,
  wrong,
} from '../../core/errors.js'
import { objectOf } from '../../core/params/arguments.js'
import { errorBody } from '../../server/wire/format.js'
import type { Answers } from './answers.js'
import { messagePage, type Page, uiPage } from './page.js'

export interface UiOptions {
  /** 0: any that is free. */
  port: number
  /** Reports a fault of the program, which the page only mentions. */
  onFault(error: unknown): void
}

export interface RunningUi {
  /** The address that opens the page, once. */
  url: string
  stop(): Promise<void>
}

/** Other machines never reach it. */
const LOOPBACK = '127.0.0.1'

/** Serves the page until it is stopped. Throws ConfigError for a port that cannot be used. */
export async function startUi(answers: Answers, { port, onFault }: UiOptions): Promise<RunningUi> {
  const session = new BrowserSession()
  const server = createServer((request, response) => {
    void replyTo(request, { answers, session }).then(
      reply => send(response, reply),
      error => send(response, errorReply(error, onFault)),
    )
  })
  session.port = await listen(server, port)
  return {
    url: `http://${LOOPBACK}:${session.port}/?token=${session.token}`,
    async stop() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      await answers.close()
    },
  }
}

/** Listens on a port of this machine, and returns it. Throws ConfigError, with a free port as the remedy. */
async function listen(server: Server, port: number): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ port, host: LOOPBACK, exclusive: true }, resolve)
    })
    return (server.address() as AddressInfo).port
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const free = remedy('ui', [], { port: '0' })
    const reason = code === 'EADDRINUSE' ? `port ${port} is in use` : `cannot listen on port ${port}: ${message}`
    throw new ConfigError(sentence`${reason}; ${free} takes a free one.`, { cause, remedy: free })
  }
}

/**
 * Lets in only the browser that opened the printed address. The token of the address works once, and gives the browser
 * a cookie for all further requests.
 */
class BrowserSession {
  readonly token = randomSecret()
  port = 0
  readonly #cookieValue = randomSecret()
  #isTokenUsed = false

  /** Whether a request names this machine as its host. A page elsewhere may lead here by a host name of its own. */
  isHost({ host }: IncomingMessage['headers']): boolean {
    return host === `${LOOPBACK}:${this.port}` || host === `localhost:${this.port}`
  }

  /** Whether a request comes from the page itself, by the headers of a browser. Programs send none, and pass. */
  isOwnPage({ host, origin, 'sec-fetch-site': site = 'same-origin' }: IncomingMessage['headers']): boolean {
    return site === 'same-origin' && (origin === undefined || origin === `http://${host}`)
  }

  hasSessionCookie({ cookie = '' }: IncomingMessage['headers']): boolean {
    const start = `${this.#cookieName}=`
    const sessionCookie = cookie.split(/; */).find(part => part.startsWith(start))
    if (sessionCookie === undefined) return false
    return isEqualInConstantTime(sessionCookie.slice(start.length), this.#cookieValue)
  }

  /** The header that sets the cookie, for the token of the address at its first use; otherwise null. */
  useToken(token: string): string | null {
    if (this.#isTokenUsed || !isEqualInConstantTime(token, this.token)) return null
    this.#isTokenUsed = true
    return `${this.#cookieName}=${this.#cookieValue}; HttpOnly; SameSite=Strict; Path=/`
  }

  /** Servers on other ports of this machine have cookies of their own. */
  get #cookieName(): string {
    return `bands_${this.port}`
  }
}

function randomSecret(): string {
  return randomBytes(24).toString('base64url')
}

function isEqualInConstantTime(text: string, secret: string): boolean {
  const a = Buffer.from(text)
  const b = Buffer.from(secret)
  return a.length === b.length && timingSafeEqual(a, b)
}

interface Reply {
  status: number
  headers?: Readonly<Record<string, string>>
  body: string
}

interface UiState {
  answers: Answers
  session: BrowserSession
}

/** The reply to a request. It throws BandsError for a refused question, for `errorReply`. */
async function replyTo(request: IncomingMessage, { answers, session }: UiState): Promise<Reply> {
  const { headers, method } = request
  if (!session.isHost(headers)) return messageReply(421, 'Open the page by the address that was printed.')
  const url = new URL(request.url ?? '/', `http://${LOOPBACK}`)
  if (method === 'GET' && url.pathname === '/') return startPageReply(url, headers, { answers, session })
  if (!session.hasSessionCookie(headers))
    return jsonReply(401, { error: 'unauthorized', message: 'open the page by the address that was printed.' })
  if (method === 'GET') return reportReply(url.pathname, answers)
  if (method !== 'POST') return { ...messageReply(405, 'The page asks by POST.'), headers: { allow: 'GET, POST' } }
  if (!session.isOwnPage(headers))
    return jsonReply(403, { error: 'unauthorized', message: 'only the page itself may ask.' })
  const params = await readBody(request)
  const [, kind, name = ''] = /^\/(api|draw|report|lists)\/(\w+)$/.exec(url.pathname) ?? []
  if (kind === 'api' && answers.hasQuestion(name)) return { ...JSON_REPLY, body: await answers.ask(name, params) }
  if (kind === 'draw' && name === 'tally') return { ...HTML_REPLY, body: await answers.drawTally(params) }
  if (kind === 'report' && answers.hasReport(name))
    return jsonReply(200, { page: `/report/${await answers.report(name, params)}` })
  if (kind === 'lists') {
    const answer = answers.runListsAction(name, params)
    if (answer !== null) return jsonReply(200, await answer)
  }
  if (url.pathname === '/stop') {
    await answers.stop()
    return jsonReply(200, {})
  }
  throw notFoundAt(url.pathname)
}

/** The reply with a report page. Its own content policy applies, and a sandbox keeps it from the page around it. */
function reportReply(path: string, answers: Answers): Reply {
  const body = answers.page(/^\/report\/(\d+)$/.exec(path)?.[1] ?? '')
  if (body === null) throw notFoundAt(path)
  const policy = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
  return { status: 200, headers: { ...HTML_REPLY.headers, 'content-security-policy': policy }, body }
}

/**
 * The reply to the address of the page. A browser with the cookie gets the page. An unused token gets a redirect that
 * sets the cookie and removes the token from the address. Any other request gets a message.
 */
async function startPageReply(
  url: URL,
  headers: IncomingMessage['headers'],
  { answers, session }: UiState,
): Promise<Reply> {
  const token = url.searchParams.get('token')
  const cookie = token === null ? null : session.useToken(token)
  if (cookie === null && !session.hasSessionCookie(headers)) {
    if (token === null) return messageReply(401, 'Open the page by the address that was printed in the terminal.')
    return messageReply(
      403,
      'This address was used before, and works once. End the command in the terminal, and start it again.',
    )
  }
  if (token === null) return pageReply(uiPage(await answers.pageStart()))
  url.searchParams.delete('token')
  const redirect: Record<string, string> = { location: `/${url.search}` }
  if (cookie !== null) redirect['set-cookie'] = cookie
  return { status: 303, headers: redirect, body: '' }
}

function notFoundAt(path: string): NotFound {
  return new NotFound(`there is nothing at ${quoted(path)}.`)
}

const MAX_BODY_CHARACTERS = 1_000_000

/** The body of a request, a JSON object. Throws InvalidParameter for another body, and for one that is too long. */
async function readBody(request: IncomingMessage): Promise<object> {
  const notJson = wrong('params', 'a question is a JSON object, sent as application/json.')
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw notJson
  let text = ''
  request.setEncoding('utf8')
  for await (const part of request) {
    text += part
    if (text.length > MAX_BODY_CHARACTERS)
      throw wrong('params', `a question has at most ${MAX_BODY_CHARACTERS} characters.`)
  }
  try {
    return objectOf('params', JSON.parse(text))
  } catch (error) {
    throw error instanceof BandsError ? error : notJson
  }
}

const STATUS_BY_CODE: Partial<Record<ErrorCode, number>> = {
  invalid_parameter: 400,
  not_found: 404,
  tier_restricted: 403,
  busy: 503,
}

/** The reply to an error: a BandsError as it is, any other as 500, which is also reported to `onFault`. */
function errorReply(error: unknown, onFault: UiOptions['onFault']): Reply {
  if (error instanceof BandsError) return jsonReply(STATUS_BY_CODE[error.code] ?? 500, errorBody(error, 'flat'))
  onFault(error)
  return jsonReply(500, { error: 'internal_error', message: 'bands failed here; the terminal shows more.' })
}

const JSON_REPLY = { status: 200, headers: { 'content-type': 'application/json' } }
const HTML_REPLY = { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } }

function jsonReply(status: number, body: unknown): Reply {
  return { ...JSON_REPLY, status, body: JSON.stringify(body) }
}

function messageReply(status: number, text: string): Reply {
  return { ...pageReply(messagePage(text)), status }
}

function pageReply({ html, policy }: Page): Reply {
  const headers = { ...HTML_REPLY.headers, 'content-security-policy': policy }
  return { status: 200, headers, body: html }
}

/** They keep the browser from storing a reply, from guessing its type, and from showing it within a page of others. */
const COMMON_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'SAMEORIGIN',
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers }).end(body)
}
