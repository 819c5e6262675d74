import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** A Chromium of this machine, or null where there is none. */
export const CHROMIUM: string | null = found()

/** Where the tests must run in a browser, its absence is a failure and no reason to skip them. */
export const REQUIRED = process.env.BANDS_BROWSER === 'required'

/** Why the tests in a browser are skipped, for the name of the suite. */
export const LACKING = CHROMIUM === null ? ' (here is no Chromium; CHROMIUM names one)' : ''

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** By how many pixels the page is wider than its window. */
export const TOO_WIDE = 'document.documentElement.scrollWidth - innerWidth'

/** Each rule of accessibility that the page breaks, as axe names it, with the first element that does. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`,
  )
}

/** Pages opened from files in one browser with a profile of its own. */
export class Pages {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bands-report-'))
  readonly #browser: Browser
  #made = 0

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async begin(): Promise<Pages> {
    if (CHROMIUM === null) throw new Error('there is no Chromium here; CHROMIUM names one')
    const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']
    const args = ['--no-sandbox', '--disable-gpu', ...quiet]
    return new Pages(await chromium.launch({ executablePath: CHROMIUM, headless: true, args }))
  }

  /** Opens a document from a file of its own, and keeps what it says and asks for. */
  async open(html: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const file = join(this.#folder, `${++this.#made}.html`)
    writeFileSync(file, html)
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
    const page = await context.newPage()
    const opened: Opened = { page, said: [], asked: [], close: () => context.close() }
    page.on('console', message => opened.said.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', error => opened.said.push(`error: ${error.message}`))
    page.on('request', request => opened.asked.push(request.url().slice(0, 200)))
    await page.goto(pathToFileURL(file).href)
    opened.asked = opened.asked.filter(address => address !== pathToFileURL(file).href)
    return opened
  }

  async end(): Promise<void> {
    await this.#browser.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export interface Opened {
  page: Page
  /** Everything on the console, and what was thrown. */
  said: string[]
  /** Every address that was asked for but its own. */
  asked: string[]
  close(): Promise<void>
}

/**
 * How many pixels of each drawing stand out from the page behind it, and in how many colours: as it is seen.
 * @param figures which drawings, all of them unless it is said
 */
export async function paintedOf(page: Page, figures = 'figure.chart'): Promise<Painted[]> {
  const eye = await page.context().browser()!.newPage()
  // A drawing in a fold is seen once the fold is open.
  await page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
  const found: Painted[] = []
  for (const figure of await page.locator(`${figures}:has(svg.drawing)`).all()) {
    const picture = await figure.locator('svg.drawing').screenshot()
    const seen = await eye.evaluate(
      `(async () => {
        const picture = await createImageBitmap(await (await fetch('data:image/png;base64,${picture.toString('base64')}')).blob())
        const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d')
        context.drawImage(picture, 0, 0)
        const { data } = context.getImageData(0, 0, picture.width, picture.height)
        const colours = new Map()
        for (let i = 0; i < data.length; i += 4) {
          const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2]
          colours.set(colour, (colours.get(colour) ?? 0) + 1)
        }
        return { painted: data.length / 4 - Math.max(...colours.values()), colours: colours.size }
      })()`,
    )
    found.push({ figure: (await figure.getAttribute('id'))!, ...(seen as Omit<Painted, 'figure'>) })
  }
  await eye.close()
  return found
}

export interface Painted {
  figure: string
  painted: number
  colours: number
}

function found(): string | null {
  const named = process.env.CHROMIUM
  if (named) return named
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin']
  const places = names.flatMap(name => folders.filter(Boolean).map(folder => join(folder, name)))
  return places.find(place => existsSync(place)) ?? null
}
