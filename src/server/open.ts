import { Unavailable } from '../errors.js'
import type { Service } from './authorized.js'
import { type Exchange, type HeaderList, JSON_TYPE, json, type Outgoing } from './exchange.js'
import type { Metrics } from './log.js'
import type { Settings } from './options.js'
import type { Handler, Reception } from './requests.js'

/** A path that is answered without a key. */
export interface OpenPath {
  answer: Handler
  /** For others it is as if it were not there. */
  isFor(exchange: Exchange): boolean
  /** Also while the server ends. */
  always: boolean
}

export const OPEN_PATHS = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'] as const

interface OpenTo {
  service: Service
  settings: Settings
  metrics: Metrics
  reception: Reception
}

export function openPaths({ service, settings, metrics, reception }: OpenTo): ReadonlyMap<string, OpenPath> {
  const documents = documentsOf(settings)
  const handlers: Record<(typeof OPEN_PATHS)[number], Handler> = {
    '/healthz': () => json(200, { status: 'ok' }),
    '/readyz': async () => {
      if (reception.isClosing) throw new Unavailable('The server is shutting down.')
      await service.check()
      return json(200, { status: 'ready' })
    },
    '/metrics': async () => text(await metrics.text(), metrics.contentType),
    '/openapi.json': async () => (await documents()).openapi,
    '/docs': async () => (await documents()).docs,
  }
  const isForAll = (): boolean => true
  const isForLocal = ({ isLocal }: Exchange): boolean => isLocal || settings.metrics === 'any'
  return new Map(
    OPEN_PATHS.map(path => {
      const isFor = path === '/metrics' ? isForLocal : isForAll
      return [path, { answer: handlers[path], isFor, always: path === '/healthz' }]
    }),
  )
}

/** Made when first asked for: most servers are never asked, and what makes them is slow to load. */
function documentsOf({ version, errors }: Settings): () => Promise<{ openapi: Outgoing; docs: Outgoing }> {
  const make = async () => {
    const [{ openApi }, { docsPage }] = await Promise.all([import('./openapi.js'), import('./docs.js')])
    const document = openApi({ version, errors })
    const { html, csp } = docsPage(document)
    const docs = text(html, 'text/html; charset=utf-8', ['Content-Security-Policy', csp])
    return { openapi: text(JSON.stringify(document), JSON_TYPE), docs }
  }
  let made: ReturnType<typeof make> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function text(body: string, type: string, more: HeaderList = []): Outgoing {
  return { status: 200, headers: ['Content-Type', type, 'Cache-Control', 'no-cache', ...more], body }
}
