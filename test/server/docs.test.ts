import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { XMLValidator } from 'fast-xml-parser'
import { describe, expect, it } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { PLANS } from '../../src/core/tiers.js'
import { docsPage } from '../../src/server/http/docs.js'
import { isReference, type OpenApiDocument, openApi, resolveReference } from '../../src/server/http/openapi.js'
import { firstInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'

const DOCUMENT = openApi({ version: '1.2.3', errors: 'flat' })
const { html: PAGE, csp: CSP } = docsPage(DOCUMENT)

describe('the page', () => {
  it('names every path, parameter, status, header, schema, field and band', () => {
    const { paths, components } = DOCUMENT
    const errors = sectionOf(PAGE, 'errors')
    for (const [path, { get }] of Object.entries(paths)) {
      const section = sectionOf(PAGE, get.operationId)
      expect(section).toContain(`GET ${path}`)
      for (const parameter of get.parameters ?? [])
        expect(section).toContain(`<code>${resolveReference(DOCUMENT, parameter).name}</code>`)
      for (const [status, response] of Object.entries(get.responses)) {
        expect(section).toMatch(new RegExp(`<th scope="row">(<a href="#error-\\w+">)?${status}(</a>)?</th>`))
        for (const name of Object.keys(resolveReference(DOCUMENT, response).headers ?? {}))
          expect(isReference(response) ? errors : section).toContain(`<a href="#header-${name}">${name}</a>`)
      }
    }
    for (const name of Object.keys(components.headers)) expect(PAGE).toContain(`id="header-${name}"`)
    for (const name of Object.keys(components.schemas)) expect(PAGE).toContain(`id="schema-${name}"`)
    for (const { name, bands } of FIELDS) {
      expect(PAGE).toContain(`id="field-${name}"`)
      for (const band of bands) expect(PAGE).toContain(`<code>${band}</code>`)
    }
  })

  it('shows the features of each tier', () => {
    const section = textOf(sectionOf(PAGE, 'tiers'))
    for (const [tier, { range, credits }] of Object.entries(PLANS)) {
      expect(section).toMatch(
        new RegExp(
          `${tier} ${range} (yes|no) (yes|no) ${credits.day.toLocaleString('en-US')} ${credits.hour.toLocaleString('en-US')}`,
        ),
      )
    }
  })

  it('shows every error with an example of its body, in the shape that the server speaks', () => {
    for (const errors of ['flat', 'nested'] as const) {
      const document = openApi({ version: '1', errors })
      const text = textOf(sectionOf(docsPage(document).html, 'errors'))
      for (const { content = {} } of Object.values(document.components.responses)) {
        for (const { examples = {} } of Object.values(content)) {
          for (const { value } of Object.values(examples))
            expect(text).toContain(oneLine(JSON.stringify(value, null, 2)))
        }
      }
    }
  })
})

describe('the page as HTML', () => {
  it('has every tag closed in its place, every anchor once, and every link within the page an anchor', () => {
    const xml = PAGE.replace(/^<!doctype html>\n/, '')
    expect(XMLValidator.validate(xml, { unpairedTags: ['meta'] })).toBe(true)
    const ids = [...PAGE.matchAll(/ id="([^"]*)"/g)].map(match => match[1]!)
    expect(new Set(ids).size).toBe(ids.length)
    const links = [...PAGE.matchAll(/ href="([^"]*)"/g)].map(match => match[1]!)
    for (const link of links) expect(link === 'openapi.json' || ids.includes(link.slice(1)), link).toBe(true)
  })

  it('has one main heading, and none that skips a level', () => {
    const levels = [...PAGE.matchAll(/<h([1-6])/g)].map(match => Number(match[1]))
    expect(levels.filter(level => level === 1)).toHaveLength(1)
    for (const [i, level] of levels.entries()) expect(level - (levels[i - 1] ?? 0)).toBeLessThanOrEqual(1)
  })

  it('has tables with headings of columns and rows', () => {
    for (const [table] of PAGE.matchAll(/<table>.*?<\/table>/gs)) {
      expect(table).toContain('<th scope="col">')
      for (const [row] of table.matchAll(/<tr>(?!<th scope="col">).*?<\/tr>/gs))
        expect(row).toMatch(/^<tr><th scope="row">/)
    }
  })

  it('loads nothing and runs nothing', () => {
    const tags = PAGE.replace(/<style>.*?<\/style>/s, '').match(/<[^>]*>/g)!
    for (const tag of tags) {
      expect(tag).not.toMatch(/^<(script|link|img|iframe|object|embed|form|base|svg)/i)
      expect(tag).not.toMatch(/\s(src|srcset|style|on\w+|action|background)=/i)
      expect(tag).not.toMatch(/https?:/)
    }
    expect(styleOf(PAGE)).not.toMatch(/url\(|@import|expression|https?:/i)
  })

  it('may be kept to its own style by a policy that allows nothing else', () => {
    const hash = createHash('sha256').update(styleOf(PAGE)).digest('base64')
    expect(CSP.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
  })

  it('has a look for dark rooms, narrow screens and paper', () => {
    for (const rule of ['color-scheme: light dark', '@media screen and (max-width: 44rem)', '@media print'])
      expect(styleOf(PAGE)).toContain(rule)
    expect(PAGE).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">')
  })

  it('shows any text of the document as text', () => {
    const nasty = `</code></style><script>alert(1)</script><img src=x onerror=alert(1)> & "'\``
    const hostile = JSON.parse(JSON.stringify(DOCUMENT), (key, value: unknown) =>
      typeof value === 'string' && !['$ref', 'in', 'type', 'openapi', 'operationId'].includes(key)
        ? value + nasty
        : value,
    ) as OpenApiDocument
    const { html } = docsPage(hostile)
    expect(html).not.toMatch(/<script|<img/i)
    expect(XMLValidator.validate(html.replace(/^<!doctype html>\n/, ''), { unpairedTags: ['meta'] })).toBe(true)
    expect(html).toContain('&lt;script&gt;')
  })
})

const { server } = await serveFile()
const SHELL = ['curl', 'bash'].every(name => spawnSync(name, ['--version']).status === 0)

describe.skipIf(!SHELL)(`its examples for curl${SHELL ? '' : ' (here is no curl, or no bash)'}`, () => {
  it('are answered by a server, and keep the key out of the list of processes', async () => {
    const key = await server.key('pro')
    const document = openApi({ version: '1', errors: 'flat' })
    const sources = Object.values(document.paths).flatMap(({ get }) => get['x-codeSamples'] ?? [])
    expect(sources.length).toBeGreaterThan(3)
    const page = textOf(docsPage(document).html)
    for (const { source } of firstInQuick(sources)) {
      expect(page).toContain(source)
      // printf is part of the shell; curl is a process, and others see its arguments.
      expect(source.slice(source.indexOf('| curl'))).not.toContain('BANDS_API_KEY')
      const asked = source.replace('AAPL', 'SIM0001').replace('GSPC', 'SIM0002')
      expect(
        await run(`${asked} -s -o /dev/null -w '%{http_code}'`, { BANDS_URL: server.url, BANDS_API_KEY: key }),
      ).toBe('200')
    }
  })
})

/** Not in step with this process: the server that is asked lives in it. */
async function run(command: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: { ...process.env, ...env } })
  return stdout
}

function sectionOf(page: string, id: string): string {
  const start = page.indexOf(`<section id="${id}">`)
  expect(start, id).toBeGreaterThan(0)
  return page.slice(start, page.indexOf('</section>', start))
}

function styleOf(page: string): string {
  return /<style>(.*?)<\/style>/s.exec(page)![1]!
}

/** What a reader sees, on one line. */
function textOf(page: string): string {
  const text = page.replace(/<style>.*?<\/style>/s, '').replace(/<[^>]*>/g, ' ')
  const signs: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  return oneLine(text.replace(/&([\w#]+);/g, (_all, name: string) => signs[name]!))
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
