import { readFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { wordsAsText } from '../../src/core/errors.js'
import { loadUniverse, SHARED } from '../support/bars.js'
import { provenInFull } from '../support/full.js'
import { read, readBars, refusedInput, rowsOf, sharedFile } from './files.js'

const FILE = 'prices/universe.csv.gz'
/** The bad rows that the README of the data names: no open, or a high below the low. */
const BAD = [
  'AOS 2014-05-19 high',
  'BHF 2017-07-26 open',
  'DHR 2015-07-17 open',
  'DHR 2016-01-12 open',
  'ES 2015-07-17 open',
  'FTV 2016-07-01 open',
  'O 2015-07-17 open',
  'O 2016-01-12 open',
  'REGN 2015-06-09 open',
  'UA 2016-04-07 open',
  'VRTX 2015-05-12 open',
  'WRK 2015-06-26 open',
]

describe.skipIf(SHARED === null)('the universe (needs the shared data next to the project)', () => {
  it('is refused at its first bad row', async () => {
    expect(await refusedInput(sharedFile(FILE))).toBe(
      'universe.csv.gz:54263:22: high 23.595 is below low 23.85; 11 more bad rows in this file; skip_bad_rows loads the rest',
    )
  })

  provenInFull('loads without its bad rows, each handed back with its place', async () => {
    const { rows, tickers, rejected, warnings } = await readBars(sharedFile(FILE), { skipBadRows: true })
    expect(rows).toBe(619_040)
    expect(tickers).toHaveLength(505)
    expect(tickers.reduce((sum, { bars }) => sum + bars.days.length, 0)).toBe(619_040 - BAD.length)
    const named = rejected.map(({ text, reason }) =>
      [...text.split(',').slice(0, 2), wordsAsText(reason).split(' ')[0]].join(' '),
    )
    expect(named).toEqual(BAD)
    const lines = gunzipSync(readFileSync(sharedFile(FILE).path!))
      .toString('utf8')
      .split('\n')
    for (const { line, text } of rejected) expect(lines[line - 1]).toBe(text)
    expect(warnings.find(({ kind }) => kind === 'outside_range')?.count).toBe(11)
  })

  provenInFull('comes out the same in any order of rows', async () => {
    const [header, ...lines] = gunzipSync(readFileSync(sharedFile(FILE).path!))
      .toString('utf8')
      .trim()
      .split('\n')
    const some = lines.filter(line => /^(AAPL|AOS|ZTS),/.test(line))
    const mixed = some.map((_, i) => some[(i * 1009 + 7) % some.length]!)
    expect(new Set(mixed).size).toBe(some.length)
    const { tickers, dialect } = await read('X.csv.gz', gzipSync([header, ...mixed].join('\r\n')), {
      skipBadRows: true,
    })
    expect(dialect.order).toBe('unsorted')
    expect(tickers.map(({ ticker }) => ticker)).toEqual(['AAPL', 'AOS', 'ZTS'])
    for (const one of tickers) {
      const wanted = loadUniverse(one.ticker)!
      expect(rowsOf(one)).toEqual(wanted.map(bar => [bar.date, bar.open, bar.high, bar.low, bar.close, bar.volume]))
    }
  })
})
