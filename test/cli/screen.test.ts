import { describe, expect, it } from 'vitest'
import { type Ran, run } from './support/run.js'

const OVERSOLD = 'rsi_zone in (oversold, deep_oversold)'

/** A screen of the bundled sample. */
function screen(condition: string, ...options: string[]): Promise<Ran> {
  return run(['screen', condition, ...options])
}

async function found(condition: string, ...options: string[]) {
  const { code, out, err } = await screen(condition, ...options, '--json')
  expect(code, err).toBe(0)
  return JSON.parse(out)
}

describe('bands screen', () => {
  it('names what scan oversold finds on the same day', async () => {
    const scanned = JSON.parse((await run(['scan', 'oversold', '--date', '2018-02-08', '--json'])).out)
    const { matches, ...about } = await found(OVERSOLD, '--as-of', '2018-02-08')
    const names = (list: { ticker: string }[]): string[] => list.map(({ ticker }) => ticker).toSorted()
    expect(names(matches)).toEqual(names(scanned.matches))
    expect(names(matches).length).toBeGreaterThan(1)
    expect(about).toEqual({
      schema: 'bands.screen/3',
      when: OVERSOLD,
      within: null,
      as_of: '2018-02-08',
      subjects: ['rsi_zone'],
      scanned: 10,
      stale: 0,
    })
  })

  it('is with its tally as of the day of --as-of', async () => {
    const dated = await found(OVERSOLD, '--tally', '--since', '20', '--as-of', '2018-02-08')
    expect(dated.tally.as_of).toBe('2018-02-08')
    for (const { tally } of dated.matches) expect(tally.events).toBeGreaterThan(0)
  })

  it("reports the tally of each match's ticker, and the tally of the pool", async () => {
    const { matches, tally } = await found('rsi_zone enters oversold', '--since', '200', '--tally')
    const of = async (...who: string[]) =>
      JSON.parse((await run(['tally', ...who, '--when', 'rsi_zone enters oversold', '--json'])).out)
    expect(tally).toEqual(await of('--all'))
    expect(matches.length).toBeGreaterThan(1)
    const [{ ticker, tally: own }] = matches
    const [group] = (await of(ticker)).groups
    expect(own).toEqual({ events: group.events, windows: group.windows })
  })

  it('sorts and chooses columns, in CSV too, and names the nearest of a misspelt one', async () => {
    const { out } = await screen(
      OVERSOLD,
      '--since',
      '400',
      '--sort',
      'close:desc',
      '--columns',
      'ticker,close',
      '--csv',
    )
    const [head, ...rows] = out.trim().split('\n')
    expect(head).toBe('when,as_of,ticker,close')
    const closes = rows.map(row => Number(row.split(',').at(-1)))
    expect(closes).toEqual(closes.toSorted((a, b) => b - a))
    expect(closes.length).toBeGreaterThan(3)
    const { code, err } = await screen(OVERSOLD, '--sort', 'clse')
    expect(code).toBe(2)
    expect(err).toContain('Did you mean "close"?')
  })

  it('has the columns of its condition on a day without a match, and refuses others before anything is posted', async () => {
    const quiet = 'rsi_zone = deep_oversold for 50'
    const { code, out } = await screen(quiet, '--columns', 'ticker,rsi_zone', '--sort', 'rsi_zone', '--csv')
    expect([code, out]).toEqual([0, 'when,as_of,ticker,rsi_zone\n'])
    const wrong = await screen(quiet, '--columns', 'nonsense', '--allow-private', '--webhook', 'http://127.0.0.1:1/')
    expect(wrong.code).toBe(2)
    const unsigned = await screen(quiet, '--allow-private', '--webhook', 'http://127.0.0.1:1/')
    expect([unsigned.code, unsigned.err]).toEqual([6, expect.stringContaining('BANDS_WEBHOOK_SECRET')])
  })

  it('says why nothing is found, exits with 0, and with 3 under --fail-empty', async () => {
    const empty = 'rsi_zone = deep_oversold and rsi_zone = deep_overbought'
    const { code, err, out } = await screen(empty, '--json')
    expect([code, JSON.parse(out).matches]).toEqual([0, []])
    expect(err).toContain('No match: 10 tickers were looked at')
    expect((await screen(empty, '--fail-empty')).code).toBe(3)
  })

  it('refuses what is wrong in a sentence with the place', async () => {
    const refused = async (...words: string[]) => {
      const { code, err } = await run(words)
      return [code, err.replaceAll('\n', ' ')]
    }
    expect((await refused('screen', 'rsi_zone = oversol'))[1]).toContain('column 12')
    expect(await refused('screen')).toEqual([2, expect.stringContaining('CONDITION')])
    expect(await refused('screen', 'NOPE:rsi_zone = oversold')).toEqual([3, expect.stringContaining('NOPE')])
    expect((await refused('screen', OVERSOLD, '--since', '0'))[0]).toBe(2)
    const old = await refused('screen', OVERSOLD, '--date', '2018-02-08')
    expect(old).toEqual([2, expect.stringMatching(/bands screen .*--as-of 2018-02-08 $/)])
    expect(await refused('screen', 'valuation_zone = deep_value', '--tier', 'free')).toEqual([
      expect.any(Number),
      expect.stringContaining('tier'),
    ])
  })

  it('draws the last closes of a match on a terminal', async () => {
    const { out } = await run(['screen', OVERSOLD, '--as-of', '2018-02-08'], { terminal: 100 })
    expect(out).toMatch(/AAPL {2,}[▁▂▃▄▅▆▇█]{60} {2}153\.926/)
  })
})
