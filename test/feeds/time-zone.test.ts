import { describe, expect, it } from 'vitest'
import { wordsAsText } from '../../src/core/errors.js'
import { only, read, refusal, rowsOf } from './files.js'

const HOUR = 3_600_000
/** Two weeks of sessions in Tokyo, as the instants at which their days begin there: 15:00 UTC of the day before. */
const MONDAY = Date.UTC(2024, 0, 8)
const SESSIONS = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11].map(days => MONDAY + days * 24 * HOUR)
const DATES = SESSIONS.map(day => new Date(day).toISOString().slice(0, 10))
const BEGINS = SESSIONS.map(day => new Date(day - 9 * HOUR))

const table = (dates: readonly (string | number)[]) =>
  `date,open,high,low,close\n${dates.map((date, i) => `${date},${10 + i},12,9,11\n`).join('')}`.replaceAll(
    ',12,',
    ',30,',
  )
const objects = (dates: readonly (string | number)[]) =>
  JSON.stringify(dates.map(date => ({ date, open: 10, high: 12, low: 9, close: 11 })))
const datesOf = async (name: string, text: string, timeZone?: string) =>
  rowsOf(only(await read(name, text, timeZone === undefined ? {} : { hints: { timeZone } }))).map(([date]) => date)

const WAYS: [way: string, dates: (string | number)[]][] = [
  ['ISO times', BEGINS.map(date => date.toISOString())],
  ['times without a word about the zone', BEGINS.map(date => date.toISOString().slice(0, 19).replace('T', ' '))],
  ['seconds', BEGINS.map(date => date.getTime() / 1000)],
  ['milliseconds', BEGINS.map(date => date.getTime())],
]

describe('times in UTC', () => {
  it.each(WAYS)('that put sessions of Asia on the day before are warned about: %s', async (_, dates) => {
    for (const result of [await read('T.csv', table(dates)), await read('T.json', objects(dates))]) {
      const [warning] = result.warnings
      expect(warning).toMatchObject({
        kind: 'sundays',
        count: 2,
        first: [{ date: '2024-01-07' }, { date: '2024-01-14' }],
      })
      expect(wordsAsText(warning!.first[0]!.detail)).toContain(
        'time_zone Asia/Tokyo, or where the exchange is, dates them as there',
      )
    }
  })

  it.each(WAYS)('are dated by the exchange when its time zone is given: %s', async (_, dates) => {
    for (const [name, text] of [
      ['T.csv', table(dates)],
      ['T.json', objects(dates)],
    ] as const) {
      expect(await datesOf(name, text, 'asia/tokyo')).toEqual(DATES)
      const { warnings, dialect } = await read(name, text, { hints: { timeZone: 'asia/tokyo' } })
      expect(warnings.map(({ kind }) => kind)).not.toContain('sundays')
      expect(dialect['time zone']).toBe('Asia/Tokyo')
    }
  })

  it('follow summer time', async () => {
    // Midnight in Sydney is 13:00 UTC in January and 14:00 in July; its open 10:00 is 23:00 and 00:00.
    const text = table(['2024-01-07T13:00:00Z', '2024-01-08T23:00:00Z', '2024-07-07T14:00:00Z', '2024-07-09T00:00:00Z'])
    expect(await datesOf('S.csv', text, 'Australia/Sydney')).toEqual([
      '2024-01-08',
      '2024-01-09',
      '2024-07-08',
      '2024-07-09',
    ])
  })

  it('leave dates and midnights as they are, wherever the exchange is', async () => {
    for (const date of ['2024-01-08', '20240108', '2024-01-08T00:00:00.000Z', Date.UTC(2024, 0, 8) / 1000])
      expect(await datesOf('X.csv', table([date]), 'America/New_York')).toEqual(['2024-01-08'])
  })

  it('are told from times with an offset, which are those of the exchange', async () => {
    const dates = DATES.map(date => `${date} 15:00:00+09:00`)
    expect((await read('T.csv', table(dates))).warnings.map(({ kind }) => kind)).not.toContain('sundays')
    expect(await datesOf('T.csv', table(dates))).toEqual(DATES)
    expect(await datesOf('T.csv', table(dates), 'Asia/Tokyo')).toEqual(DATES)
    expect((await datesOf('T.csv', table([`${DATES[0]} 00:00:00+09:00`]), 'America/New_York'))[0]).toBe('2024-01-07')
  })

  it.each([
    ['of every day, as crypto has', Array.from({ length: 14 }, (_, i) => new Date(MONDAY + (i + 0.99) * 24 * HOUR))],
    ['of the close in New York', SESSIONS.map(day => new Date(day + 21 * HOUR))],
    ['of one bar', BEGINS.slice(0, 1)],
  ])('are no cause for a warning: %s', async (_, dates) => {
    const { warnings } = await read('X.csv', table(dates.map(date => date.toISOString())))
    expect(warnings.map(({ kind }) => kind)).not.toContain('sundays')
  })

  it('give way to the zone that is given where a vendor leaves it open', async () => {
    const answer = { ticker: 'X', results: [{ o: 10, h: 12, l: 9, c: 11, v: 1, t: Date.UTC(2024, 0, 7, 15) }] }
    expect(await datesOf('X.json', JSON.stringify(answer))).toEqual(['2024-01-07'])
    expect(await datesOf('X.json', JSON.stringify(answer), 'Asia/Tokyo')).toEqual(['2024-01-08'])
  })
})

describe('a time zone', () => {
  it.each([
    ['Asia/Tokio', ' Did you mean "Asia/Tokyo"?'],
    ['Tokyo', ' Did you mean "Asia/Tokyo"?'],
    ['new york', ' Did you mean "America/New_York"?'],
    ['+09:00', ''],
    ['nowhere', ''],
  ])('that is none is refused with the nearest: %s', async (timeZone, near) => {
    expect(await refusal('X.csv', table(['2024-01-08']), { hints: { timeZone } })).toBe(
      `time_zone "${timeZone}" is not the name of a time zone (IANA), such as Asia/Tokyo.${near}`,
    )
  })
})
