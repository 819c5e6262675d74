import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeBacktest } from '../../src/app/present/backtest.js'
import { describeComparison } from '../../src/app/present/comparison.js'
import { describeGrid } from '../../src/app/present/grid.js'
import { reportPage } from '../../src/app/report/report.js'
import { parseBacktest } from '../../src/core/params/backtest.js'
import { parseCompare, parseGrid } from '../../src/core/params/grid.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { compare } from '../../src/research/backtest/compare.js'
import { grid } from '../../src/research/backtest/grid.js'
import { noiseMarket } from '../backtest/support/noise.js'
import { FULL } from '../support/full.js'
import { ABOUT } from '../support/results/about.js'
import { CHROMIUM, LACKING, Pages, REQUIRED, TOO_WIDE, violations } from './support/browser.js'

const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } }
const SCREENS = [
  ['phone', 'light'],
  ['desktop', 'dark'],
  ['phone', 'dark'],
  ['desktop', 'light'],
] as const

/** A page is read in a few screens, whatever it is about. */
const HIGHEST = 4000

const MARKET = noiseMarket(4, 900)
const ENTRY = { field: 'rsi_zone', bands: ['deep_oversold'] }

async function gridPage(): Promise<string> {
  const vary = ['hold=2,5,9,14', 'stop=none,2%,4%', 'side=long,short']
  const asked = { tickers: ['A'], field: 'rsi_zone', band: 'deep_oversold', hold: 5, vary }
  return reportPage(describeGrid(await grid(MARKET, parseGrid(asked, { tier: null }))), ABOUT)
}

async function walkForwardPage(): Promise<string> {
  const asked = { tickers: ['A'], field: 'rsi_zone', band: 'deep_oversold', hold: '5,20' }
  const query = parseBacktest({ ...asked, walk_forward: 'train=300,test=100,step=100' }, { tier: null })
  return reportPage(describeBacktest(await backtest(MARKET, query.strategy, query.run)), ABOUT)
}

async function comparisonPage(): Promise<string> {
  const strategies = [5, 20].map(hold => ({ tickers: ['A'], entry: ENTRY, exit: { hold } }))
  const asked = { strategies, names: ['short hold', 'long hold'] }
  return reportPage(describeComparison(await compare(MARKET, parseCompare(asked, { tier: null }))), ABOUT)
}

describe.skipIf(CHROMIUM === null && !REQUIRED)(`pages of several strategies${LACKING}`, () => {
  let pages: Pages
  beforeAll(async () => {
    pages = await Pages.begin()
  })
  afterAll(() => pages?.end())

  describe.each([
    ['a grid', gridPage, 'main table', 1],
    ['a comparison', comparisonPage, 'main figure', 2],
    ['a walk-forward', walkForwardPage, 'main figure', 2],
  ] as const)('%s', (_, made, lead, charts) => {
    it.each(FULL ? SCREENS : SCREENS.slice(0, 1))(
      'answers first, breaks no rule of accessibility, says nothing and asks for nothing, on a %s in %s',
      async (size, colorScheme) => {
        const { page, said, asked, close } = await pages.open(await made(), { viewport: SIZES[size], colorScheme })
        const answer = page.locator('.answer')
        const first = page.locator(lead).first()
        const above = (await answer.boundingBox())!
        const below = (await first.boundingBox())!
        expect(below.y).toBeGreaterThan(above.y)
        expect(below.y + below.height).toBeLessThanOrEqual(SIZES[size].height)
        // The charts of a page that its script has reached.
        expect(await page.locator('figure.live').count()).toBeGreaterThanOrEqual(charts)
        expect(await page.evaluate(TOO_WIDE)).toBe(0)
        await page.evaluate('for (const fold of document.querySelectorAll("details")) fold.open = true')
        expect(await violations(page)).toEqual([])
        expect([said, asked]).toEqual([[], []])
        await close()
      },
    )

    it('has at most 4,000 px with its folds closed, its navigation whole', async () => {
      const { page, close } = await pages.open(await made(), { viewport: SIZES.desktop })
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(HIGHEST)
      const hidden = '(list => list.scrollWidth - list.clientWidth)(document.querySelector("nav ul"))'
      expect(await page.evaluate(hidden)).toBe(0)
      await close()
    })

    it.runIf(lead === 'main table')(
      'has a map as wide as the page, in which darker is better in light and in dark',
      async () => {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { page, close } = await pages.open(await made(), { viewport: SIZES.desktop, colorScheme })
          const map = (await page.locator('.map').first().boundingBox())!
          const main = (await page.locator('main').boundingBox())!
          expect(map.width).toBeGreaterThan(main.width - 50)
          const light = [0, 1, 2, 3, 4].map(heat =>
            page.evaluate<number>(
              `(cell => cell && getComputedStyle(cell).backgroundColor.match(/\\d+/g).reduce((sum, part) => sum + +part, 0))(document.querySelector('.map .up-${heat}'))`,
            ),
          )
          const known = (await Promise.all(light)).filter(sum => sum !== null)
          expect(known).toEqual(known.toSorted((a, b) => b - a))
          await close()
        }
      },
    )
  })
})
