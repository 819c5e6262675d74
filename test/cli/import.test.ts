import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import { strToU8, zipSync } from 'fflate'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { notInQuick } from '../support/full.js'
import {
  BARS,
  BIN,
  expectEnd,
  type Lent,
  type Ran,
  scratch,
  shell,
  typed,
  UNPRINTABLE,
  unpainted,
} from './support/run.js'

const folder = scratch()
let database = 0
beforeEach(() => {
  database++
})
afterAll(folder.remove)

const env = (): Record<string, string> => ({ BANDS_DB: folder.file(`${database}.db`) })
const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env(), ...lent.env } })
const write = (name: string, text: string | Buffer): string => {
  writeFileSync(folder.file(name), text)
  return folder.file(name)
}

const GOOD = 'date,open,high,low,close,volume\n2020-01-02,1,2,1,2,10\n2020-01-03,2,3,2,3,20\n'
const named = (ticker: string) => GOOD.replaceAll('2020', `${ticker},2020`).replace('date', 'ticker,date')
const MIXED = `${GOOD}2020-01-06,2,-3,2,3,20\n2020-01-07,3,4,3,4,30\n2020-01-08,x,4,3,4,30\n`

describe('bands import', () => {
  test('reports the read rows and their outcome', async () => {
    const { out, err, code } = await ask(`import ${BARS}/AAPL.csv`, { terminal: 100, env: { NO_COLOR: '1' } })
    expect(code).toBe(0)
    expect(err).toBe('\nnext: bands now AAPL\n')
    expect(out).toMatch(/AAPL\.csv {3}bands csv {3}1,260 rows {3}adjusted by adj_close/)
    expect(out).toMatch(/AAPL +adjusted +1,260 +0 +0 +1,260 +2013-05-13 +2018-05-11/)
  })

  test('names as many tickers in the next line as a tally does', async () => {
    const rows = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'].map(ticker => named(ticker).split('\n').slice(1).join('\n'))
    const file = write('six.csv', `ticker,date,open,high,low,close,volume\n${rows.join('')}`)
    const { err } = await ask(`import ${file} --db ${folder.file('six.db')}`, { terminal: 100, env: { NO_COLOR: '1' } })
    expect(err).toBe(`\nnext: bands now A1 A2 A3 A4 A5 --db ${folder.file('six.db')}\n`)
  })

  test('names columns that are not read, and the fields that stay empty without volume', async () => {
    const file = write('A.csv', 'date,open,high,low,close,spread\n2020-01-02,1,2,1,2,10\n')
    const { out } = await ask(`import ${file}`, { terminal: 200, env: { NO_COLOR: '1' } })
    expect(out).toContain('columns not read spread')
    expect(out).toContain('no volume: volume_ratio_band and accumulation_state stay empty')
    const [{ remarks }] = JSON.parse((await ask(`import ${file} --json`)).out).files
    const what = 'no volume: volume_ratio_band and accumulation_state stay empty'
    expect(remarks).toEqual([{ what, count: 1, first: [] }])
    const both = write(
      'two.csv',
      `ticker,date,open,high,low,close,volume\nB,2020-01-02,1,2,1,2,\nC,2020-01-02,1,2,1,2,3\n`,
    )
    expect((await ask(`import ${both}`, { terminal: 200, env: { NO_COLOR: '1' } })).out).toContain(
      'no volume of 1 ticker: volume_ratio_band and accumulation_state stay empty; first: B',
    )
  })

  test('ends a refusal with the typed line and what settles it', async () => {
    const rows = 'date,open,high,low,close,volume\n2020-01-02,1,2,1,2,10\n2020-01-03,2,3,2,3,20\n'
    const cases = [
      ['my prices.csv', rows, ' --prices raw'],
      ['A.csv', rows.replace('date,open,high,low,close,volume', 'a,b,c,d,e,f'), ''],
      ['B.csv', rows.replaceAll('2020-01-02', '01/02/2020').replaceAll('2020-01-03', '01/03/2020'), ''],
      ['C.csv', rows.replace('2,3,2,3,20', '2,3,2,x,20'), ''],
    ]
    for (const [name, text, more] of cases) {
      const file = write(name!, text!)
      const { err, code } = await ask(`import '${file}'${more}`)
      expect(code).toBe(5)
      const [, line] = /\n {2}try: +bands (.*)$/.exec(err.trimEnd().replace(/\n {9}/g, ' '))!
      expect(line).toContain(more!)
      database++
      expect((await ask(line!)).code, line).toBe(0)
    }
  })

  test('keeps by range which file brought which bars, for explain and status', async () => {
    const [header, ...rows] = readFileSync(`${BARS}/AAPL.csv`, 'utf8').trimEnd().split('\n')
    const part = (name: string, from: number, to?: number) =>
      write(name, [header, ...rows.slice(from, to)].join('\n').concat('\n'))
    const old = part('old.csv', 0, -5)
    const more = part('new.csv', -8)
    expect((await ask(`import ${old} --ticker AAPL`)).code).toBe(0)
    expect((await ask(`import ${more} --ticker AAPL`)).code).toBe(0)
    const { tickers } = JSON.parse((await ask('status --json')).out)
    expect(tickers[0].sources).toMatchObject([
      { source: old, bars: 1255, first: '2013-05-13', last: '2018-05-04' },
      { source: more, bars: 5, first: '2018-05-07', last: '2018-05-11' },
    ])
    expect((await ask('status')).out).toContain(
      `${old}, the first 1,255 of 1,260 bars; ${more}, the last 5 of 1,260 bars`,
    )
    const explained = async (line: string) => (await ask(`explain AAPL rsi_zone ${line}`)).out
    expect(await explained('2018-05-04')).toContain(
      `prices from ${old} (1,255 of 1,260 daily bars, 2013-05-13 to 2018-05-04), imported `,
    )
    expect(await explained('2018-05-07')).toContain(
      `prices from ${more} (5 of 1,260 daily bars, 2018-05-07 to 2018-05-11), imported `,
    )
    expect(JSON.parse(await explained('2018-05-04 --as-of 2018-05-04 --json'))).toMatchObject({
      source: old,
      source_bars: { bars: 1255, of: 1255 },
    })
    expect((await ask('verify --deep')).code).toBe(0)
    expect((await ask('rebuild')).code).toBe(0)
    expect(await explained('2018-05-04')).toContain(`prices from ${old} (`)
  })

  test('is silent with -q where all is loaded, and not where a row is bad', async () => {
    const file = `${BARS}/AAPL.csv`
    expect(await ask(`import ${file} -q`)).toMatchObject({ code: 0, out: '', err: '' })
    const bad = write('BAD.csv', `${GOOD.trimEnd()}\n2018-99-99,1,1,1,1,1\n`)
    expect((await ask(`import ${bad} -q --bad-rows skip`)).out).toContain('1 bad row')
    expect(JSON.parse((await ask(`import ${file} -q --json`)).out).files).toHaveLength(1)
  })

  test('reads standard input, compressed files and folders', async () => {
    expect((await ask('import - --ticker ONE', { stdin: GOOD })).code).toBe(0)
    expect((await ask(`import ${write('TWO.csv.gz', gzipSync(GOOD))}`)).code).toBe(0)
    expect((await ask(`import ${BARS}`)).code).toBe(0)
    const { out } = await ask('status --csv')
    expect(out.match(/^\w+/gm)).toEqual(['ticker', 'AAPL', 'GSPC', 'ONE', 'TWO'])
  })

  notInQuick('unpacks a zip with the library that is bundled for it', async () => {
    const ran = await shell(
      `bands import "${write('THREE.zip', Buffer.from(zipSync({ 'three.csv': strToU8(GOOD) })))}"`,
      env(),
    )
    expect([ran.code, ran.err]).toEqual([0, ''])
  })

  test('cannot be made to steer the terminal by the name of a file', async () => {
    const file = write('\u001b[31mRED\u202e\u009b.csv', GOOD)
    for (const format of ['', ' --json', ' --ndjson', ' --csv']) {
      const { out } = await ask(`import ${file} --ticker RED --color never${format}`, { terminal: 200 })
      expect(out.replaceAll('\n', ''), format).not.toMatch(UNPRINTABLE)
      expect(out, format).toContain('RED\\u202e\\u009b.csv')
    }
    const piped = await ask(`import ${file} --ticker RED --json`)
    expect(piped.out).toContain('RED\u202e')
  })

  test('loads the good files of several, names the faults of the others, and fails', async () => {
    const files = [write('GOOD.csv', GOOD), write('MIXED.csv', MIXED), write('ALSO.csv', GOOD)].join(' ')
    const told = await ask(`import ${files}`)
    expect(told.code).toBe(5)
    expect(told.err).toMatch(/MIXED\.csv:4:14: .*\nerror: 1 of 3 files was refused; the others are loaded\./)
    const { out, code } = await ask(`import ${files} --json`)
    expect(code).toBe(5)
    expect(JSON.parse(out)).toMatchObject({ files: [{}, {}], refused: [{ line: 4, column: 14 }] })
    expect((await ask('status --csv')).out.match(/^\w+/gm)).toEqual(['ticker', 'ALSO', 'GOOD'])
  })

  test('leaves the sample answering when the first file of all is refused', async () => {
    const home = { BANDS_DB: '', XDG_DATA_HOME: folder.file(`data-${database}`) }
    expect((await ask(`import ${write('JUNK.csv', 'date,open\n1,2\n')}`, { env: home })).code).toBe(5)
    const asked = await ask('events AAPL rsi_zone --limit 1', { env: home })
    expect(asked).toMatchObject({ code: 0, err: expect.stringContaining('sample data') })
    expect((await ask(`import ${write('MINE.csv', GOOD)}`, { env: home })).code).toBe(0)
    expect((await ask('events AAPL rsi_zone', { env: home })).code).toBe(3)
  })

  test('keeps bad rows in a file that can be mended and imported', async () => {
    const file = write('MIXED.csv', MIXED)
    const refused = await ask(`import ${file}`)
    expect(refused).toMatchObject({ code: 5, out: '' })
    expect(refused.err).toContain(`${file}:4:`)
    const bad = folder.file('bad.csv')
    const { code, out } = await ask(`import ${file} --bad-rows ${bad} --json`)
    expect(code).toBe(0)
    expect(JSON.parse(out).files[0]).toMatchObject({ rows: 5, rejects: bad, rejected: [{ line: 4 }, { line: 6 }] })
    expect(readFileSync(bad, 'utf8')).toBe(
      'date,open,high,low,close,volume\n2020-01-06,2,-3,2,3,20\n2020-01-08,x,4,3,4,30\n',
    )
    write('bad.csv', readFileSync(bad, 'utf8').replace('-3', '3').replace('x', '4'))
    expect((await ask(`import ${bad} --ticker MIXED`)).code).toBe(0)
    expect(JSON.parse((await ask('status --json')).out).tickers[0]).toMatchObject({ ticker: 'MIXED', bars: 5 })
  })

  test('names the rejects after the file, next to the database by default', async () => {
    write('LOOSE.csv', MIXED)
    const home = { XDG_DATA_HOME: folder.file(`data-${database}`) }
    const ran = await shell(`cd "${folder.path}" && bands import LOOSE.csv --bad-rows skip`, home)
    expect(ran.code).toBe(0)
    const kept = `${home.XDG_DATA_HOME}/bands/LOOSE.csv.rejects`
    expect(ran.out).toContain(`2 bad rows are not loaded, and kept in ${kept}; the first:`)
    expect(ran.out).toContain('\n  LOOSE.csv:4:')
    expect(readFileSync(kept, 'utf8').split('\n')).toHaveLength(4)
    expect(existsSync(folder.file('LOOSE.csv.rejects'))).toBe(false)
  })

  notInQuick('reports each file as NDJSON when it is committed, before the next one', async () => {
    const child = spawn(process.execPath, [BIN, 'import', write('A.csv', named('A')), '-', '--ndjson'], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env() },
    })
    const ended = new Promise(resolve => child.on('close', resolve))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const told = async () => JSON.parse((await lines.next()).value)
    expect(await told()).toMatchObject({ ticker: 'A', added: 2 })
    expect((await ask('status --csv')).out.match(/^\w+/gm)).toEqual(['ticker', 'A'])
    child.stdin.end(named('B'))
    expect(await told()).toMatchObject({ file: '-', ticker: 'B', added: 2 })
    expect([await ended, await lines.next()]).toEqual([0, { done: true, value: undefined }])
  })

  test('does not write rejects over a file that it reads', async () => {
    const file = write('SELF.csv', MIXED)
    expect(await ask(`import ${file} --bad-rows ${file}`)).toMatchObject({ code: 2 })
    expect(readFileSync(file, 'utf8')).toBe(MIXED)
  })

  test('keeps rejects of files with other headers apart', async () => {
    const one = write('ONE.csv', MIXED)
    const two = write('TWO.csv', 'date;close;open;high;low\n2020-01-02;1;1;1;1\n2020-01-03;-1;1;1;1\n')
    const bad = folder.file('apart.csv')
    expect((await ask(`import ${one} ${two} --bad-rows ${bad}`)).code).toBe(0)
    expect(readFileSync(bad, 'utf8').split('\n')[0]).toBe('date,open,high,low,close,volume')
    expect(readFileSync(`${bad}.2`, 'utf8').split('\n')[0]).toBe('date;close;open;high;low')
  })

  test('takes what the user says about a file', async () => {
    const file = write('odd.txt', '03/02/2020;1,5;2;1;1,5\n04/02/2020;1,5;2;1;1,5\n')
    const words =
      '--ticker ODD --layout "delimiter semicolon, dates DD/MM/YYYY, decimal comma, columns date,open,high,low,close"'
    expect((await ask(`import ${file} ${words}`)).code).toBe(0)
    expect((await ask('export bars --csv')).out).toContain('ODD,2020-02-03,1.5,2,1,1.5,\n')
    expect((await ask(`import ${file} --layout "delimiter semicolons"`)).err).toContain('--layout delimiter')
    expect((await ask(`import ${file} --prices row`)).err).toContain('Did you mean "raw"?')
  })

  test('warns of a new ticker that is stored with or without the exchange of the US', async () => {
    expect((await ask(`import ${write('AAPL.US.csv', GOOD)}`)).code).toBe(0)
    const bulk =
      'Code,Ex,Date,Open,High,Low,Close,Volume\nAAPL,US,2020-01-06,2,3,2,3,20\nMSFT,US,2020-01-06,2,3,2,3,20\n'
    const { out, code } = await ask(`import ${write('US.csv', bulk)}`)
    expect(code).toBe(0)
    const what = 'AAPL.US is stored, maybe the same under another name: --ticker AAPL.US adds to it'
    expect(out).toMatch(/warning: other name once, first at \S+US\.csv: AAPL 2020-01-06 /)
    expect(out).toContain(what)
    expect((await ask(`import ${write('US.csv', bulk)}`)).out).not.toContain('other name')
    expect((await ask(`import ${write('MSFT.US.csv', GOOD)}`)).out).toContain('MSFT is stored, maybe the same')
  })

  notInQuick('shows progress on a terminal alone, and takes it away', async () => {
    const slow = { pace: 300 }
    const seen = await ask(`import ${BARS}`, { ...slow, terminal: 80 })
    expect(seen.err).toMatch(/\r(reading|merging|deriving) {2}.*\.csv/)
    const hint = '\nnext: bands now AAPL GSPC\n'
    expect(unpainted(seen.err).endsWith(`\r\u001b[K${hint}`)).toBe(true)
    expect((await ask(`import ${BARS}`, slow)).err).toBe('')
    expect((await ask(`import ${BARS} -q`, { ...slow, terminal: 80 })).err).toBe('')
    expect(unpainted((await ask(`import ${BARS} --progress none`, { ...slow, terminal: 80 })).err)).toBe(hint)
    const dumb = { ...slow, terminal: 80, env: { TERM: 'dumb' } }
    expect((await ask(`import ${BARS}`, dumb)).err).toBe(hint)
    expect((await ask(`import ${BARS} --progress plain`, { pace: 6000 })).err).toMatch(
      /^(reading|merging|deriving) {2}\S+\.csv .*\n/,
    )
  })
})

describe('the data commands', () => {
  test('simulate prints what load puts in', async () => {
    const { out } = await ask('simulate 2 --bars 30 --seed 7')
    expect(out.split('\n')).toHaveLength(62)
    await ask('simulate 2 --bars 30 --seed 7 --load')
    expect((await ask('export bars --csv')).out).toBe(out.replace(/\.0+(?=,)|(\.\d)0(?=,)/g, '$1'))
    expect((await ask('simulate 1 --bars 30 --seed 7')).out).toBe(`${out.split('\n').slice(0, 31).join('\n')}\n`)
  })

  test('remove takes a ticker out', async () => {
    await ask('simulate 2 --bars 30 --load')
    expect((await ask('remove sim0001')).out).toBe('SIM0001 is removed\n')
    expect((await ask('remove sim0001')).err).toContain('Did you mean "SIM0002"?')
    expect((await ask('status --csv')).out).not.toContain('SIM0001')
  })

  test('import takes no bar from after tomorrow, and remove --after takes bars out', async () => {
    const rows = ['2025-12-30', '2025-12-31', '2026-01-02'].map(date => `${date},1,2,1,2,10\n`).join('')
    const early = write('T.csv', `date,open,high,low,close,volume\n${rows}`)
    expect((await ask(`import ${early}`)).code).toBe(0)
    const late = write('L.csv', `date,open,high,low,close,volume\n${rows}2026-01-03,1,2,1,2,10\n`)
    expectEnd(await ask(`import ${late}`), 5, 'date 2026-01-03 is yet to come')
    expect((await ask('remove t --after 2025-12-30')).out).toBe('2 bars of T removed\n')
    expect((await ask('remove T --after 2025-12-30')).out).toBe('T has no bars after 2025-12-30\n')
    expect((await ask('export bars --tickers T --csv')).out.split('\n')).toHaveLength(3)
    expectEnd(await ask('remove T --after 2025-12-29'), 2, 'every bar of T is after 2025-12-29')
    expectEnd(await ask('remove U --after 2025-12-29'), 3, 'no bars are loaded for "U"')
  })

  test('rebuild and verify agree', async () => {
    await ask('simulate 2 --bars 300 --load')
    expect((await ask('rebuild')).out).toBe('derived 2 tickers again from the bars\n')
    expect((await ask('verify --deep')).out).toBe(
      '2 tickers checked, every event derived again: all as it was written\n',
    )
    await ask('accounts create alice --tier free')
    await ask('study SIM0001 rsi_zone')
    expect((await ask('verify')).out).toBe(
      '2 tickers, the ledger of credits (0 rows), the trial log (5 rows) checked: all as it was written\n',
    )
  })

  test('export writes whole files, in the format of their ending', async () => {
    await ask('simulate 2 --bars 300 --load')
    for (const [name, start] of [
      ['e.csv', 'ticker,field,'],
      ['e.ndjson', '{"ticker":"SIM0001",'],
      ['e.json', '[{"ticker":"SIM0001",'],
      ['e.parquet', 'PAR1'],
    ] as const) {
      const ran = await ask(`export events --write ${folder.file(name)}`)
      expect(ran).toMatchObject({ code: 0, out: '' })
      expect(ran.err).toMatch(/^wrote [\d,]+ rows, daily and weekly, to /)
      expect(readFileSync(folder.file(name), 'latin1').startsWith(start)).toBe(true)
    }
    expect((await ask('export bars --output parquet', { terminal: 80 })).code).toBe(2)
    expect((await ask('export bars --output parquet')).out.startsWith('PAR1')).toBe(true)
  })

  test('export and tally take tickers by comma, from a file and from standard input', async () => {
    await ask('simulate 4 --bars 300 --load')
    const list = write('list.txt', 'SIM0003  # the third\nsim0002\n')
    const lines = (text: string): Set<string> =>
      new Set(
        text
          .trimEnd()
          .split('\n')
          .slice(1)
          .map(row => row.split(',')[0]!),
      )
    expect(lines((await ask('export bars --csv --tickers SIM0001,SIM0004')).out)).toEqual(
      new Set(['SIM0001', 'SIM0004']),
    )
    expect(lines((await ask(`export bars --csv --tickers @${list}`)).out)).toEqual(new Set(['SIM0002', 'SIM0003']))
    expect(lines((await ask('export bars --csv --tickers -', { stdin: 'sim0001' })).out)).toEqual(new Set(['SIM0001']))
    const pooled = async (words: string, stdin = ''): Promise<string[]> =>
      JSON.parse((await ask(`tally ${words} --json`, { stdin })).out).tickers
    expect(await pooled('SIM0001 rsi_zone')).toEqual(['SIM0001'])
    expect(await pooled('SIM0001,SIM0002 rsi_zone')).toEqual(['SIM0001', 'SIM0002'])
    expect(await pooled(`rsi_zone --tickers SIM0004,@${list}`)).toEqual(['SIM0002', 'SIM0003', 'SIM0004'])
    expect(await pooled('rsi_zone --tickers -', 'SIM0002,SIM0001')).toEqual(['SIM0001', 'SIM0002'])
    expect(await pooled('rsi_zone --all')).toHaveLength(4)
  })
})
