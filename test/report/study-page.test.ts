import { describe, expect, it } from 'vitest'
import { studyReport } from '../../src/report/report.js'
import { ABOUT } from '../support/results/about.js'
import { madePrices } from '../support/results/prices.js'
import { madeStudy } from '../support/results/study.js'

const CHARTS = [madePrices({ bars: 900 })]

/** The page of a study without the result that it carries. */
function pageOf(change: (study: ReturnType<typeof madeStudy>) => void): string {
  const study = madeStudy(CHARTS)
  change(study)
  return studyReport(study, CHARTS, ABOUT).replace(/<script[\s\S]*?<\/script>/g, '')
}

describe('the page of a study', () => {
  it('marks a p that volatile times mislead, and goes by the studentised one', () => {
    const page = pageOf(({ windows: [window] }) => {
      window!.deviation = 0.2
      window!.base.deviation = 0.1
      window!.tests[0]!.p = 0.0432
      window!.tests[1]!.p = 0.321
    })
    expect(page).toMatch(/>0\.043!<\/td><td class="num">0\.32</)
    expect(page).toContain('p(t) 0.32')
  })

  it('holds the events against the bars of the same context where one was asked for', () => {
    expect(pageOf(() => {})).not.toContain('Same context')
    const page = pageOf(({ windows: [window] }) => {
      window!.context_base = { n: 4321, mean: 0.0123, hit: 0.5, diff: -0.0456 }
    })
    for (const part of ['Same context, n', '4\u202f321', '+1.23%', '-4.56%']) expect(page).toContain(part)
  })

  it('tells where the tickers end, what was left out, and how many stretches of dates there are', () => {
    const page = pageOf(study => {
      study.last_bar = '1999-12-31'
      study.hints = ['deep_oversold is a band of its own.']
      study.windows[0]!.n_stretches = 7654
    })
    for (const part of ['1999-12-31', 'deep_oversold is a band of its own.', '7\u202f654']) expect(page).toContain(part)
  })

  it('tells no interval of the share above 0 of too few events', () => {
    const share = /<td class="num">\d+–\d+%</
    expect(pageOf(() => {})).toMatch(share)
    const grey = pageOf(({ windows }) => {
      for (const window of windows) window.grey = true
    })
    expect(grey).not.toMatch(share)
  })
})
