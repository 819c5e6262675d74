import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL, provenInFull } from '../support/full.js'
import { ABOUT } from '../support/results/about.js'
import { madePrices } from '../support/results/prices.js'
import { madeStudy } from '../support/results/runs.js'
import { CHROMIUM, LACKING, type Opened, Pages, REQUIRED, TOO_WIDE, violations } from './support/browser.js'
import { EXTREMES, REPORTS, studyReport, universeReport } from './support/reports.js'

const SCREENS = [
  ['phone', 'light'],
  ['phone', 'dark'],
  ['desktop', 'light'],
  ['desktop', 'dark'],
] as const
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } }

/** Of A4 in points: the lower margin, and beneath the top of a heading room for it and for two lines. */
const FOOT = 37
const WITH_HEADING = 45

const PAGES: typeof REPORTS = { ...REPORTS, 'study of 505 tickers': universeReport }

describe.skipIf(CHROMIUM === null && !REQUIRED)(`what a report shows first${LACKING}`, () => {
  let pages: Pages

  beforeAll(async () => {
    pages = await Pages.begin()
  })

  afterAll(() => pages?.end())

  const KINDS = Object.entries(PAGES).map(([kind, made]) => ({ kind, document: once(made) }))

  describe.each(KINDS)('of a $kind', ({ kind, document }) => {
    describe.each(FULL ? SCREENS : SCREENS.slice(0, 1))('on a %s in %s', (size, colorScheme) => {
      let opened: Opened

      beforeAll(async () => {
        opened = await pages.open(await document(), { viewport: SIZES[size], colorScheme })
      })

      afterAll(() => opened?.close())

      it('is the question, the answer and a whole chart', async () => {
        const [question, answer, chart] = await Promise.all(
          ['h1', '.answer', 'main figure'].map(what => box(opened.page, what)),
        )
        expect(question!.y).toBeGreaterThan(0)
        expect(answer!.y).toBeGreaterThanOrEqual(question!.y + question!.height)
        expect(chart!.y).toBeGreaterThan(answer!.y + answer!.height)
        expect(chart!.y + chart!.height).toBeLessThanOrEqual(SIZES[size].height)
        expect(chart!.height).toBeGreaterThan(150)
        expect([opened.said, opened.asked]).toEqual([[], []])
      })

      // What depends on the width, and what is printed, is the same in either scheme.
      describe.runIf(size === 'desktop' && colorScheme === 'light')('as a page', () => {
        it('has at most 6,000 px, its navigation whole', async () => {
          const { page } = opened
          expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(6000)
          expect(await page.evaluate(TOO_WIDE)).toBe(0)
          const hidden = '(list => list.scrollWidth - list.clientWidth)(document.querySelector("nav ul"))'
          expect(await page.evaluate(hidden)).toBe(0)
          const title = (await page.locator('h1').textContent())!.split(/\s+/)
          expect(title.length).toBeGreaterThanOrEqual(5)
          expect(title.length).toBeLessThanOrEqual(10)
        })

        it('is printed without a heading alone at the foot of a page, and with every short word explained', async () => {
          const { page } = opened
          const pdf = (await page.pdf({ preferCSSPageSize: true, outline: true, tagged: true })).toString('latin1')
          const heads = [...pdf.matchAll(/\/Title \(.*\)\n\/Dest \[\d+ 0 R \/XYZ [\d.]+ ([\d.]+) 0\]/g)]
          expect(heads.length).toBeGreaterThan((await page.locator('main h2').count()) - 1)
          for (const [head, y] of heads) expect(Number(y), head).toBeGreaterThan(FOOT + WITH_HEADING)
          await page.emulateMedia({ media: 'print' })
          expect(await page.locator('#words dt').count()).toBeGreaterThan(5)
        })
      })

      // Each width and each scheme once: what breaks a rule by its width does so in either scheme.
      it.runIf(kind in REPORTS && (size === 'phone') === (colorScheme === 'light'))(
        'breaks no rule of accessibility that can be checked, folds open',
        async () => {
          const { page } = opened
          await page.evaluate('for (const fold of document.querySelectorAll("details")) fold.open = true')
          expect(await violations(page)).toEqual([])
        },
      )
    })
  })

  it('opens a folded section that an address names', async () => {
    const { page, close } = await pages.open(await REPORTS.study!())
    const table = page.locator('#tests table')
    expect(await table.isVisible()).toBe(false)
    await page.evaluate('location.hash = "tests"')
    await expect.poll(() => table.isVisible()).toBe(true)
    await close()
  })

  it('finds what breaks a rule', async () => {
    const { page, close } = await pages.open('<!doctype html><title>a</title><main><img src="data:,"></main>')
    expect(await violations(page)).toEqual(expect.arrayContaining([expect.stringContaining('image-alt')]))
    await close()
  })

  provenInFull.each(Object.entries(EXTREMES))(
    'holds up and breaks no rule where there is little to tell: %s',
    async (_, made) => {
      const { page, said, asked, close } = await pages.open(await made(), { viewport: SIZES.phone })
      expect(await page.locator('h1').isVisible()).toBe(true)
      expect(await page.locator('.answer').textContent()).toMatch(/^[A-Z0-9+-].*\.$/)
      expect(await page.evaluate(TOO_WIDE)).toBe(0)
      expect(await violations(page)).toEqual([])
      expect([said, asked]).toEqual([[], []])
      await close()
    },
  )

  provenInFull('names the first warnings on one line, and has their sentences where a key opens it', async () => {
    const charts = [madePrices({ bars: 900 })]
    const warnings = ['The first: one.', 'The second, two.', 'The third.', 'The fourth.']
    const { page, close } = await pages.open(studyReport(await madeStudy(charts, { warnings }), charts, ABOUT))
    const read = page.locator('.warnings li:visible')
    expect(await read.count()).toBe(0)
    expect(await page.locator('.warnings summary').textContent()).toBe(
      'Notes the first · the second · the third · 1 more',
    )
    await page.locator('.warnings summary').focus()
    await page.keyboard.press('Enter')
    expect(await read.allTextContents()).toEqual(warnings)
    await close()
  })

  provenInFull('opens its folds on paper, but for what is too long for it, and closes them again', async () => {
    const { page, close } = await pages.open(await REPORTS.backtest!())
    const folds = page.locator('details:not(.long)')
    const open = page.locator('details[open]')
    expect(await open.count()).toBe(0)
    await page.evaluate('dispatchEvent(new Event("beforeprint"))')
    expect(await open.count()).toBe(await folds.count())
    await page.evaluate('dispatchEvent(new Event("afterprint"))')
    expect(await open.count()).toBe(0)
    await close()
  })
})

/** 505 tickers are drawn once, and not for every screen. */
function once(make: () => string | Promise<string>): () => string | Promise<string> {
  let made: string | Promise<string> | undefined
  return () => {
    made ??= make()
    return made
  }
}

async function box(page: Page, what: string): Promise<{ y: number; height: number } | null> {
  return page.locator(what).first().boundingBox()
}
