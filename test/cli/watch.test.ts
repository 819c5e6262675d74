import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstInQuick } from '../support/full.js'
import { expectEnd, expectRefusal, importBundledBars, type Lent, type Ran, scratch, typed } from './support/run.js'

const folder = scratch()
const db = folder.file('bands.db')
const env = { BANDS_DB: db }
const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env, ...lent.env } })

beforeAll(() => importBundledBars(db))
afterAll(folder.remove)

const json = async (line: string) => JSON.parse((await ask(`${line} --json`)).out)

describe('bands watch', () => {
  test('makes, shows, changes and removes lists, in a file of their own next to the database', async () => {
    expectEnd(await ask('watch list'), 0, 'no list yet; bands watch add NAME TICKER makes one.')
    expect(existsSync(folder.file('bands.lists.db'))).toBe(false)
    const made = await ask('watch add tech aapl,GSPC XYZ')
    expect(made).toMatchObject({ code: 0, out: 'tech   3 tickers\nAAPL GSPC XYZ\n' })
    expect(made.err).toContain('not loaded: XYZ (bands status)')
    expect(existsSync(folder.file('bands.lists.db'))).toBe(true)
    expect((await json('watch add Tech GSPC')).tickers).toEqual(['AAPL', 'GSPC', 'XYZ'])
    expect((await json('watch remove tech xyz')).tickers).toEqual(['AAPL', 'GSPC'])
    writeFileSync(folder.file('more.txt'), '# mine\nMSFT, AMZN\n')
    await ask(`watch add other @${folder.file('more.txt')}`)
    await typed('watch add piped -', { env, stdin: 'AAPL GSPC\n' })
    expect(await json('watch list')).toEqual({
      schema: 'bands.watch/1',
      lists: [
        { name: 'other', condition: null, tickers: ['MSFT', 'AMZN'] },
        { name: 'piped', condition: null, tickers: ['AAPL', 'GSPC'] },
        { name: 'tech', condition: null, tickers: ['AAPL', 'GSPC'] },
      ],
    })
    expect((await ask('watch show tech --csv')).out).toBe('name,condition,ticker\ntech,,AAPL\ntech,,GSPC\n')
    for (const name of ['other', 'piped']) expect((await ask(`watch remove ${name}`)).code).toBe(0)
    expect((await json('watch list')).lists).toHaveLength(1)
  })

  test('takes a named condition as the list of the tickers for which it holds', async () => {
    expect((await ask('conditions add dips rsi_zone=oversold')).code).toBe(0)
    expectEnd(await ask('changes --watch dips'), 0, 'the list dips, rsi_zone = oversold, holds of no ticker')
    const none = JSON.parse((await ask('screen rsi_zone!=neutral --watch dips --json')).out)
    expect(none).toMatchObject({ scanned: 0, matches: [] })
    const dated = JSON.parse((await ask('screen rsi_zone=oversold --watch dips --as-of 2018-02-08 --json')).out)
    expect(dated.matches.length).toBe(dated.scanned)
    expect(dated.scanned).toBeGreaterThan(1)
    const then = JSON.parse((await ask('tally rsi_zone --watch dips --as-of 2018-02-08 --json')).out)
    expect(then.tickers).toEqual(expect.arrayContaining(['AAPL', 'GSPC']))
  })

  test('an empty list ends a question in the line that fills it', async () => {
    for (const line of ['watch add bare GSPC', 'watch remove bare GSPC']) expect((await ask(line)).code).toBe(0)
    const { code, err } = await ask('tally rsi_zone --watch bare')
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/try: +bands watch add bare AAPL\n$/) })
    expect((await ask('watch remove bare')).code).toBe(0)
  })

  test.each([
    ['watch add dips AAPL', 2, 'dips is the condition "rsi_zone = oversold" already'],
    [
      'conditions add tech rsi_zone=oversold',
      2,
      'tech is a list of tickers already; bands watch remove tech removes it.',
    ],
    ['watch add new', 2, 'TICKER is missing.'],
    ['watch add 7 AAPL', 2, 'name "7" is not letters, digits, _ and -, at most 40, a letter first.'],
    ['watch add Close AAPL', 2, 'Close is a column of the exports; they have ticker, timeframe, date, open, '],
    ['watch add rsi_zone AAPL', 2, 'rsi_zone is a field of bands already; choose another name for the list.'],
    ['watch add new A,B!', 2, 'ticker "B!" is not 1 to 16 characters'],
    ['watch add new AAPL --when rsi_zone=oversold', 2, 'there is no option "--when" of watch add'],
    ['watch show tch', 3, 'there is no list "tch"; there are dips, tech.'],
    ['watch remove tech AAPM', 3, 'AAPM is not in the list tech.'],
    ['watch remove nobody', 3, 'there is no list "nobody"'],
    ['watch remove nobody', 3, 'try: bands watch add nobody AAPL'],
    ['tally rsi_zone --watch nobody', 3, 'try: bands watch add nobody AAPL'],
    [`watch show nobody --db ${db}`, 3, `try: bands watch add nobody --db ${db} AAPL`],
    ['tally rsi_zone --watch tec', 3, 'try: bands tally rsi_zone --watch tech'],
    ['watch add x AAPL --db /nowhere/x.db', 3, 'there is no database at /nowhere/x.db'],
  ])('bands %s is refused', async (line, code, said) => {
    const ran = await ask(line)
    expect(ran.code).toBe(code)
    expect(ran.out).toBe('')
    expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(said)
    expect((await json('watch list')).lists.map(({ name }: { name: string }) => name)).toEqual(['dips', 'tech'])
  })

  test.each(
    firstInQuick(
      [
        'tally rsi_zone --band oversold',
        'transitions rsi_zone',
        'backtest rsi_zone --band oversold --hold 20 --tests "draws 99"',
        'study rsi_zone --band oversold --tests "draws 99, bootstrap 99"',
        'sweep --field rsi_zone --horizon 5 --tests "bootstrap 99"',
      ],
      3,
    ),
  )('bands %s takes --watch where it takes --tickers', async line => {
    const watched = await ask(`${line} --watch tech --json`)
    const named = await ask(`${line} --tickers AAPL,GSPC --json`)
    expect(watched.code, watched.err).toBe(0)
    expect(JSON.parse(watched.out).tickers).toEqual(JSON.parse(named.out).tickers)
  })

  test('a file or a list without tickers is none, and not all of them', async () => {
    writeFileSync(folder.file('empty.txt'), '# none yet\n')
    const file = `@${folder.file('empty.txt')}`
    expectRefusal(await ask(`watch remove tech ${file}`), 2, `${folder.file('empty.txt')} has no ticker in it.`)
    expect((await json('watch show tech')).tickers).toEqual(['AAPL', 'GSPC'])
    const questions = ['now', 'export series', 'check lookahead', 'tally rsi_zone']
    for (const line of questions) {
      expectRefusal(await ask(`${line} --tickers ${file}`), 2, 'has no ticker in it.')
      expectRefusal(await typed(`${line} --tickers -`, { env, stdin: '' }), 2, 'standard input has no ticker in it.')
      expectRefusal(await ask(`${line} --watch dips`), 3, 'the list is empty')
    }
  })

  test('lists also work with the sample', async () => {
    const own = { XDG_DATA_HOME: folder.file('data'), BANDS_DB: '' }
    expect((await typed('watch add own AAPL', { env: own })).code).toBe(0)
    expect(existsSync(folder.file('data/bands/bands.lists.db'))).toBe(true)
    const found = JSON.parse((await typed('tally rsi_zone --watch own --json', { env: own })).out)
    expect(found.tickers).toEqual(['AAPL'])
  })

  test('lists are in a backup, in what doctor and verify look at, and completed', async () => {
    const file = folder.file('all')
    expect((await json(`backup ${file}`)).files).toEqual(['data', 'trials', 'lists'])
    await ask('watch remove tech')
    expect((await ask(`restore ${file} --replace`)).code).toBe(0)
    expect((await json('watch show tech')).tickers).toEqual(['AAPL', 'GSPC'])
    const { checks } = await json('doctor')
    expect(checks.find(({ name }: { name: string }) => name === 'lists')).toMatchObject({
      outcome: 'ok',
      detail: `2 in ${folder.file('bands.lists.db')}`,
    })
    const { beside } = await json('verify')
    expect(beside).toContainEqual({ kind: 'lists', file: folder.file('bands.lists.db'), rows: 2 })
    const found = await ask('completion --complete -- tally rsi_zone --watch t')
    expect(found.out).toContain('tech')
    writeFileSync(folder.file('bands.lists.db'), 'no database')
    const broken = (await json('doctor')).checks.find(({ name }: { name: string }) => name === 'lists')
    expect(broken).toMatchObject({ outcome: 'fail' })
  })
})
