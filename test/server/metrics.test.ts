import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Metrics } from '../../src/server/http/log.js'
import { ANY_CHARACTER } from '../support/random-queries.js'

const ROUTES = ['/v1/events', '/v1/scan/oversold', '/healthz']
const made = (): Metrics => new Metrics('1.2.3', ROUTES)

describe('counters', () => {
  it('is answers by route and status, with their durations', async () => {
    const metrics = made()
    metrics.countAnswer('/v1/events', 200, 0.003)
    metrics.countAnswer('/v1/events', 200, 0.2)
    metrics.countAnswer('/v1/events', 404, 0.0001)
    metrics.countAnswer('/healthz', 200, 60)
    const value = valuesIn(await metrics.text())
    expect(value('bands_http_requests_total{route="/v1/events",status="200"}')).toBe(2)
    expect(value('bands_http_requests_total{route="/v1/events",status="404"}')).toBe(1)
    expect(value('bands_http_requests_total{route="/healthz",status="200"}')).toBe(1)
    const seconds = 'bands_http_request_duration_seconds'
    expect(value(`${seconds}_count{route="/v1/events"}`)).toBe(3)
    expect(value(`${seconds}_sum{route="/v1/events"}`)).toBeCloseTo(0.2031, 10)
    expect(value(`${seconds}_bucket{le="0.005",route="/v1/events"}`)).toBe(2)
    expect(value(`${seconds}_bucket{le="10",route="/healthz"}`)).toBe(0)
  })

  it('is credits and refusals by tier, and answers that needed no search', async () => {
    const metrics = made()
    for (const [tier, credits] of [
      ['plus', 2],
      ['plus', 1],
      ['pro', 1],
    ] as const)
      metrics.credits.inc({ tier }, credits)
    metrics.limited.inc({ tier: 'free' })
    for (const how of ['cache', 'not_modified', 'not_modified']) metrics.reused.inc({ how })
    const value = valuesIn(await metrics.text())
    const byTier = (name: string): number[] => ['free', 'plus', 'pro'].map(tier => value(`${name}{tier="${tier}"}`))
    expect(byTier('bands_credits_charged_total')).toEqual([0, 3, 1])
    expect(byTier('bands_requests_limited_total')).toEqual([1, 0, 0])
    expect(value('bands_answers_reused_total{how="cache"}')).toBe(1)
    expect(value('bands_answers_reused_total{how="not_modified"}')).toBe(2)
  })

  it('is commits with the charges in each, and the version', async () => {
    const metrics = made()
    metrics.countCommit(1, 0.004)
    metrics.countCommit(40, 0.02)
    const value = valuesIn(await metrics.text())
    expect(value('bands_commit_charges_sum')).toBe(41)
    expect(value('bands_commit_charges_bucket{le="32"}')).toBe(1)
    expect(value('bands_commit_duration_seconds_count')).toBe(2)
    expect(value('bands_build_info{version="1.2.3"}')).toBe(1)
  })

  it('is connections while they are open', async () => {
    const metrics = made()
    const accepted: Socket[] = []
    const server = createServer(socket => accepted.push(socket))
    metrics.watch(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const open = async (): Promise<number> => valuesIn(await metrics.text())('bands_connections_open')
    const { port } = server.address() as AddressInfo
    expect(await open()).toBe(0)
    const callers = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    while (accepted.length < 2) await once(server, 'connection')
    expect(await open()).toBe(2)
    const [first, second] = accepted as [Socket, Socket]
    first.destroy()
    await once(first, 'close')
    expect(await open()).toBe(1)
    const gone = once(second, 'close')
    for (const caller of callers) caller.destroy()
    second.destroy()
    await gone
    expect(await open()).toBe(0)
    server.close()
  })
})

describe('labels', () => {
  it('are a closed set: all unknown paths share one label', async () => {
    const metrics = made()
    fc.assert(fc.property(fc.string({ unit: ANY_CHARACTER }), path => metrics.countAnswer(`/v1/${path}`, 404, 0)))
    for (const name of ['', '__proto__', 'constructor', 'toString']) metrics.countAnswer(name, 404, 0)
    const routes = (await metrics.text()).matchAll(/^bands_http_requests_total\{route="(.*)",status=/gm)
    expect([...routes].map(([, route]) => route)).toEqual(['unknown'])
  })

  it('never identify a caller', async () => {
    const metrics = made()
    metrics.countAnswer('/v1/events', 200, 0.1)
    metrics.credits.inc({ tier: 'free' }, 1)
    const labels = [...(await metrics.text()).matchAll(/^bands_\w+\{(.*)\}/gm)].flatMap(([, text]) => text!.split(','))
    const names = labels.map(label => label.replace(/=.*/, ''))
    expect([...new Set(names)].sort()).toEqual(['how', 'le', 'limit', 'route', 'status', 'tier', 'version'])
  })
})

it('has the metrics of the process, once for each server in it, without repetition', async () => {
  const one = made()
  const other = made()
  one.credits.inc({ tier: 'pro' }, 5)
  expect(one.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const [metrics, credits] of [
    [one, 5],
    [other, 0],
  ] as const) {
    const text = await metrics.text()
    const things = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
    expect(new Set(things).size).toBe(things.length)
    expect(valuesIn(text)('process_resident_memory_bytes')).toBeGreaterThan(0)
    expect(valuesIn(text)('bands_credits_charged_total{tier="pro"}')).toBe(credits)
  }
})

/** The one value of a series, by its name with its labels in their order. */
function valuesIn(text: string): (series: string) => number {
  return series => {
    const sorted = (name: string): string =>
      name.replace(/\{(.*)\}/, (_, labels: string) => labels.split(',').sort().join())
    const found = text.split('\n').filter(line => sorted(line.replace(/ \S+$/, '')) === sorted(series))
    expect(found, series).toHaveLength(1)
    return Number(found[0]!.split(' ').at(-1))
  }
}
