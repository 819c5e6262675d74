import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Lists, Mark } from '../../src/core/source.js'
import { openForWriting, Session } from '../../src/data/store/sqlite/connection.js'
import { LISTS, openSqliteLists, openSqliteListsForReading } from '../../src/data/store/sqlite/lists.js'
import { verifyLists } from '../../src/data/store/sqlite/verify.js'
import { temporaryFolder } from '../support/store.js'

function listsIn(folder: string): Lists {
  const lists = openSqliteLists(join(folder, 'bands.lists.db'), () => 0)
  onTestFinished(() => lists.close())
  return lists
}

const mark = (ticker: string, timeframe: Mark['timeframe'], day: number): Mark => ({ ticker, timeframe, day })

describe('the lists of a user', () => {
  it('are of a condition or of tickers, and what is there first stays', async () => {
    const lists = listsIn(temporaryFolder())
    await lists.addCondition('dips', 'rsi_zone = oversold')
    expect(await lists.addCondition('dips', 'rsi_zone = overbought')).toEqual({
      name: 'dips',
      condition: 'rsi_zone = oversold',
      tickers: [],
    })
  })

  it('store a mark per list that only moves forward and is deleted with the list', async () => {
    const lists = listsIn(temporaryFolder())
    await lists.add('tech', ['A'])
    await lists.saveMarks('tech', [mark('A', 'daily', 10), mark('A', 'weekly', 8)])
    await lists.saveMarks('tech', [mark('A', 'daily', 9), mark('A', 'weekly', 15), mark('B', 'daily', 1)])
    await lists.saveMarks('', [mark('A', 'daily', 3)])
    expect(await lists.readMarks('TECH')).toEqual([
      mark('A', 'daily', 10),
      mark('A', 'weekly', 15),
      mark('B', 'daily', 1),
    ])
    expect(await lists.readMarks('')).toEqual([mark('A', 'daily', 3)])
    await lists.remove('tech')
    await lists.add('tech', ['A'])
    expect(await lists.readMarks('tech')).toEqual([])
    expect(await lists.readMarks('')).toEqual([mark('A', 'daily', 3)])
  })

  it('keep a mark for a field that stays behind, until it is at the mark of its ticker, and forget it with the list', async () => {
    const lists = listsIn(temporaryFolder())
    const day = (day: number, field?: string): Mark => ({ ...mark('A', 'daily', day), ...(field && { field }) })
    await lists.add('tech', ['A'])
    await lists.saveMarks('tech', [day(10)])
    await lists.saveMarks('tech', [day(20), day(10, 'growth_zone'), day(10, 'valuation_zone')])
    const both = [day(20), day(10, 'growth_zone'), day(10, 'valuation_zone')]
    expect(await lists.readMarks('tech')).toEqual(both)
    // An answer that was late, and one that left out another field.
    await lists.saveMarks('tech', [day(15), day(9, 'growth_zone'), day(9, 'valuation_zone')])
    expect(await lists.readMarks('tech')).toEqual(both)
    await lists.saveMarks('tech', [day(15), day(10, 'growth_zone')])
    expect(await lists.readMarks('tech')).toEqual([day(20), day(10, 'growth_zone'), day(15, 'valuation_zone')])
    await lists.renameTicker('A', 'B')
    expect((await lists.readMarks('tech')).map(({ ticker }) => ticker)).toEqual(['B', 'B', 'B'])
    await lists.renameTicker('B', 'A')
    await lists.saveMarks('tech', [day(20)])
    expect(await lists.readMarks('tech')).toEqual([day(20)])
    await lists.saveMarks('tech', [day(30), day(20, 'growth_zone')])
    await lists.remove('tech')
    expect(await lists.readMarks('tech')).toEqual([])
  })

  it('read the marks of an older file, and bring them up to date', async () => {
    const path = join(temporaryFolder(), 'bands.lists.db')
    const older = { ...LISTS, migrations: LISTS.migrations.slice(0, 1) }
    const db = new Session(path, openForWriting(path, older), older)
    db.run("INSERT INTO seen VALUES ('', 'A', 'daily', 5)")
    db.close()
    const reading = openSqliteListsForReading(path)!
    expect(await reading.readMarks('')).toEqual([mark('A', 'daily', 5)])
    await reading.close()
    expect(verifyLists(path).damages).toEqual([])
    const lists = openSqliteLists(path)
    onTestFinished(() => lists.close())
    const behind = { ...mark('A', 'daily', 5), field: 'growth_zone' }
    await lists.saveMarks('', [mark('A', 'daily', 7), behind])
    expect(await lists.readMarks('')).toEqual([mark('A', 'daily', 7), behind])
    expect(verifyLists(path).damages).toEqual([])
  })

  it('delete with a list all its marks, alone or in combination, and no others', async () => {
    const path = join(temporaryFolder(), 'bands.lists.db')
    const lists = openSqliteLists(path)
    onTestFinished(() => lists.close())
    for (const name of ['tech', 'tech2', 'a_b', 'axb']) await lists.add(name, ['A'])
    const questions = ['', '#1', 'tech', 'tech#1', 'a_b,Tech', 'tech,tech2#1', 'tech2', 'a_b', 'axb']
    for (const question of questions) await lists.saveMarks(question, [mark('A', 'daily', 1)])
    expect(verifyLists(path)).toMatchObject({ damages: [] })
    await lists.remove('TECH')
    const left: string[] = []
    for (const question of questions) if ((await lists.readMarks(question)).length > 0) left.push(question)
    expect(left).toEqual(['', '#1', 'tech2', 'a_b', 'axb'])
    await lists.saveMarks('axb,gone#1', [mark('A', 'daily', 1)])
    expect(verifyLists(path).damages.map(({ what }) => what)).toEqual(['what was told of axb,gone is of no list'])
  })

  it('rename a ticker in lists and marks, replacing marks of the new name', async () => {
    const lists = listsIn(temporaryFolder())
    await lists.add('tech', ['FB', 'A'])
    await lists.add('both', ['META', 'FB', 'B'])
    await lists.add('none', ['A'])
    await lists.saveMarks('tech#1', [mark('FB', 'daily', 5), mark('FB', 'weekly', 4), mark('A', 'daily', 5)])
    await lists.saveMarks('', [mark('META', 'daily', 9), mark('FB', 'daily', 3)])
    expect(await lists.renameTicker('FB', 'META')).toEqual(['both', 'tech'])
    expect((await lists.all()).map(({ tickers }) => tickers)).toEqual([['META', 'B'], ['A'], ['META', 'A']])
    expect(await lists.readMarks('')).toEqual([mark('META', 'daily', 3)])
    expect(await lists.readMarks('tech#1')).toEqual([
      mark('A', 'daily', 5),
      mark('META', 'daily', 5),
      mark('META', 'weekly', 4),
    ])
    expect(await lists.renameTicker('FB', 'META')).toEqual([])
  })

  it('are what a map in memory is after any changes', async () => {
    const name = fc.constantFrom('a', 'A', 'b', 'c')
    const tickers = fc.array(fc.constantFrom('X', 'Y', 'Z', 'W'), { maxLength: 4 })
    const change = fc.tuple(fc.constantFrom('add', 'take', 'remove'), name, tickers)
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 25 }), async changes => {
        const path = join(temporaryFolder(), 'bands.lists.db')
        const lists = openSqliteLists(path)
        const model = new Map<string, { name: string; tickers: string[] }>()
        for (const [what, name, tickers] of changes) {
          const there = model.get(name.toLowerCase())
          if (what === 'add') {
            await lists.add(name, tickers)
            const all = [...new Set([...(there?.tickers ?? []), ...tickers])]
            model.set(name.toLowerCase(), { name: there?.name ?? name, tickers: all })
          } else if (what === 'take' && there !== undefined) {
            await lists.removeTickers(name, tickers)
            there.tickers = there.tickers.filter(ticker => !new Set<string>(tickers).has(ticker))
          } else if (what === 'remove') {
            await lists.remove(name)
            model.delete(name.toLowerCase())
          }
        }
        const expected = [...model]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, list]) => ({ condition: null, ...list }))
        expect(await lists.all()).toEqual(expected)
        for (const list of expected) expect(await lists.named(list.name.toUpperCase())).toEqual(list)
        await lists.close()
        const reading = openSqliteListsForReading(path)
        expect((await reading?.all()) ?? []).toEqual(expected)
        await reading?.close()
      }),
      { numRuns: 20 },
    )
  })

  it('are looked at by verify: what is of no list, and what is of two kinds', async () => {
    const path = join(temporaryFolder(), 'bands.lists.db')
    const lists = openSqliteLists(path)
    await lists.add('tech', ['A'])
    await lists.saveMarks('tech', [mark('A', 'daily', 1)])
    expect(verifyLists(path)).toMatchObject({ kind: 'lists', rows: 1, damages: [] })
    await lists.close()
    const db = new Session(path, openForWriting(path, LISTS), LISTS)
    db.run("UPDATE lists SET condition = 'rsi_zone = oversold'")
    db.run("INSERT INTO seen VALUES ('gone', 'A', 'daily', 1, '')")
    db.run("INSERT INTO seen_fields VALUES ('lost', 'A', 'daily', 'growth_zone', 1, '')")
    const hash = (table: string, columns: string) =>
      `UPDATE ${table} SET row_hash = row_hash('${table}', ${columns.replace(/\w+/g, "'$&', $&")})`
    db.run(hash('lists', 'name, condition, made'))
    db.run(hash('seen', 'list, ticker, timeframe, day'))
    db.run(hash('seen_fields', 'list, ticker, timeframe, field, day'))
    db.close()
    expect(verifyLists(path).damages.map(({ what }) => what)).toEqual([
      'the list tech has a condition and tickers',
      'what was told of gone is of no list',
      'what was told of lost is of no list',
    ])
  })
})
