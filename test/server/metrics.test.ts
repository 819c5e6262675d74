import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Metrics } from '../../src/server/log.js'

const ROUTES = ['/v1/events', '/v1/scan/oversold', '/healthz']
const made = (): Metrics => new Metrics({ version: '1.2.3', routes: ROUTES })

describe('what is counted', () => {
  it('is answers by route and status, with their durations', async () => {
    const metrics = made()
    metrics.answered('/v1/events', 200, 0.003)
    metrics.answered('/v1/events', 200, 0.2)
    metrics.answered('/v1/events', 404, 0.0001)
    metrics.answered('/healthz', 200, 60)
    const families = parsed(await metrics.text())
    const requests = (route: string, status: string): number =>
      numberOf(families, 'bands_http_requests_total', { route, status })
    expect([requests('/v1/events', '200'), requests('/v1/events', '404'), requests('/healthz', '200')]).toEqual([
      2, 1, 1,
    ])
    const seconds = 'bands_http_request_duration_seconds'
    expect(numberOf(families, `${seconds}_count`, { route: '/v1/events' })).toBe(3)
    expect(numberOf(families, `${seconds}_sum`, { route: '/v1/events' })).toBeCloseTo(0.2031, 10)
    expect(numberOf(families, `${seconds}_bucket`, { route: '/v1/events', le: '0.005' })).toBe(2)
    expect(numberOf(families, `${seconds}_bucket`, { route: '/healthz', le: '10' })).toBe(0)
  })

  it('is credits and refusals by tier, and answers that needed no search', async () => {
    const metrics = made()
    metrics.credits.inc({ tier: 'plus' }, 2)
    metrics.credits.inc({ tier: 'plus' }, 1)
    metrics.credits.inc({ tier: 'pro' }, 1)
    metrics.limited.inc({ tier: 'free' })
    metrics.reused.inc({ how: 'cache' })
    metrics.reused.inc({ how: 'not_modified' })
    metrics.reused.inc({ how: 'not_modified' })
    const families = parsed(await metrics.text())
    const byTier = (name: string): number[] => ['free', 'plus', 'pro'].map(tier => numberOf(families, name, { tier }))
    expect(byTier('bands_credits_charged_total')).toEqual([0, 3, 1])
    expect(byTier('bands_requests_limited_total')).toEqual([1, 0, 0])
    expect(numberOf(families, 'bands_answers_reused_total', { how: 'cache' })).toBe(1)
    expect(numberOf(families, 'bands_answers_reused_total', { how: 'not_modified' })).toBe(2)
  })

  it('is commits with the charges in each, and the version', async () => {
    const metrics = made()
    metrics.committed(1, 0.004)
    metrics.committed(40, 0.02)
    const families = parsed(await metrics.text())
    expect(numberOf(families, 'bands_commit_charges_sum')).toBe(41)
    expect(numberOf(families, 'bands_commit_charges_bucket', { le: '32' })).toBe(1)
    expect(numberOf(families, 'bands_commit_duration_seconds_count')).toBe(2)
    expect(numberOf(families, 'bands_build_info', { version: '1.2.3' })).toBe(1)
  })

  it('is connections while they are open', async () => {
    const metrics = made()
    const accepted: Socket[] = []
    const server = createServer(socket => accepted.push(socket))
    metrics.watch(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const open = async (): Promise<number> => numberOf(parsed(await metrics.text()), 'bands_connections_open')
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
  it('are a closed set: whatever path is tried, unknown ones are counted as one', async () => {
    const metrics = made()
    fc.assert(fc.property(fc.string({ unit: 'binary' }), path => metrics.answered(`/v1/${path}`, 404, 0)))
    for (const name of ['__proto__', 'constructor', 'toString']) metrics.answered(name, 404, 0)
    const routes = new Set(
      samplesOf(parsed(await metrics.text()), 'bands_http_requests_total').map(({ labels }) => labels.route),
    )
    expect([...routes].filter(route => !ROUTES.includes(route!))).toEqual(['unknown'])
  })

  it('tell nothing of who asked', async () => {
    const metrics = made()
    metrics.answered('/v1/events', 200, 0.1)
    metrics.credits.inc({ tier: 'free' }, 1)
    const families = parsed(await metrics.text()).filter(({ name }) => name.startsWith('bands_'))
    const names = families.flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.keys(labels)))
    expect([...new Set(names)].sort()).toEqual(['how', 'le', 'route', 'status', 'tier', 'version'])
  })
})

describe('the text', () => {
  it('is the exposition format, every line of it, with each family and each series once', async () => {
    const metrics = made()
    metrics.answered('/v1/events', 200, 0.003)
    const families = parsed(await metrics.text())
    const names = families.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { name, samples } of families) {
      const series = samples.map(({ name: own, labels }) => `${own} ${JSON.stringify(Object.entries(labels).sort())}`)
      expect(new Set(series).size, name).toBe(series.length)
    }
    expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  it('has histograms whose buckets add up', async () => {
    const metrics = made()
    for (let i = 0; i < 100; i++) metrics.committed(1 + (i % 30), i / 50)
    for (const { name, type, samples } of parsed(await metrics.text())) {
      if (type !== 'histogram' || !name.startsWith('bands_commit')) continue
      const buckets = samples.filter(sample => sample.name === `${name}_bucket`)
      const edges = buckets.map(({ labels }) => Number(labels.le!.replace('+Inf', 'Infinity')))
      const counts = buckets.map(({ value }) => value)
      expect(edges).toEqual([...edges].sort((a, b) => a - b))
      expect(counts).toEqual([...counts].sort((a, b) => a - b))
      expect(counts.at(-1)).toBe(samples.find(sample => sample.name === `${name}_count`)!.value)
    }
  })

  it('tells of the process as well, once for each of several servers in it', async () => {
    const [one, other] = [made(), made()]
    one.credits.inc({ tier: 'pro' }, 5)
    for (const [metrics, credits] of [
      [one, 5],
      [other, 0],
    ] as const) {
      const families = parsed(await metrics.text())
      expect(families.filter(({ name }) => name === 'process_resident_memory_bytes')).toHaveLength(1)
      expect(numberOf(families, 'process_resident_memory_bytes')).toBeGreaterThan(0)
      expect(numberOf(families, 'bands_credits_charged_total', { tier: 'pro' })).toBe(credits)
    }
  })
})

function samplesOf(families: readonly Family[], name: string): Family['samples'] {
  return families.find(family => family.name === name)!.samples
}

/* Prometheus' text format (0.0.4), read strictly: what is no line of it throws. */

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

interface Family {
  name: string
  type: string
  samples: Sample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const HELP = new RegExp(`^# HELP (${NAME}) (.*)$`)
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`)
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\S+)$`)
const NUMBER = /^(?:[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan)$/i

function parsed(text: string): Family[] {
  if (!text.endsWith('\n')) throw new Error('the text does not end with a line feed')
  const families: Family[] = []
  for (const line of text.split('\n')) {
    const type = TYPE.exec(line)
    if (line === '' || HELP.test(line)) continue
    if (type !== null) families.push({ name: type[1]!, type: type[2]!, samples: [] })
    else families.at(-1)!.samples.push(sampleOf(line, families.at(-1)!))
  }
  return families
}

/** The one sample of a name that has just these labels. */
function numberOf(families: readonly Family[], name: string, labels: Record<string, string> = {}): number {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter(sample => sample.name === name && same(sample.labels, labels))
  if (found.length !== 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`)
  return found[0]!.value
}

function sampleOf(line: string, { name: family, type }: Family): Sample {
  const match = SAMPLE.exec(line)
  if (match === null || !NUMBER.test(match[3]!)) throw new Error(`no line of the format: ${line}`)
  const [, name = '', labels = '', value = ''] = match
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!suffixes.some(suffix => name === family + suffix)) throw new Error(`${name} stands under ${family}`)
  const pairs = [...labels.matchAll(/([^=,]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text])
  const number = /inf/i.test(value)
    ? value.startsWith('-')
      ? -Infinity
      : Infinity
    : Number(value.replace(/nan/i, 'NaN'))
  return { name, labels: Object.fromEntries(pairs), value: number }
}

function same(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(name => a[name] === b[name])
}
