import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { expandInputs, readFile } from '../../src/feeds/read.js'
import { temporaryFolder } from '../support/folder.js'
import { written } from './files.js'

describe('a folder', () => {
  it('gives its XML documents too, as a glob does', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'form4'))
    for (const name of ['reports.csv', 'form4/a.xml', 'form4/b.XML', 'notes.md']) writeFileSync(join(folder, name), 'x')
    const names = async (arg: string) => (await expandInputs([arg])).map(({ name }) => name.slice(folder.length + 1))
    expect(await names(folder)).toEqual(['form4/a.xml', 'form4/b.XML', 'reports.csv'])
    expect(await names(join(folder, '**/*'))).toEqual(['form4/a.xml', 'form4/b.XML', 'reports.csv'])
    const empty = temporaryFolder()
    await expect(expandInputs([empty])).rejects.toThrow('csv, txt, tsv, json, ndjson, xml, zip or gz')
  })
})

describe('a file', () => {
  it('is told by what it holds', async () => {
    const bars = written('a.csv', 'date,open,high,low,close\n2024-01-02,1,1,1,1\n')
    const facts = written('b.csv', 'ticker,ex_date,ratio\nA,2020-08-31,4\n')
    expect(await readFile(bars, { ticker: 'A' })).toMatchObject({ holds: 'bars', format: 'csv' })
    expect(await readFile(facts)).toMatchObject({ holds: 'facts', format: 'splits csv' })
  })

  it.each([
    ['<?xml version="1.0"?>\n<note/>\n', 'this is an XML document, neither daily bars nor a Form 4 of the SEC'],
    ['<note>\n</note>\n', 'this is an XML document, neither daily bars nor a Form 4 of the SEC'],
    [
      '{"symbol":"IBM","annualReports":[]}',
      'these are statements of Alpha Vantage, which do not tell when they became known; import the company facts of the SEC, or reports.csv with ticker, period_end, known, eps, revenue, book_value_ps',
    ],
  ])('of neither is refused: %j', async (text, sentence) => {
    await expect(readFile(written('X.txt', text))).rejects.toThrow(`X.txt: ${sentence}`)
  })
})
