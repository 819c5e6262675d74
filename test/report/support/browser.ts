import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

/** How many pixels of each canvas are painted, and by how many colours. */
export const PAINTED = `[...document.querySelectorAll('canvas')].map(canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const colours = new Set()
  let painted = 0
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] === 0) continue
    painted++
    colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2])
  }
  return { figure: canvas.closest('figure').id, painted, colours: colours.size }
})`

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
