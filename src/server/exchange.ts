import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Used } from '../accounts/accounts.js'
import type { Tier } from '../model/tier.js'
import { isLoopback } from './loopback.js'

/** Whose key a request bears. */
export interface Caller {
  account: number
  /** Identity of the key. */
  key: string
  tier: Tier
}

/** Names and values in turn: node sends them faster than an object, which would have to be put together first. */
export type HeaderList = readonly string[]

/** What leaves the server. */
export interface Outgoing {
  status: number
  headers: HeaderList
  body: Buffer | string
}

/** One request, and what became known of it on the way to its answer. */
export class Exchange {
  readonly id: string
  readonly method: string
  readonly httpVersion: string
  /** From its path on, as it was sent, and its two parts. */
  readonly url: string
  readonly path: string
  readonly search: string
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, none merged or dropped. */
  readonly rawHeaders: readonly string[]
  readonly startedAt = performance.now()
  /** null until a valid key was seen */
  caller: Caller | null = null
  /** What the caller had used, and when; null until it was looked at. */
  credits: { used: Used; at: number } | null = null
  /** Credits that this answer cost. */
  charged = 0
  /** Go with the answer, whatever it is; none until a valid key was seen. */
  creditHeaders: HeaderList = []
  readonly #reply: FastifyReply

  constructor(request: FastifyRequest, reply: FastifyReply) {
    const { method = '', url: target = '', headers, rawHeaders, httpVersion } = request.raw
    // Proxies may name the whole URL.
    const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
    const mark = url.indexOf('?')
    this.id = request.id
    this.method = method
    this.url = url
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.search = mark < 0 ? '' : url.slice(mark + 1)
    this.headers = headers
    this.httpVersion = httpVersion
    this.rawHeaders = rawHeaders
    this.#reply = reply
  }

  /**
   * The caller has hung up: no answer can reach it. One that waits behind the answer to an earlier request of the same
   * connection is not told by node, so that its connection is asked as well.
   */
  get isGone(): boolean {
    const { raw, request } = this.#reply
    return raw.destroyed || request.raw.socket.destroyed
  }

  /** No request that this server answers has a body; one that comes all the same is not read. */
  get hasBody(): boolean {
    const length = this.headers['content-length']
    return (length !== undefined && !/^0+$/.test(length)) || this.headers['transfer-encoding'] !== undefined
  }

  /**
   * From this machine, and not handed on by a proxy on it: such a one names the host that it was asked for, or says in a
   * header for whom it asks. One that does neither looks like anyone here, and has to keep back what is not for all.
   */
  get isLocal(): boolean {
    const address = this.#reply.request.raw.socket.remoteAddress ?? ''
    const host = (this.headers.host ?? '').replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
    return isLoopback(address) && isLoopback(host) && !Object.keys(this.headers).some(name => OF_PROXIES.test(name))
  }
}

const OF_PROXIES =
  /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|x-envoy-.*|true-client-ip|cf-.*)$/
