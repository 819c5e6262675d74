import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL, notInQuick, provenInFull } from '../support/full.js'
import { ABOUT } from '../support/results/about.js'
import { madePrices } from '../support/results/prices.js'
import { madeBacktest, madeSweep } from '../support/results/runs.js'
import { CHROMIUM, LACKING, type Opened, Pages, paintedOf, REQUIRED, TOO_WIDE } from './support/browser.js'
import { backtestReport, madeBacktestReport, madeStudyReport, REPORTS, sweepReport } from './support/reports.js'

const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } }

/** Of reports, sizes and schemes each pair comes once. */
const SCREENS: readonly (readonly [keyof typeof SIZES, 'light' | 'dark'])[][] = [
  [
    ['phone', 'light'],
    ['desktop', 'dark'],
  ],
  [
    ['phone', 'dark'],
    ['desktop', 'light'],
  ],
]

describe.skipIf(CHROMIUM === null && !REQUIRED)(`a report in a browser${LACKING}`, () => {
  let pages: Pages

  beforeAll(async () => {
    pages = await Pages.begin()
  })

  afterAll(() => pages?.end())

  describe.each(Object.entries(REPORTS).map(([kind, made], i) => ({ kind, made, screens: SCREENS[i % 2]! })))(
    '$kind',
    one => {
      const { kind, made, screens } = one

      it.each(FULL ? screens : kind === 'sweep' ? screens.slice(0, 1) : [])(
        'draws every chart on a %s in %s, says nothing, asks for nothing',
        async (size, colorScheme) => {
          const opened = await pages.open(await made(), { viewport: SIZES[size], colorScheme })
          const charts = await opened.page.locator('script[data-chart]').count()
          await opened.page.evaluate(OPEN_FOLDS)
          const painted = await paintedOf(opened.page)
          // What a tally shows needs no script.
          if (kind === 'tally') expect(await opened.page.locator('figure .stacked').count()).toBeGreaterThan(0)
          else expect(charts).toBeGreaterThan(0)
          expect(painted).toHaveLength(charts)
          for (const { figure, painted: pixels, colours } of painted) {
            expect(pixels, figure).toBeGreaterThan(2000)
            expect(colours, figure).toBeGreaterThan(4)
          }
          expect(await opened.page.evaluate(TOO_WIDE)).toBe(0)
          await saysNothing(opened)
        },
      )

      provenInFull('is read without scripts: every chart is a drawing, every table is there', async () => {
        const opened = await pages.open(await made(), { viewport: SIZES.phone, javaScriptEnabled: false })
        const { page } = opened
        const figures = await page.locator('figure.chart:not(:has(.forest))').count()
        expect(await page.locator('figure.chart svg.drawing').count()).toBe(figures)
        for (const drawing of await page.locator('figure.chart svg.drawing:not(details:not([open]) *)').all()) {
          expect(await drawing.locator('path, rect').count()).toBeGreaterThan(1)
          expect(await drawing.isVisible()).toBe(true)
        }
        expect(await page.locator('tbody tr').count()).toBeGreaterThan(kind === 'tally' ? 9 : 20)
        expect(await page.locator('button:visible, form:visible').count()).toBe(0)
        await saysNothing(opened)
      })

      provenInFull('is printed with the drawings, light, and within the width of the paper', async () => {
        const paper = { width: 703, height: 1000 }
        const opened = await pages.open(await made(), { viewport: paper, colorScheme: 'dark' })
        const { page } = opened
        await page.evaluate('dispatchEvent(new Event("beforeprint"))')
        await page.emulateMedia({ media: 'print' })
        expect(await page.locator('.tools:visible, nav:visible, form:visible').count()).toBe(0)
        for (const figure of await page.locator('figure.chart').all()) {
          expect(await figure.locator('svg.drawing, svg.strip').first().isVisible()).toBe(true)
        }
        expect(await page.evaluate(TOO_WIDE)).toBe(0)
        const wide = await page.evaluate(
          '[...document.querySelectorAll("table")].filter(table => table.scrollWidth > innerWidth).length',
        )
        expect(wide).toBe(0)
        expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)')
        const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true })
        expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
        expect(pdf.length).toBeGreaterThan(20_000)
        await saysNothing(opened)
      })
    },
  )

  provenInFull('shows both sides of an interval chart on a phone, without scrolling', async () => {
    const { page, close } = await pages.open(await madeStudyReport(), { viewport: SIZES.phone })
    const strips = await page.locator('#forest svg.strip').all()
    expect(strips.length).toBeGreaterThan(5)
    for (const strip of strips) {
      const { x, width } = (await strip.boundingBox())!
      expect(x).toBeGreaterThanOrEqual(0)
      expect(x + width).toBeLessThanOrEqual(SIZES.phone.width)
    }
    expect(await page.locator('#forest circle').count()).toBe(strips.length - 1)
    await close()
  })

  provenInFull('says where a table is wider than the page, and no more where it is not', async () => {
    const { page, close } = await pages.open(await madeBacktestReport(), { viewport: SIZES.phone })
    const told = page.locator('.more:visible')
    expect(await told.count()).toBeGreaterThan(0)
    await page.setViewportSize({ width: 1400, height: 900 })
    await expect.poll(() => told.count()).toBe(0)
    await close()
  })

  provenInFull('tells the values under the pointer, and stops when it leaves', async () => {
    const { page, close } = await pages.open(await madeStudyReport())
    const plot = page.locator('#price-0 .plot')
    await plot.scrollIntoViewIfNeeded()
    await plot.hover({ position: { x: 400, y: 100 } })
    const told = page.locator('#price-0 [data-part="line 0"] .told')
    expect(await told.textContent()).toMatch(/^\d+\.\d{2}$/)
    expect(await page.locator('#price-0 .readout').textContent()).toMatch(/^\d{4}-\d\d-\d\d {2}· {2}\w+/)
    await page.mouse.move(1, 1)
    expect(await told.textContent()).toBe('')
    await close()
  })

  provenInFull(
    'zooms to what is dragged over, the charts of its group with it, and shows all again at the button',
    async () => {
      const { page, close } = await pages.open(await madeBacktestReport())
      const whole = await shown(page, 'equity-curve')
      await drag(page, '#equity-curve .plot', 300, 500)
      const part = await shown(page, 'equity-curve')
      expect(part.from! > whole.from!).toBe(true)
      expect(part.to! < whole.to!).toBe(true)
      expect(await shown(page, 'drawdown')).toEqual(part)
      const reset = page.locator('#equity-curve .tools button')
      expect(await reset.textContent()).toContain(part.from)
      await reset.focus()
      await page.keyboard.press('Enter')
      expect(await shown(page, 'equity-curve')).toEqual(whole)
      expect(await shown(page, 'drawdown')).toEqual(whole)
      expect(await reset.isVisible()).toBe(false)
      await drag(page, '#drawdown .plot', 200, 400)
      expect(await shown(page, 'equity-curve')).not.toEqual(whole)
      await page.locator('#drawdown .plot').dblclick({ position: { x: 300, y: 50 } })
      expect(await shown(page, 'drawdown')).toEqual(whole)
      await close()
    },
  )

  provenInFull('does the same with keys', async () => {
    const { page, close } = await pages.open(await madeStudyReport())
    const plot = page.locator('#path-mean .plot')
    await plot.focus()
    const readout = page.locator('#path-mean .readout')
    await page.keyboard.press('ArrowRight')
    expect(await readout.textContent()).toBe('bar -20')
    await page.keyboard.press('Shift+ArrowRight')
    expect(await readout.textContent()).toBe('bar -10')
    await page.keyboard.press('+')
    expect(await shown(page, 'path-mean')).not.toEqual({ from: 'bar -20', to: 'bar +100' })
    await page.keyboard.press('Escape')
    expect(await shown(page, 'path-mean')).toEqual({ from: 'bar -20', to: 'bar +100' })
    await close()
  })

  notInQuick('shows the facts of a trade at a click on its marks, at the buttons and at a key', async () => {
    const charts = [madePrices()]
    const found = await madeBacktest(charts)
    const { page, close } = await pages.open(backtestReport(found, charts, ABOUT))
    const [title, facts, plot] = ['.case-title', '.case-facts dd', '.plot'].map(what =>
      page.locator(`#price-0 ${what}`),
    )
    const trades = found.trades.length
    expect(await title!.textContent()).toBe('Click a trade in the chart, or choose it here, to see its facts.')
    await page.locator('#price-0 .case button', { hasText: 'Next' }).press('Enter')
    const [first] = found.trades
    expect(await title!.textContent()).toContain(`Trade 1 of ${trades}: ${first!.entry_date} to ${first!.exit_date}`)
    expect((await facts!.allTextContents()).join(' ')).toContain(`on ${first!.entry_date} at`)
    await page.locator('#price-0 .case button', { hasText: 'Previous' }).click()
    expect(await title!.textContent()).toContain(`Trade ${trades} of ${trades}`)
    const mark = page.locator('#price-0 .drawing .mark').first()
    await mark.scrollIntoViewIfNeeded()
    const { x, y, width, height } = (await mark.boundingBox())!
    await page.mouse.click(x + width / 2, y + height / 2)
    expect(await title!.textContent()).toContain('Trade 1 of')
    await plot!.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    expect(await title!.textContent()).toMatch(/^(Click a trade|Trade \d+ of)/)
    expect(await title!.textContent()).not.toContain('Trade 1 of')
    await close()
  })

  provenInFull('hides and shows what the legend names', async () => {
    const { page, close } = await pages.open(await madeStudyReport())
    const painted = async () => (await paintedOf(page, '#path-mean'))[0]!.painted
    const before = await painted()
    const toggle = page.locator('#path-mean .toggle', { hasText: 'middle half' })
    await toggle.click()
    expect(await toggle.getAttribute('aria-pressed')).toBe('false')
    await expect.poll(painted).toBeLessThan(before)
    await toggle.click()
    await expect.poll(painted).toBe(before)
    await close()
  })

  provenInFull('draws its charts anew when the screen turns dark, and to the width when it gets narrow', async () => {
    const { page, close } = await pages.open(await madeStudyReport())
    const drawing = page.locator('#price-0 svg.drawing')
    const light = await drawing.screenshot()
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(async () => (await drawing.screenshot()).equals(light)).toBe(false)
    await page.setViewportSize(SIZES.phone)
    // A unit of the drawing is a pixel of the screen: its letters are as large as ever.
    const units = async (): Promise<number> => Number((await drawing.getAttribute('viewBox'))!.split(' ')[2])
    await expect.poll(units).toBeLessThan(SIZES.phone.width)
    expect((await drawing.boundingBox())!.width).toBeCloseTo(await units(), 0)
    expect(await page.evaluate(TOO_WIDE)).toBe(0)
    await close()
  })

  provenInFull('sorts the trades by a heading, either way', async () => {
    const { page, close } = await pages.open(await madeBacktestReport())
    const heading = page.locator('[data-table] th', { hasText: /^Net/ })
    const net = async (): Promise<number[]> => {
      const column = (await page.locator('[data-table] thead th').allTextContents()).findIndex(title =>
        title.startsWith('Net'),
      )
      const cells = await page.locator(`[data-table] tbody tr > :nth-child(${column + 1})`).allTextContents()
      return cells.map(Number.parseFloat)
    }
    await heading.locator('button').click()
    expect(await heading.getAttribute('aria-sort')).toBe('descending')
    expect(await net()).toEqual((await net()).toSorted((a, b) => b - a))
    await heading.locator('button').click()
    expect(await heading.getAttribute('aria-sort')).toBe('ascending')
    expect(await net()).toEqual((await net()).toSorted((a, b) => a - b))
    await close()
  })

  provenInFull('filters all the cells of a sweep, also those that no row shows', async () => {
    const sweep = await madeSweep({ by: 'ticker' }, 12)
    const { page, close } = await pages.open(sweepReport(sweep, ABOUT))
    const rows = page.locator('[data-table] tbody tr')
    const told = page.locator('form.filters output')
    expect(await rows.count()).toBe(250)
    expect(await told.textContent()).toContain(`${sweep.cells.length.toLocaleString('en')} rows`)
    await page.locator('[name=text]').fill('t12 trend')
    expect(await told.textContent()).toBe('25 rows')
    expect(await rows.count()).toBe(25)
    await page.locator('[name=only]').selectOption('found')
    await page.locator('[name=text]').fill('')
    expect(await told.textContent()).toBe(`${sweep.found} rows`)
    await close()
  })

  provenInFull('saves the result as the command line prints it', async () => {
    const opened = await pages.open(await madeStudyReport({ bars: 300 }))
    const saving = opened.page.waitForEvent('download')
    await opened.page.evaluate(OPEN_FOLDS)
    await opened.page.locator('[data-save]').click()
    const { default: fs } = await import('node:fs')
    const saved = JSON.parse(fs.readFileSync(await (await saving).path(), 'utf8')) as { schema: string }
    expect(saved.schema).toBe('bands.study/2')
    await opened.close()
  })
})

const OPEN_FOLDS = 'for (const fold of document.querySelectorAll("details")) fold.open = true'

/** No message, no error, no request; then closes it. */
async function saysNothing({ said, asked, close }: Opened): Promise<void> {
  expect(said).toEqual([])
  expect(asked).toEqual([])
  await close()
}

async function shown(page: Page, id: string): Promise<{ from: string | null; to: string | null }> {
  const figure = page.locator(`#${id}`)
  return { from: await figure.getAttribute('data-from'), to: await figure.getAttribute('data-to') }
}

async function drag(page: Page, what: string, from: number, to: number): Promise<void> {
  const plot = page.locator(what)
  await plot.scrollIntoViewIfNeeded()
  const { x, y } = (await plot.boundingBox())!
  await page.mouse.move(x + from, y + 40)
  await page.mouse.down()
  await page.mouse.move(x + to, y + 40, { steps: 4 })
  await page.mouse.up()
}
