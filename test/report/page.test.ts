import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { EventStudy } from '../../src/research/study/result.js'
import { notInQuick } from '../support/full.js'
import { ABOUT } from '../support/results/about.js'
import { madePrices } from '../support/results/prices.js'
import { madeBacktest, madeStudy, madeSweep } from '../support/results/runs.js'
import { backtestReport, EXTREMES, REPORTS, studyReport, sweepReport, universeReport } from './support/reports.js'

const NASTY = '</script><script>alert(1)</script>"\'&\u2028<img src=x onerror=alert(2)>'

describe.each(Object.entries(REPORTS))('the page of a %s', async (kind, made) => {
  const page = await made()

  it('is the same to the byte for the same input', async () => {
    expect((await made()) === page).toBe(true)
  })

  it('stays below 1.5 MB for ten years', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(1_500_000)
  })

  it('lets nothing load or run but its own style and script', () => {
    const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)!
    const inline = (tag: string): string => {
      const [, text] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)!
      return `&#39;sha256-${createHash('sha256').update(text!).digest('base64')}&#39;`
    }
    expect(policy).toContain('default-src &#39;none&#39;')
    expect(policy).toContain(`style-src ${inline('style')}`)
    expect(policy).toContain(`script-src ${inline('script')}`)
    expect(policy).not.toContain('unsafe')
  })

  it('names no address outside itself', () => {
    expect(shell(page)).not.toMatch(/\b(?:src|href|action|poster|data)="(?!#|data:)/)
    expect(page).not.toMatch(/url\((?!["']?data:)|@import|<style[^>]+>|style="/)
  })

  it('has headings in order, one first, and no level left out', () => {
    const levels = [...shell(page).matchAll(/<h([1-6])[ >]/g)].map(match => Number(match[1]))
    expect(levels[0]).toBe(1)
    expect(levels.filter(level => level === 1)).toHaveLength(1)
    levels.forEach((level, i) => void expect(level).toBeLessThanOrEqual((levels[i - 1] ?? 0) + 1))
  })

  it('marks the scope of each table heading, and names every table, chart and control', () => {
    expect(shell(page)).not.toMatch(/<th(?:>| (?!scope=))/)
    expect(count(page, /<table/g)).toBe(count(page, /<caption[ >]/g))
    expect(count(page, /<figure/g)).toBe(count(page, /<figcaption>/g))
    expect(count(page, /<svg/g)).toBe(count(page, /<svg [^>]*(role="img" aria-label(ledby)?="|aria-hidden="true")/g))
    const ids = [...shell(page).matchAll(/ id="([^"]+)"/g)].map(match => match[1])
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('shows its origin, and how to read it', () => {
    const { inputs, version, command } = ABOUT
    const hash = kind === 'tally' ? [] : [inputs!]
    for (const told of [...hash, version, command, 'How to read this, and when not to']) expect(page).toContain(told)
  })
})

describe('the result in a page', () => {
  const charts = [madePrices({ bars: 300 })]

  it('can be taken out again whole', async () => {
    const study = await madeStudy(charts)
    const backtest = await madeBacktest(charts)
    const sweep = await madeSweep()
    expect(resultIn(studyReport(study, charts, ABOUT))).toEqual(study)
    expect(resultIn(backtestReport(backtest, charts, ABOUT))).toEqual(backtest)
    expect(resultIn(sweepReport(sweep, ABOUT))).toEqual(sweep)
  })

  it('cannot leave its element by any name at any position', async () => {
    const nasty = charts.map(chart => ({ ...chart, ticker: NASTY, field: NASTY, bands: chart.bands.map(() => NASTY) }))
    const study = await madeStudy(nasty, { field: NASTY, warnings: [NASTY], assumptions: [NASTY] })
    const backtest = await madeBacktest(nasty)
    const sweep = await madeSweep({ by: 'ticker' })
    const cells = sweep.cells.map(cell => ({ ...cell, ticker: NASTY, field: NASTY }))
    const about = { ...ABOUT, command: NASTY, source: NASTY, version: NASTY, adjustment: NASTY }
    const pages = [
      studyReport(study, nasty, about),
      backtestReport({ ...backtest, strategy: { ...backtest.strategy, name: NASTY } }, nasty, about),
      sweepReport({ ...sweep, tickers: [NASTY], fields: [NASTY], cells }, about),
    ]
    for (const page of pages) {
      expect(page).not.toContain('<script>alert')
      expect(page).not.toContain('<img')
      for (const [, script] of page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g))
        expect(script).not.toContain('\u2028')
      expect(JSON.stringify(resultIn(page))).toContain(JSON.stringify(NASTY).slice(1, -1))
    }
  })
})

describe('the tests of a study', () => {
  it('are next to their n', async () => {
    const charts = [madePrices()]
    const study = await madeStudy(charts)
    const [window] = study.windows
    window!.n = 4321
    window!.abnormal!.n = 1234
    const page = shell(studyReport(study, charts, ABOUT))
    expect(page).toMatch(/<td>Newey-West t, effective clusters<\/td><td class="num">4,321</)
    expect(page).toMatch(/<td>Boehmer-Musumeci-Poulsen[^<]*<\/td><td class="num">1,234</)
  })
})

describe('what a page leaves out', () => {
  it.each(Object.entries(EXTREMES))('is in words: %s', async (_, made) => {
    // A strategy file spells null where nothing was asked for, and a backtest has a null hypothesis.
    const page = await made()
    const text = shell(page)
      .replace(/<pre[\s\S]*?<\/pre>/g, '')
      .replace(/<[^>]+>/g, ' ')
      .replace('null: no random entries', '')
    expect(text).not.toMatch(/NaN|Infinity|undefined|\bnull\b|\[object/)
    expect(shell(page)).not.toMatch(/ d="[^"]*(?:NaN|Infinity|undefined)/)
  })

  notInQuick(
    'is rows beyond 250, tickers beyond 6, and of long lists what makes it greater than 1.5 MB, which it says',
    async () => {
      const whole = await universeReport()
      const page = shell(whole)
      expect(page).toMatch(/Here are the newest 250 of \d,?\d+ rows; --write occurrences=FILE has all\./)
      const { events, occurrences } = resultIn(whole) as EventStudy
      const said = /without the first ([\d,]+) of ([\d,]+) occurrences \(--write occurrences=FILE has all\)/.exec(page)!
      const [left, all] = said.slice(1).map(number => Number(number.replace(',', '')))
      expect([all, occurrences.length]).toEqual([events, events - left!])
      expect(Buffer.byteLength(whole)).toBeLessThan(1_500_000)
      expect(page).toContain('499 others are only in the numbers')
      expect(count(page, /class="chart" id="price-/g)).toBe(6)
    },
  )
})

/** The page without its data, style and script. */
function shell(page: string): string {
  return page.replace(/<(script|style)[^>]*>[\s\S]*?<\/\1>/g, '')
}

function resultIn(page: string): unknown {
  return JSON.parse(/<script type="application\/json" id="result">([\s\S]*?)<\/script>/.exec(page)![1]!)
}

function count(page: string, what: RegExp): number {
  return [...shell(page).matchAll(what)].length
}

const CHARTS = [madePrices()]

/** The page of a study without the result that it carries. */
async function pageOf(change: (study: EventStudy) => void): Promise<string> {
  const study = await madeStudy(CHARTS)
  change(study)
  return studyReport(study, CHARTS, ABOUT).replace(/<script[\s\S]*?<\/script>/g, '')
}

describe('the page of a study', () => {
  it('compares the events with the bars of the same context, if there is one', async () => {
    expect(await pageOf(() => {})).not.toContain('id="context"')
    const page = await pageOf(({ windows: [window] }) => {
      window!.context_base = { n: 4321, mean: 0.0123, hit: 0.5, diff: -0.0456 }
    })
    for (const part of ['id="context"', '4,321', '+1.23%', '-4.56%']) expect(page).toContain(part)
  })

  it('draws no strip of true and false, and says where a ribbon ends', async () => {
    const truths = CHARTS.map(chart => ({
      ...chart,
      bands: ['false', 'true'],
      codes: chart.codes.map(code => Math.min(code, 1)),
    }))
    expect(studyReport(await madeStudy(CHARTS), CHARTS, ABOUT)).toContain('The strip under the line')
    expect(studyReport(await madeStudy(truths), truths, ABOUT)).not.toContain('The strip under the line')
    const page = await pageOf(({ path }) => {
      for (const point of path) if (point.bar > 40) point.low = point.high = null
    })
    expect(page).toContain('The interval ends at bar 40: after it fewer than 10 groups of events share no day.')
  })

  it('shows the end of the tickers, the omitted data, and the number of independent cases', async () => {
    const page = await pageOf(study => {
      study.last_bar = '1999-12-31'
      study.hints = ['deep_oversold is a band of its own.']
      study.windows[0]!.n_independent = 7654
    })
    for (const part of ['1999-12-31', 'deep_oversold is a band of its own.', '7,654']) expect(page).toContain(part)
  })

  it('shows no interval of the share above 0 for too few events', async () => {
    const share = /<td class="num">\d+–\d+%</
    expect(await pageOf(() => {})).toMatch(share)
    const grey = await pageOf(({ windows }) => {
      for (const window of windows) window.grey = true
    })
    expect(grey).not.toMatch(share)
  })
})
