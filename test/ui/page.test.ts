import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { importBundledBars, scratch, typed } from '../cli/support/run.js'
import { CHROMIUM, LACKING, REQUIRED } from '../report/support/browser.js'
import { FULL, notInQuick } from '../support/full.js'
import { type Served, servedUi } from './support/ui.js'

/** The page of `bands ui` in a browser. */

const folder = scratch()
const db = folder.file('bands.db')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const UNIVERSE = fileURLToPath(new URL('../../../shared/data/prices/universe.csv.gz', import.meta.url))

/** Why the large question is left out, for its name. */
const LEFT = ' (left out: ../shared is not there)'

describe.skipIf(CHROMIUM === null && !REQUIRED)(`the page in a browser${LACKING}`, () => {
  let browser: Browser
  let ui: Served
  let page: Page
  /** Everything on the console, and every address elsewhere that was asked for. */
  const said: string[] = []

  beforeAll(async () => {
    await importBundledBars(db)
    await typed(`conditions add dip "rsi_zone in (oversold, deep_oversold)" --db ${db}`)
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox', '--disable-gpu'] })
  })
  afterEach(async () => {
    await page.context().close()
    await ui.stop()
    expect(said.splice(0)).toEqual([])
    expect(ui.faults).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    folder.remove()
  })

  /** A page as it is opened from the printed address. */
  async function open(search = '', options: BrowserContextOptions = {}, data = db): Promise<void> {
    ui = await servedUi(data)
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
    page = await context.newPage()
    page.on('console', message => {
      // Refusals are answers, which a browser reports as failed requests.
      if (!/status of 40[04]/.test(message.text())) said.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', error => said.push(error.message))
    page.on('request', request => {
      if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) said.push(request.url())
    })
    await page.goto(ui.url + search)
    await settled()
  }

  /** Waits until nothing is asked for any more. */
  async function settled(): Promise<void> {
    await page.locator('html[data-answers=all] h2').waitFor()
  }

  async function settledForm(): Promise<void> {
    await page.locator('html[data-answers=all] .question').waitFor()
  }

  const subject = () => page.locator('h2').textContent()
  const rows = (name = '') => page.locator('#list .row', { hasText: name })
  const days = () => page.locator('.price .tools output').textContent()
  const axe = async () => {
    const cdp = await page.context().newCDPSession(page)
    // The content policy keeps scripts out that are added in another way.
    await cdp.send('Runtime.evaluate', { expression: AXE })
    const { result } = await cdp.send('Runtime.evaluate', {
      expression:
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html)))',
      awaitPromise: true,
      returnByValue: true,
    })
    return result.value as string[]
  }

  test('asks: a ticker, a field with its first band, a condition', async () => {
    await open()
    expect(await subject()).toBe('AAPL rsi_zone = oversold')
    expect(await page.locator('#events-title').textContent()).toBe('10 events')
    expect(await page.locator('.drawn .answer').textContent()).toContain('Too few: 20 days later up in 60%')
    expect(await page.locator('.drawn .strip').count()).toBe(10)
    expect(new URL(page.url()).search).toBe('')
    await page.getByLabel('Field').selectOption('trend_direction')
    await settled()
    expect(await subject()).toBe('AAPL trend_direction = strong_downtrend')
    await page.locator('[name=ticker]').fill('gspc')
    await page.locator('[name=ticker]').press('Enter')
    await settled()
    expect(await subject()).toBe('GSPC trend_direction = strong_downtrend')
    await page.locator('#when').fill('rsi_zone != oversold')
    await page.getByRole('button', { name: 'Find' }).click()
    await settled()
    expect(await page.locator('#list [role=status]').textContent()).toBe('2 of 2 tickers, 2018-05-11')
    await page.goBack()
    await settled()
    expect(await page.locator('#when').inputValue()).toContain('deep_oversold')
  })

  notInQuick('moves to an event at a click, and at Enter; the address keeps it', async () => {
    await open()
    const before = await days()
    await page.locator('tbody .row').last().click()
    // The page may not have begun to ask when the click returns.
    await expect.poll(days).not.toBe(before)
    await settled()
    expect(page.url()).toContain(`date=${await page.locator('tr.on .row').textContent()}`)
    const last = await days()
    await page.locator('tbody .row').first().focus()
    await page.keyboard.press('Enter')
    await expect.poll(days).not.toBe(last)
    await settled()
    const shared = page.url()
    const shown = await days()
    const events = await page.locator('tr.on').textContent()
    await page.goto('about:blank')
    await page.goto(shared)
    await settled()
    expect([await days(), await page.locator('tr.on').textContent()]).toEqual([shown, events])
  })

  notInQuick('is used with keys alone', async () => {
    await open()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.className')).toBe('skip')
    await page.locator('#tab-matches').focus()
    await page.keyboard.press('ArrowRight')
    await settled()
    expect(await page.locator('[aria-selected=true]').textContent()).toBe('Changes')
    await page.keyboard.press('ArrowRight')
    await settled()
    expect(await page.locator('[aria-selected=true]').textContent()).toBe('AAPL')
    await rows('macd_state').focus()
    await page.keyboard.press('Enter')
    await settled()
    expect(await subject()).toContain('AAPL macd_state = ')
    await page.locator('.price .plot').focus()
    const before = await days()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(days).not.toBe(before)
    const moved = await days()
    await page.keyboard.press('+')
    await expect.poll(days).not.toBe(moved)
  })

  notInQuick('finds the tickers of a named condition, and shows its own events', async () => {
    await open('&when=rsi_zone+%3D+neutral&field=&list=')
    expect(await subject()).toBe('AAPL rsi_zone = neutral')
    await page.getByRole('button', { name: '@dip' }).click()
    await settled()
    expect(await subject()).toBe('AAPL @dip')
    expect(await page.locator('#events-title').textContent()).toMatch(/^\d+ events$/)
    await page.locator('#tab-changes').click()
    await settled()
    const name = await rows().first().locator('b').textContent()
    await rows().first().click()
    await settled()
    expect(await subject()).toContain(name!)
    expect(await page.locator('tr.on').count()).toBe(1)
  })

  notInQuick('runs a study from a form, and shows its report in a frame', async () => {
    await open()
    await page.getByRole('button', { name: 'Backtest' }).click()
    await settledForm()
    expect(await page.locator('#field-hold').inputValue()).toBe('20')
    await page.locator('#field-hold').fill('x')
    await page.getByRole('button', { name: 'Run' }).click()
    await settledForm()
    expect(await page.locator('main .refusal').textContent()).toContain('hold')
    await page.locator('#field-hold').fill('10')
    await page.getByRole('button', { name: 'Run' }).click()
    await settledForm()
    const report = page.frameLocator('iframe')
    await report.locator('.answer').waitFor()
    expect(await report.locator('h1').textContent()).toContain('AAPL')
    expect(await report.locator('svg.drawing').count()).toBeGreaterThan(2)
    // Its scripts run, and see nothing of the page.
    expect(await report.locator('figure.live').count()).toBeGreaterThan(0)
    const shared = page.url()
    await page.goto(shared)
    await settledForm()
    await report.locator('.answer').waitFor()
    expect(await page.locator('#field-hold').inputValue()).toBe('10')
    expect(await axe()).toEqual([])
    for (const name of ['Study', 'Grid', 'Compare', 'Sweep']) {
      await page.getByRole('navigation').getByRole('button', { name }).click()
      await settledForm()
      expect(await page.locator('.question h2').textContent()).toBe(name)
      expect(await axe()).toEqual([])
    }
    await page.getByRole('navigation').getByRole('button', { name: 'Compare' }).click()
    await page.getByRole('button', { name: 'Run' }).click()
    await settledForm()
    await report.locator('.answer').waitFor()
    expect(await report.locator('body').textContent()).toContain('hold 20')
  })

  notInQuick('keeps a condition and a list, and asks among its tickers', async () => {
    await open()
    await page.locator('#when').fill('rsi_zone != deep_oversold')
    await page.getByRole('button', { name: 'Find' }).click()
    await settled()
    await page.getByText('Keep the condition as').click()
    await page.getByLabel('Keep the condition as: name').fill('calm')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '@calm', exact: true }).click()
    await settled()
    expect(await page.locator('#list [role=status]').textContent()).toContain('2 of 2 tickers')
    await page.getByText('Begin a list with AAPL as').click()
    await page.getByLabel('Begin a list with AAPL as: name').fill('mine')
    await page.keyboard.press('Enter')
    await page.getByLabel('Among').selectOption('mine')
    await settled()
    expect(await page.locator('#list [role=status]').textContent()).toContain('1 of 1 ticker')
    expect(await axe()).toEqual([])
    const shared = page.url()
    await page.goto(shared)
    await settled()
    expect(await page.locator('#list [role=status]').textContent()).toContain('1 of 1 ticker')
    await page.getByRole('button', { name: '− AAPL' }).click()
    await expect.poll(() => page.locator('#list [role=status]').textContent()).toBe('The list has no tickers.')
    await page.getByRole('button', { name: 'Remove the list mine' }).click()
    await settled()
    expect(await page.locator('#list [role=status]').textContent()).toContain('2 of 2 tickers')
    await page.getByRole('button', { name: 'Remove @calm' }).click()
    await expect.poll(() => page.getByRole('button', { name: '@calm' }).count()).toBe(0)
    expect(await subject()).toBe('AAPL rsi_zone = oversold')
    await page.getByText('Keep the condition as').click()
    await page.getByLabel('Keep the condition as: name').fill('1')
    await page.keyboard.press('Enter')
    await page.locator('aside > .refusal').waitFor()
    expect(await page.locator('aside > .refusal').textContent()).toContain('letters, digits')
  })

  notInQuick('shows a hostile name as text, and the refusal where it was asked', async () => {
    const hostile = '<img src=x onerror=document.title="caught">'
    await open(`&ticker=${encodeURIComponent(hostile)}&when=${encodeURIComponent(hostile)}`)
    expect(await subject()).toContain(hostile)
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).not.toBe('caught')
    expect(await page.locator('main .refusal').first().textContent()).toContain('ticker')
    expect(await page.locator('#list .refusal').textContent()).toMatch(/when|condition/)
    await page.locator('#when').fill('rsi_zoen = oversold')
    await page.getByRole('button', { name: 'Find' }).click()
    await settled()
    expect(await page.locator('#list .refusal').textContent()).toContain('rsi_zone')
  })

  notInQuick('shows one refusal for a ticker that is not loaded, and no empty chart', async () => {
    await open('&ticker=XYZ')
    expect(await page.locator('main .refusal').allTextContents()).toEqual(['no bars for "XYZ".'])
    expect(await page.locator('.price').count()).toBe(0)
  })

  notInQuick('brings the chart into sight at a click on an event below it, and fits its tables', async () => {
    await open()
    await page.locator('tbody .row').last().click()
    await settled()
    const [top, bottom] = await page.locator('.price').evaluate(element => {
      const { top, bottom } = element.getBoundingClientRect()
      return [top, bottom]
    })
    expect(top).toBeGreaterThanOrEqual(-1)
    expect(bottom).toBeLessThanOrEqual(901)
    const hidden = await page
      .locator('.drawn .scroll')
      .evaluateAll(elements => elements.map(one => one.scrollWidth - one.clientWidth))
    expect(hidden).toEqual([0, 0])
  })

  notInQuick('finds at Enter in the box of the condition, which has several lines', async () => {
    await open()
    await page.locator('#when').fill('rsi_zone != oversold')
    await page.locator('#when').press('Enter')
    await settled()
    expect(new URL(page.url()).searchParams.get('when')).toBe('rsi_zone != oversold')
  })

  notInQuick('keeps Run in sight on a phone, and then shows the report', async () => {
    await open('', { viewport: { width: 400, height: 800 } })
    await page.getByRole('button', { name: 'Study', exact: true }).click()
    await settledForm()
    const run = page.getByRole('button', { name: 'Run', exact: true })
    expect(await run.evaluate(element => element.getBoundingClientRect().bottom)).toBeLessThanOrEqual(800)
    await run.click()
    await page.locator('iframe').waitFor()
    expect(await page.locator('iframe').evaluate(element => element.getBoundingClientRect().top)).toBeLessThan(200)
  })

  notInQuick('has no finding of axe in light and dark, nor on a phone, which it fits', async () => {
    await open('', { colorScheme: 'light' })
    await page.locator('tbody .row').nth(2).click()
    await settled()
    expect(await axe()).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axe()).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe()).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })

  test.runIf(FULL && existsSync(UNIVERSE))(`asks 505 tickers${existsSync(UNIVERSE) ? '' : LEFT}`, async () => {
    const large = folder.file('large.db')
    expect((await typed(`import ${UNIVERSE} --bad-rows skip --db ${large}`)).code).toBe(0)
    await open('', {}, large)
    expect(await page.locator('#list [role=status]').textContent()).toContain('of 505 tickers')
    const name = await rows().nth(3).locator('b').textContent()
    await rows().nth(3).click()
    await settled()
    expect(await subject()).toBe(`${name} rsi_zone = oversold`)
    // A question of all tickers does not hold up one of a single ticker.
    await page.locator('#when').fill('rsi_zone = neutral')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.locator('[name=ticker]').fill('MSFT')
    await page.locator('[name=ticker]').press('Enter')
    await settled()
    expect(await subject()).toBe('MSFT rsi_zone = oversold')
  })
})
