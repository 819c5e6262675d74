import { describe, expect, it } from 'vitest'
import { drawTimeline } from '../../src/app/cli/draw/chart.js'
import { BUILT_IN_FIELDS, TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { HistoryQuery } from '../../src/core/model/event.js'
import type { Cache } from '../../src/data/local/cache.js'
import { exportEvents } from '../../src/data/local/export.js'
import { type Timeline, timeline } from '../../src/data/local/timeline.js'
import { dateOf } from '../support/bars.js'
import { drained } from '../support/drain.js'
import { cacheOf, fixture } from '../support/store.js'

const BRAILLE_BLANK = 0x2800

describe('a timeline', () => {
  it('has the last 250 final bars, each with the band in force and a mark on every event', async () => {
    const cache = await simulated()
    for (const { name } of TECHNICAL_FIELDS) {
      const found = await timeline(cache, asked({ field: name }))
      const events = await drained(exportEvents(cache, { fields: [name], timeframes: ['daily'] }))
      expect(found.bars.length).toBe(250)
      expect(found.bars.at(-1)!.date).toBe('2018-03-28')
      for (const bar of found.bars) {
        const last = events.findLast(event => event.date <= bar.date)
        expect(bar.band).toBe(last?.band ?? found.bars[0]!.band)
        expect(bar.event).toBe(last?.date === bar.date)
      }
    }
  })

  it('has the bars between its bounds, which are exclusive', async () => {
    const cache = await simulated()
    const between = await timeline(cache, asked({ after: '2017-01-03', before: '2017-01-10' }))
    expect(dates(between)).toEqual(['2017-01-04', '2017-01-05', '2017-01-06', '2017-01-09'])
    expect((await timeline(cache, asked({ after: '2016-01-01' }))).bars.length).toBeGreaterThan(500)
    const until = await timeline(cache, asked({ before: '2017-01-10' }))
    expect(until.bars.length).toBe(250)
    expect(until.bars.at(-1)!.date).toBe('2017-01-09')
    expect((await timeline(cache, asked({ after: '2030-01-01' }))).bars).toEqual([])
  })

  it('marks only the events that are asked for', async () => {
    const cache = await simulated()
    const all = await timeline(cache, asked({}))
    const band = all.bars.find(bar => bar.event)!.band!
    const some = await timeline(cache, { ...asked({}), bands: [band] })
    expect(some.bars.filter(bar => bar.event)).toEqual(all.bars.filter(bar => bar.event && bar.band === band))
    const context = { ticker: 'SIM0001', field: 'rsi_zone', band }
    expect((await timeline(cache, { ...asked({}), context })).bars).toEqual(some.bars)
  })

  it('ends at the as-of day, and its last week only when that is over', async () => {
    const asOf = parseDay('2018-03-22')!
    const cache = await cacheOf([fixture()], { asOf })
    expect((await timeline(cache, asked({}))).bars.at(-1)!.date).toBe('2018-03-22')
    expect((await timeline(cache, { ...asked({}), timeframe: 'weekly' })).bars.at(-1)!.date).toBe('2018-03-16')
  })

  it('keeps to the tier', async () => {
    const free = await cacheOf([fixture()], { tier: 'free' })
    const found = await timeline(free, asked({ after: '2010-01-01' }))
    expect(found.query_range).toBe('90d')
    expect(found.bars[0]!.date).toBe('2017-12-29')
    await expect(timeline(free, asked({ field: 'valuation_zone' }))).rejects.toMatchObject({ code: 'tier_restricted' })
  })

  it('has no band where the field has no data', async () => {
    const found = await timeline(await simulated(), asked({ field: 'valuation_zone' }))
    expect(new Set(found.bars.map(bar => bar.band))).toEqual(new Set([null]))
  })
})

describe('its drawing', () => {
  it('is this, for eight bars in ASCII', () => {
    const drawn = drawTimeline(made([10, 11, 12, 13, 13, 12, 11, 10], 'AABBBBCC'), {
      width: 12,
      height: 2,
      ascii: true,
    })
    expect(drawn).toEqual([
      "13 |  .''.",
      "10 |.'    '.",
      '    AABBBBCC',
      '      ^   ^',
      '', // no room for a date
      'A low 2',
      'B mid 4',
      'C high 2',
    ])
  })

  it('never passes its width, whatever that is, in braille as in ASCII, coloured or not', async () => {
    const cache = await simulated()
    for (const field of BUILT_IN_FIELDS.names) {
      const found = await timeline(cache, asked({ field }))
      for (const width of [40, 41, 60, 79, 80, 120, 200, 600]) {
        for (const ascii of [true, false]) {
          const lines = drawTimeline(found, { width, height: 12, ascii })
          for (const line of lines) expect(line.length, `${field} ${width}: ${line}`).toBeLessThanOrEqual(width)
          if (ascii) expect(lines.join('')).toMatch(/^[ -~]*$/)
        }
      }
    }
  })

  it('says by letters all that it says by colours', async () => {
    const found = await timeline(await simulated(), asked({}))
    const options = { width: 90, height: 12, ascii: false }
    const painted: [number, string][] = []
    const paint = (band: number, text: string): string => {
      painted.push([band, text])
      return `<${band}>${text}</>`
    }
    const coloured = drawTimeline(found, { ...options, paint }).map(line => line.replace(/<\/?\d*>/g, ''))
    expect(coloured).toEqual(drawTimeline(found, options))
    for (const [band, text] of painted) expect(text[0]).toBe('ABCDEFG'[band])
    expect(painted.length).toBeGreaterThan(10)
  })

  it('counts every bar in its legend and every event in its marks', async () => {
    const found = await timeline(await simulated(), asked({}))
    const lines = drawTimeline(found, { width: 120, height: 12, ascii: false })
    const legend = lines.slice(15).join('   ')
    const bars = [...legend.matchAll(/[A-G] \w+ (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
    expect(bars).toBe(250)
    const marks = [...lines[13]!.trim()].reduce((sum, mark) => sum + (mark === '^' ? 1 : Number(mark)), 0)
    expect(marks).toBe(found.bars.filter(bar => bar.event).length)
  })

  it('has the highest close on its first line and the lowest on its last, and no hole from left to right', async () => {
    const found = await timeline(await simulated(), asked({}))
    const lines = drawTimeline(found, { width: 100, height: 12, ascii: false }).slice(0, 12)
    const plot = lines.map(line => line.slice(line.indexOf('│') + 1))
    const closes = found.bars.map(bar => bar.close)
    for (const [line, close] of [
      [plot[0]!, Math.max(...closes)],
      [plot[11]!, Math.min(...closes)],
    ] as const) {
      const at = Math.round((closes.indexOf(close) / 249) * (2 * widthOf(plot) - 1))
      expect(line.codePointAt(Math.floor(at / 2))!).toBeGreaterThan(BRAILLE_BLANK)
    }
    for (let x = 0; x < widthOf(plot); x++)
      expect(
        plot.some(line => (line[x] ?? ' ') !== ' '),
        `column ${x}`,
      ).toBe(true)
  })

  it('is nothing without bars, and something for one bar or a flat line', () => {
    expect(drawTimeline(made([], ''), { width: 80, height: 12, ascii: false })).toEqual([])
    expect(drawTimeline(made([5], 'A'), { width: 40, height: 3, ascii: true }).length).toBe(7)
    const flat = drawTimeline(made([5, 5, 5], '.AA'), { width: 40, height: 3, ascii: true })
    expect(flat.slice(0, 3).filter(line => /['.:]{10}/.test(line)).length).toBe(1)
    expect(flat.at(-1)).toBe('. none yet 1   A low 2')
  })
})

const BANDS = ['low', 'mid', 'high']

/** One bar a letter, which is its band; `.` is none. */
function made(closes: readonly number[], letters: string): Timeline {
  return {
    schema: 'bands.show/1',
    ticker: 'ABC',
    field: 'some_field',
    timeframe: 'daily',
    query_range: '5y',
    as_of: '2018-03-28',
    prices: 'raw',
    bands: BANDS,
    bars: closes.map((close, t) => ({
      date: dateOf(t),
      close,
      band: BANDS['ABC'.indexOf(letters[t]!)] ?? null,
      event: t > 0 && letters[t] !== letters[t - 1] && letters[t - 1] !== '.',
    })),
  }
}

function widthOf(plot: readonly string[]): number {
  return plot.reduce((most, line) => Math.max(most, line.length), 0)
}

function simulated(): Promise<Cache> {
  return cacheOf([fixture()])
}

function asked({ field = 'rsi_zone', after, before }: Record<string, string>): HistoryQuery {
  return {
    ticker: 'SIM0001',
    field,
    timeframe: 'daily',
    ...(after === undefined ? {} : { after: parseDay(after)! }),
    ...(before === undefined ? {} : { before: parseDay(before)! }),
  }
}

function dates(found: Timeline): string[] {
  return found.bars.map(bar => bar.date)
}
