import { writeFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { notInQuick } from '../support/full.js'
import { simulatedRows } from '../support/imports.js'
import { type Ran, scratch, typed } from './support/run.js'

const folder = scratch()
let database = 0
beforeEach(() => {
  database++
})
afterAll(folder.remove)

const ask = (line: string): Promise<Ran> => typed(line, { env: { BANDS_DB: folder.file(`${database}.db`) } })
const write = (name: string, rows: readonly string[], header = 'date,open,high,low,close,volume'): string => {
  writeFileSync(folder.file(name), [header, ...rows, ''].join('\n'))
  return folder.file(name)
}
const documentOf = async (line: string) => JSON.parse((await ask(`${line} --json`)).out)

const ROWS = simulatedRows(1, 200)
/** The same after a split of 4:1, with the digits of a vendor. */
const quartered = (row: string): string => {
  const [date, ...numbers] = row.split(',')
  const volume = Number(numbers.pop()) * 4
  return [date, ...numbers.map(price => (Number(price) / 4).toFixed(4)), volume].join(',')
}

describe('bands import after a split', () => {
  const old = () => write('ABC.csv', ROWS.slice(0, 150))
  const recent = () => write('new.csv', ROWS.slice(150).map(quartered))

  test('refuses the ticker and ends with 5, instead of answering on two scales', async () => {
    await ask(`import ${old()}`)
    const { code, err } = await ask(`import ${recent()} --ticker ABC`)
    expect(code).toBe(5)
    expect(err).toContain('new.csv: ABC: prices in this file are 0.25 times those that are stored, as by a 4:1 split')
    expect(err).toContain('or --rescale multiplies what is stored by it, or --accept-jump stores the bars as they are')
    const line = `import ${recent()} --ticker ABC --rescale`
    expect(err).toContain(`error: 1 of 1 ticker was refused; nothing is loaded.\n  try:   bands ${line}\n`)
    expect(await documentOf('status')).toMatchObject({ tickers: [{ ticker: 'ABC', bars: 150 }] })
  })

  test('names the option for raw prices of a file that also has adjusted ones', async () => {
    await ask(`import ${old()}`)
    const rows = ROWS.slice(140).map(row => `${row},${Number(row.split(',')[4]) / 2}`)
    const line = `import ${write('adjusted.csv', rows, 'date,open,high,low,close,volume,adj_close')} --ticker ABC`
    const { code, err } = await ask(line)
    expect([code, err]).toEqual([5, expect.stringContaining(`  try:   bands ${line} --prices raw\n`)])
    expect(await ask(`${line} --prices raw`)).toMatchObject({ code: 0 })
  })

  test('brings the stored bars to the scale of the file with --rescale', async () => {
    await ask(`import ${old()}`)
    expect(await ask(`import ${recent()} --ticker ABC --rescale`)).toMatchObject({ code: 0 })
    expect((await ask('verify --deep')).code).toBe(0)
    expect(await documentOf('status')).toMatchObject({ tickers: [{ ticker: 'ABC', bars: 200 }] })
  })
})

describe('a night’s file of 505 tickers', () => {
  const header = 'ticker,date,open,high,low,close,volume'
  const names = Array.from({ length: 505 }, (_, i) => `T${String(i).padStart(3, '0')}`)
  const rowsOf = (rows: readonly string[]) => names.flatMap(name => rows.map(row => `${name},${row}`))
  const load = () => ask(`import ${write('all.csv', rowsOf(ROWS.slice(0, 20)), header)}`)
  const night = () => {
    const rows = rowsOf(ROWS.slice(20, 21))
    rows[200] = `T200,${quartered(ROWS[20]!)}`
    return write('night.csv', rows, header)
  }

  notInQuick('is loaded but for the one that has split, and says so', async () => {
    await load()
    const { code, err } = await ask(`import ${night()}`)
    expect(code).toBe(5)
    expect(err).toContain('night.csv: T200: prices in this file are 0.25 times')
    expect(err).toContain('error: 1 of 505 tickers was refused; the others are loaded.')
    const { tickers } = await documentOf('status')
    const late = tickers.filter(({ bars }: { bars: number }) => bars === 20)
    expect(late.map(({ ticker }: { ticker: string }) => ticker)).toEqual(['T200'])
  })

  notInQuick('tells which one as data', async () => {
    await load()
    const refused = { ticker: 'T200', reason: 'split', factor: 0.25, date: ROWS[20]!.slice(0, 10) }
    const { files } = await documentOf(`import ${night()}`)
    expect(files).toMatchObject([{ tickers: { length: 504 }, refused: [refused] }])
    expect(Object.keys(files[0].refused[0])).toEqual([...Object.keys(refused), 'message'])
    const lines = (await ask(`import ${night()} --ndjson`)).out.trimEnd().split('\n')
    const line = lines.map(text => JSON.parse(text)).find(({ ticker }) => ticker === 'T200')
    expect(line).toMatchObject({ refused: 'split', factor: 0.25, note: expect.stringContaining('--rescale') })
  })

  notInQuick('goes in whole with --accept-jump', async () => {
    await load()
    expect((await ask(`import ${night()} --accept-jump`)).code).toBe(0)
  })
})
