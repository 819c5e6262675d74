import { describe, expect, it } from 'vitest'
import { describeStatus } from '../../src/app/present/data.js'
import { describeProblems, onlyProblems } from '../../src/app/present/problems.js'
import type { Status, TickerStatus } from '../../src/data/local/status.js'

const GAP = { after: '2015-03-06', before: '2015-03-23', days: 17 }

function madeStatus(tickers: Partial<TickerStatus>[], oddities: Status['oddities'] = []) {
  const whole = { bars: 9, weekly_bars: 2, first: '2013-01-02', last: '2018-02-07', behind: 0, events: 3, gaps: [] }
  return {
    database: 'bands.db',
    bytes: 1e6,
    bars: 9,
    events: 3,
    unfinished: 0,
    as_of: null,
    last: '2018-02-07',
    tickers: tickers.map(ticker => ({ ...whole, sources: [], ...ticker })),
    oddities,
    pulled: [],
  } as unknown as Status & { pulled: [] }
}

/** The heading and the rows of a status with --problems. */
function problemsOf(status: ReturnType<typeof madeStatus>) {
  const found = onlyProblems(status)
  const { paragraphs, rows } = describeProblems(describeStatus(found, 20_000), found, status.tickers.length)
  const [{ heading, parts } = { heading: [], parts: [] }] = paragraphs as { heading: string[]; parts: object[] }[]
  const table = parts.flatMap(part => ('table' in part ? [part.table as { rows: { content: unknown }[][] }] : []))[0]
  const cells = table?.rows.map(row => row.map(({ content }) => content)) ?? []
  return { heading, cells, rows }
}

describe('status --problems', () => {
  it('lists the odd bars and gaps of a ticker, and how early it ends, and no other ticker', () => {
    const outside = { kind: 'outside_range', ticker: 'ODD', date: '2016-03-14', factor: null, bars: 2 } as const
    const jump = { kind: 'accepted_jump', ticker: 'ODD', date: '2017-01-03', factor: 0.25, bars: null } as const
    const { heading, cells, rows } = problemsOf(
      madeStatus(
        [{ ticker: 'GOOD' }, { ticker: 'ODD', gaps: [GAP] }, { ticker: 'OLD', last: '2018-02-05', behind: 2 }],
        [outside, jump],
      ),
    )
    expect(heading).toEqual(['bands.db', '4 problems in the bars of 2 of 3 tickers'])
    expect(cells).toEqual([
      ['ODD', '2 bars with open or close outside high and low', '', '2016-03-14'],
      ['ODD', 'accepted jump of the prices, times 0.25', '', '2017-01-03'],
      ['ODD', 'gap of 17 days', '2015-03-06', '2015-03-23'],
      ['OLD', 'ends 2 days before the newest', '', '2018-02-05'],
    ])
    expect(rows).toMatchObject([
      { ticker: 'ODD', gaps: 1, oddities: 'outside_range accepted_jump' },
      { ticker: 'OLD', behind: 2 },
    ])
  })

  it('says that there is none', () => {
    expect(problemsOf(madeStatus([{ ticker: 'GOOD' }])).heading[1]).toBe('no problem in the bars of 1 ticker')
  })

  it('is mentioned by a short list of many tickers that have any', () => {
    const notesOf = (gaps: TickerStatus['gaps']): string => {
      const tickers = Array.from({ length: 20 }, (_, i) => ({ ticker: `T${i}`, gaps }))
      return JSON.stringify(describeStatus(madeStatus(tickers), 20_000).paragraphs)
    }
    expect(notesOf([GAP])).toContain('problems: --problems; one ticker: bands status T0; every ticker:')
    expect(notesOf([])).toContain('"one ticker: bands status T0; every ticker:')
  })
})
