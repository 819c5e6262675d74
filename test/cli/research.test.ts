import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTrials } from '../../src/app/open/database.js'
import { parseDay } from '../../src/core/model/day.js'
import { probability } from '../../src/core/numbers.js'
import type { Trial } from '../../src/core/source.js'
import type { CheckLookahead } from '../../src/data/local/check.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { type EventStudy, isVolatile } from '../../src/research/study/result.js'
import type { Sweep } from '../../src/research/sweep/result.js'
import type { Tally } from '../../src/research/tally/tally.js'
import { CELL_TEST, type LogComparison } from '../../src/research/trials.js'
import { Database } from '../support/database.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { bundledBars } from './support/run.js'

const { folder, ask, json, table, told } = bundledBars()
const FAST = '--tests "draws 99, bootstrap 99"'
const lines = (file: string): string[] => readFileSync(folder.file(file), 'utf8').trimEnd().split('\n')

/** Where documents have the trial log. */
interface Logged {
  log: LogComparison | null
  trials?: { log?: LogComparison | null }
}

const STUDY = `study AAPL,GSPC rsi_zone --band oversold ${FAST}`
const BACKTEST = 'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 99"'
const SWEEP = 'sweep AAPL --field rsi_zone --horizon 5,20 --tests "bootstrap 99"'

describe('bands study', () => {
  test('shows in the table what JSON holds, a row a window', async () => {
    const { windows, events } = await json<EventStudy>(STUDY)
    const text = await table(STUDY, 120)
    expect(text).toContain(`${events} events`)
    for (const { window, n, n_independent } of windows)
      expect(text).toMatch(new RegExp(`^${Number.parseInt(window, 10)} +${n} +${n_independent} `, 'm'))
    const [header = '', ...rows] = (await ask(`${STUDY} --csv`)).out.trimEnd().split('\n')
    expect(rows).toHaveLength(windows.length)
    const at = header.split(',').indexOf('test_newey_west_p')
    expect(rows.map(row => row.split(',')[at])).toEqual(windows.map(({ tests }) => String(tests[0]!.p ?? '')))
  })

  test('begins with the verdict and the question, and fits 24 lines; --wide has all', async () => {
    const text = await table(STUDY)
    const [verdict, question] = text.split('\n')
    expect(verdict).toMatch(/^(Beats chance|Not told from chance|Worse than chance|Too few): /)
    expect(question).toMatch(/^AAPL, GSPC {2}rsi_zone = oversold/)
    expect(text.split('\n').length).toBeLessThanOrEqual(24)
    expect(text).toMatch(/^after {2}[▁-█]+/m)
    const wide = await table(`${STUDY} --wide --tests "naive"`)
    expect(wide).toMatch(/[\u2800-\u28ff]/)
    for (const part of ['Newey-West', 'naive', 'deep_overbought', 'Assumed', 'bca']) expect(wide).toContain(part)
    expect(text).not.toContain('clusters of dates')
  })

  test('takes a context in one word, and shows its band', async () => {
    const study = `study AAPL rsi_zone --band oversold ${FAST}`
    const found = await json<EventStudy>(`${study} --context GSPC:trend_direction=downtrend,strong_downtrend`)
    expect(found.occurrences.length).toBeGreaterThan(0)
    for (const { context_band } of found.occurrences) expect(context_band).toMatch(/downtrend/)
    const open = await json<EventStudy>(`${study} --context GSPC:trend_direction --context-lag 1`)
    expect(open.occurrences.length).toBeGreaterThan(found.occurrences.length)
  })

  test('writes the events to a file whose ending tells the form', async () => {
    const found = await json<EventStudy>(STUDY)
    for (const ending of ['csv', 'ndjson', 'json'])
      expect((await ask(`${STUDY} --write occurrences=${folder.file(`events.${ending}`)}`)).err).toContain(
        `wrote ${found.events} events to ${folder.file(`events.${ending}`)}`,
      )
    expect(lines('events.csv')).toHaveLength(found.events + 1)
    expect(lines('events.csv')[0]).toMatch(/^ticker,date,band,prev_band,.*returns_5d,.*mfe_5d,.*mae_100d$/)
    expect(JSON.parse(readFileSync(folder.file('events.json'), 'utf8'))).toEqual(found.occurrences)
    expect(lines('events.ndjson').map(line => JSON.parse(line))).toEqual(found.occurrences)
  })

  test('without an event says why, once', async () => {
    expect(await told(`study AAPL rsi_zone --band deep_oversold --after 2018-05-01`)).toBe(
      'No event: AAPL never became deep_oversold as it was asked for, from 2018-05-02 to 2018-05-11. ',
    )
    expect(await told('study AAPL rsi_zone --band oversold --when rsi_zone=overbought')).toContain(
      'No event: AAPL never became oversold when rsi_zone = overbought as it was asked for, from ',
    )
    expect(await told('study AAPL --when rsi_zone=deep_oversold --after 2018-05-01')).toBe(
      'No event: rsi_zone = deep_oversold never became true of AAPL as it was asked for, from 2018-05-02 to 2018-05-11. ',
    )
    expect(await told('study AAPL valuation_zone')).toContain('No event: valuation_zone uses dated facts')
    expect((await ask('study AAPL valuation_zone --fail-empty')).code).toBe(3)
  })
})

test.each([
  ['--after 2020-01-01', 'the bars of AAPL end on 2018-05-11, and none lies after 2020-01-01.'],
  ['--before 2000-01-01', 'the bars of AAPL begin on 2013-05-13, and none lies before 2000-01-01.'],
  [
    '--after 2016-01-01 --before 2016-01-03',
    'there is no bar with a band of rsi_zone after 2016-01-01 and before 2016-01-03; the bars go from 2013-05-13 to 2018-05-11.',
  ],
])('a study, a backtest, a grid and a comparison %s say alike that no bar counts', async (dates, reason) => {
  const strategy = 'backtest AAPL rsi_zone --band oversold --hold'
  const files = ['5', '20'].map(hold => folder.file(`hold-${hold}.yaml`))
  for (const [i, hold] of ['5', '20'].entries())
    writeFileSync(files[i]!, (await ask(`${strategy} ${hold} --print-config`)).out)
  const study = await ask(`study AAPL rsi_zone --band oversold ${dates}`)
  expect(study.out.split('\n\n')[0]).toContain(`No event: ${reason}`)
  const lines = [`${strategy} 20`, `${strategy} 20 --vary hold=5,20`, `compare ${files.join(' ')}`]
  for (const line of lines) expect((await ask(`${line} ${dates}`)).out.split('\n')[0]).toBe(`No trade: ${reason}`)
  expect(study.err).toBe('')
})

describe('the windows of a study', () => {
  const MORE = '--tests "draws 199, bootstrap 99"'
  const wide = (line: string): Promise<string> => table(line, 120)
  const line = `study GSPC rsi_zone --band oversold ${MORE}`

  test('have the P that allows for volatile times, and a word of what does not', async () => {
    const { windows, warnings } = await json<EventStudy>(line)
    const [head, ...rows] = rowsOf(await wide(line))
    const at = head!.indexOf('P')
    const shown = windows.map(({ tests }) => probability(tests.find(({ test }) => test === 'newey_west')!.p))
    expect(rows.map(row => row[at])).toEqual(shown)
    expect(windows.some(isVolatile)).toBe(true)
    expect(warnings.join()).toContain(
      'The p of the plain shift and the p of the aftermath do not: both are too small there.',
    )
  })

  notInQuick('name the number of shifts of the plain shift', async () => {
    const asked = `study AAPL rsi_zone --band neutral_low --horizon 5,20 ${MORE} --wide`
    const { windows } = await json<EventStudy>(asked)
    const shifts = windows.map(({ tests }) => tests.find(({ test }) => test === 'shift')!.shifts!)
    expect(shifts[0]).toBeGreaterThan(shifts[1]!)
    for (const used of shifts) expect((await wide(asked)).replace(/\s+/g, ' ')).toContain(`${used} shifts`)
  })

  test('have the n and the independent cases of the tally', async () => {
    for (const events of firstInQuick(['GSPC rsi_zone --band oversold', '--all rsi_zone --band overbought'])) {
      const { windows } = await json<EventStudy>(`study ${events} ${MORE}`)
      const [group] = (await json<Tally>(`tally ${events}`)).groups
      const of = windows.map(({ window, n, n_independent, hit }) => [window, n, n_independent, hit.low, hit.high])
      const counted = group!.windows.map(({ window, n, n_independent, hit_low, hit_high }) => {
        return [window, n, n_independent, hit_low, hit_high]
      })
      expect(counted).toEqual(of)
    }
  })

  notInQuick('stand against the bars in the same context, too', async () => {
    const asked = `study AAPL rsi_zone --context GSPC:trend_direction=uptrend,strong_uptrend ${MORE}`
    const { windows } = await json<EventStudy>(asked)
    const text = await wide(asked)
    expect(text).toContain('Against any bar while GSPC trend_direction = uptrend or strong_uptrend')
    expect(text).toContain(windows[0]!.context_base!.n.toLocaleString('en'))
    expect(await wide(line)).not.toContain('Against any bar while')
  })

  notInQuick('show the abnormal return where a benchmark is named', async () => {
    const asked = `study AAPL rsi_zone --band neutral --benchmark GSPC ${MORE}`
    expect((await json<EventStudy>(asked)).abnormal).toBe('market')
    const text = await wide(asked)
    expect(text).toContain("Cumulative abnormal return, market model on GSPC   P: Kolari and Pynnonen's test")
    expect((await wide(`${asked} --wide`)).match(/Cumulative abnormal return/g)).toHaveLength(1)
    expect(await wide(`${asked} --tests "abnormal none"`)).not.toContain('Cumulative abnormal return')
  })

  test('say too few for too few events', async () => {
    const few = await wide(`study AAPL rsi_zone --band oversold --horizon 20 ${MORE}`)
    expect(few).toMatch(/^Too few: /)
    expect(few).toContain('notes: too few events for a p-value')
    expect(await wide(`study AAPL rsi_zone --band oversold --horizon 20 ${MORE} --wide`)).toContain(
      'read them one by one',
    )
  })
})

describe('bands sweep', () => {
  notInQuick('begins with the verdict, and cuts the table alone', async () => {
    const found = await json<Sweep>(SWEEP)
    const text = await table(`${SWEEP} --limit 2`)
    expect(text).toMatch(/^Not told from chance: none of \d+ tested combinations/)
    const all = await table(`${SWEEP} --limit 2 --wide`)
    expect(all).toContain(`${found.tried.cells} combinations tried, ${found.tried.tested} with enough events`)
    expect(text).toContain(`${found.cells.length - 2} more: --limit ${found.cells.length}`)
    expect((await ask(`${SWEEP} --limit 2 --csv`)).out.trimEnd().split('\n')).toHaveLength(found.cells.length + 1)
    await ask(`${SWEEP} --limit 2 --write cells=${folder.file('cells.json')}`)
    expect(JSON.parse(readFileSync(folder.file('cells.json'), 'utf8'))).toHaveLength(found.cells.length)
    expect(all).toMatch(/Is the best of \d+ real\?/)
  })

  test.each(firstInQuick(['split 2016-01-01', 'walk-forward train=504,test=252', 'cv k=3,embargo=5', 'cpcv n=4,k=2']))(
    'checks what it chose with %s',
    async way => {
      const { validation } = await json<Sweep>(`${SWEEP} --validate "${way}"`)
      expect(validation?.folds.length).toBeGreaterThan(0)
      expect((await table(`${SWEEP} --validate "${way}"`)).replace(/\s+/g, ' ')).toMatch(
        / Chosen: .* On the days that were not used for the choice: n \d+/,
      )
    },
  )
})

describe('bands sweep --when', () => {
  const WHEN = '--when GSPC:trend_direction!=downtrend'
  const CONDITION = 'GSPC:trend_direction != downtrend'

  test('asks a condition that stands alone as one field: the bars on which it becomes true, unless a band says otherwise', async () => {
    const found = await json<Sweep>(`sweep AAPL --horizon 5,20 --tests "bootstrap 99" ${WHEN}`)
    expect(found).toMatchObject({ fields: [CONDITION], bands: ['true'], tried: { cells: 2 } })
    expect(found).not.toHaveProperty('when')
    const both = await json<Sweep>(`sweep AAPL --horizon 5,20 --tests "bootstrap 99" ${WHEN} --band false,true`)
    expect(both.cells.map(({ band }) => band).sort()).toEqual(['false', 'false', 'true', 'true'])
  })

  const SAME_LOOKS = [
    ['study AAPL rsi_zone --band neutral_high', '--field rsi_zone', '--context-lag 3'],
    ['study AAPL', '', ''],
    ['study AAPL rsi_zone --band neutral_high', '--field rsi_zone', ''],
    ['study AAPL', '', '--context-lag 3'],
  ]

  test.each(firstInQuick(SAME_LOOKS))(
    'has the cells of %s, and is the same look to the ledger %s %s',
    async (study, fields, lag) => {
      const more = `--horizon 5,20 --min-n 5 --tests "bootstrap 99" ${WHEN} ${lag}`
      const looks = async (): Promise<number> => (await json<{ cells: number }>('trials')).cells
      const { cells } = await json<Sweep>(`sweep AAPL ${fields} ${more}`)
      const noted = await looks()
      const { windows, events, bands } = await json<EventStudy>(`${study} ${more}`)
      expect(await looks()).toBe(noted)
      expect(events).toBeGreaterThan(5)
      for (const window of windows) {
        const cell = cells.find(({ band, horizon }) => band === bands![0] && horizon === window.horizon)!
        expect(cell).toMatchObject({ n: window.n, n_indep: window.n_indep, events: window.events })
        expect(cell.diff).toBeCloseTo(window.diff!, 12)
      }
    },
  )

  test('counts every cell that it looks at, and corrects for them', async () => {
    const narrowed = `--field rsi_zone,macd_state,support_status --band overbought,expanding_positive --horizon 5 --tests "bootstrap 99"`
    const line = `sweep AAPL ${narrowed} ${WHEN} --adjust holm --min-n 5`
    const { cells, tried, when, fields } = await json<Sweep>(line)
    expect([when, fields]).toEqual([CONDITION, ['rsi_zone', 'macd_state']])
    expect(cells.map(({ band }) => band).sort()).toEqual(['expanding_positive', 'overbought'])
    expect(tried.cells).toBe(2)
    expect(cells[0]!.q).toBeCloseTo(Math.min(1, 2 * cells[0]!.p!), 12)
    expect(await table(line)).toContain(`when ${CONDITION}`)
  })
})

test('the title says everything that events were narrowed to', async () => {
  const filter = '--prev-band neutral_low --stability fresh --max-flips 3'
  const beside = '--context GSPC:trend_direction=uptrend,strong_uptrend --context-lag 1'
  for (const line of [STUDY, BACKTEST]) {
    const shown = (await table(`${line} ${filter} ${beside}`, 120)).replace(/\s+/g, ' ')
    expect(shown).toContain('from neutral_low daily')
    expect(shown).toContain('while GSPC trend_direction = uptrend or strong_uptrend a bar before')
    expect(shown).toContain('stability fresh at most 3 flips')
  }
})

test('a sweep of cells with long names keeps their numbers, and the names whole', async () => {
  const line = `sweep AAPL --field macd_state --horizon 5 --context GSPC:trend_direction --tests "bootstrap 99" --limit 3`
  const shown = await table(line, 80)
  expect(shown).toMatch(/^ +Q .*DIFF .* N +INDEP +WHAT$/m)
  const [first] = (await json<Sweep>(line)).cells
  expect(shown.replace(/\s+/g, ' ')).toContain(`GSPC trend_direction = ${first!.context!.band} `)
  expect(shown).not.toContain('…')
})

test('a sweep of nothing says so, and shows no cell', async () => {
  const shown = await table(`${SWEEP} --after 2030-01-01`)
  expect(shown).toContain('No event: AAPL did not enter any band as it was asked for; 14 combinations had nothing')
  expect(shown).not.toMatch(/INDEP|real\?/)
})

describe('bands trials', () => {
  notInQuick('counts each distinct look once', async () => {
    const count = async (): Promise<number> => (await json<{ cells: number }>('trials')).cells
    await ask(`study GSPC macd_state --horizon 7 ${FAST}`)
    const before = await count()
    await ask(`study GSPC macd_state --horizon 7 ${FAST}`)
    expect(await count()).toBe(before)
    await ask(`study GSPC macd_state --horizon 7,8,9 ${FAST}`)
    expect(await count()).toBe(before + 2)
  })

  notInQuick(
    'that cannot be written cost no answer, which says so; that cannot be opened are said to be missing',
    async () => {
      const of = (file: string) => ({ env: { BANDS_DB: folder.file(file) } })
      cpSync(folder.file('bands.db'), folder.file('full.db'))
      await (await openTrials({ db: folder.file('full.db') }))!.close()
      const db = new Database(folder.file('full.trials.db'))
      db.exec("CREATE TRIGGER full BEFORE INSERT ON trials BEGIN SELECT RAISE(ABORT, 'no room'); END")
      db.close()
      for (const line of [STUDY, BACKTEST, SWEEP]) {
        const found = await json<EventStudy | Backtest | Sweep>(line, of('full.db'))
        expect(found.warnings.at(-1)).toMatch(/^this run is not noted in the trial log: .*no room/)
      }
      cpSync(folder.file('bands.db'), folder.file('odd.db'))
      writeFileSync(folder.file('odd.trials.db'), 'no database at all, but a text of some length')
      const studied = await ask(`${STUDY} --json`, of('odd.db'))
      expect(studied.code).toBe(0)
      expect(studied.err).toContain('this run is not counted among the trials')
      const listed = await ask('trials', of('odd.db'))
      expect([listed.code, listed.out]).toEqual([6, ''])
      expect(listed.err).not.toContain('this run')
    },
  )

  test('are only read, and are none before the first look', async () => {
    cpSync(folder.file('bands.db'), folder.file('new.db'))
    const asked = await ask('trials', { env: { BANDS_DB: folder.file('new.db') } })
    expect(asked.code).toBe(0)
    expect(asked.out).toContain('This database has no trial log yet')
    expect(existsSync(folder.file('new.trials.db'))).toBe(false)
  })

  test('are said to be cut only where a kind has more than is shown', async () => {
    const cells = (await json<{ cells: number }>('trials')).cells
    expect(await table(`trials --limit ${cells}`, 200)).not.toContain('The newest')
    expect(await table(`trials --limit ${cells - 1}`, 200)).toContain(`The newest ${cells - 1} of each kind`)
  })

  test('since a day counts its questions: a tally and a study of one are one', async () => {
    const since = async (day: string) =>
      json<{ since: string; questions: number; cells: number; trials: unknown[] }>(`trials --since ${day}`)
    const before = await since('today')
    await ask('tally GSPC ma_alignment --band aligned_bearish')
    const tallied = await since('today')
    expect([tallied.questions - before.questions, tallied.cells - before.cells]).toEqual([1, 5])
    await ask(`study GSPC ma_alignment --band aligned_bearish ${FAST}`)
    expect((await since('today')).cells).toBe(tallied.cells)
    expect(await since(tallied.since)).toEqual(await since('today'))
    expect(await since('2999-01-01')).toMatchObject({ questions: 0, cells: 0, strategies: 0, trials: [] })
    expect(await table('trials --since today')).toMatch(
      /^tried: \d+ questions \(\d+ windows\) +\d+ about events, \d+ about strategies[^#]*\ssince \d{4}-\d\d-\d\d$/m,
    )
    expect((await ask('trials --since yesterday')).err).toContain('today, or a calendar date as YYYY-MM-DD')
  })

  // 29 other questions of five windows on the same dates, and one on earlier dates, which does not count.
  const DOORS: [string, string][] = [
    ['study', `study GSPC ma_alignment --band aligned_bullish ${FAST}`],
    ['tally', 'tally GSPC ma_alignment --band aligned_bullish'],
    ['sweep', 'sweep GSPC --field ma_alignment --band aligned_bullish --tests "bootstrap 99"'],
  ]

  test.each(firstInQuick(DOORS, 2))(
    'reach the headline of a %s as one of 30 questions, unless they are not counted',
    async (door, line) => {
      const home = { env: { BANDS_DB: folder.file(`logged-${door}.db`) } }
      const text = async (typed: string): Promise<string> => (await ask(typed, home)).out.replace(/\s+/g, ' ')
      cpSync(folder.file('bands.db'), folder.file(`logged-${door}.db`))
      expect(await text(line)).not.toContain('tested on these data')
      const trials = (await openTrials({ db: home.env.BANDS_DB }))!
      const other = (question: number, first: number, last: number): Trial[] =>
        [5, 10, 20, 50, 100].map(horizon => ({
          hash: `${1000 * question + horizon}`.padStart(64, '0'),
          spec: `question ${question}`,
          p: 0.5,
          test: CELL_TEST,
          sharpe: null,
          asked: { question: `${question}`.padStart(64, '0'), timeframe: 'daily', first, last },
        }))
      const first = parseDay('2010-01-04')!
      const last = parseDay('2017-01-03')!
      const others = Array.from({ length: 29 }, (_, i) => other(i + 1, first, last))
      await trials.note('cell', [...others.flat(), ...other(30, 0, 100)])
      await trials.close()

      const found = await json<Logged>(line, home)
      const log = found.trials?.log ?? found.log
      const windows = 30 * 5
      expect(log).toEqual({ family: 'ledger', questions: 30, windows, expected: windows * 0.05 })
      // A sweep is many questions itself, and names the windows of others.
      const asked = 'tested on these data so far'
      expect(await text(line)).toContain(
        door === 'sweep'
          ? ` with the ${29 * 5} other windows tested on these data (bands trials).`
          : `One of 30 questions (${windows} windows) ${asked} (bands trials)${door === 'tally' ? '.' : `: by chance about ${Math.round(windows * 0.05)} have p < .05; `}`,
      )
      const off = await text(`${line} --family run`)
      expect(off).toContain(
        door === 'sweep'
          ? `; the ${29 * 5} other windows tested on these data are not counted (--family run).`
          : `One of 30 questions ${asked}; the others are not counted (--family run).`,
      )
      expect(off).not.toContain('by chance about')
    },
  )
})

describe('bands check', () => {
  test('finds that nothing looks ahead', async () => {
    const found = await json<CheckLookahead>('check lookahead AAPL --field rsi_zone,macd_state --cuts 2')
    expect(found.passed).toBe(true)
    expect(found.fields.map(({ bars }) => bars > 0)).toEqual([true, true])
    const shown = await table('check lookahead AAPL --field rsi_zone,valuation_zone --cuts 2')
    expect(shown).toContain('Passed: of 1 field, nothing that is shown of a day knows what came after it.')
    expect(shown).toContain('Not tested, because it had no event by these days: valuation_zone.')
    expect(shown).not.toMatch(/^valuation_zone/m)
  })

  test('needs to know of what', async () => {
    expect(await told('check lookahead')).toContain(
      'usage: bands check lookahead TICKER..., or bands check lookahead --all',
    )
    expect((await ask('check lokahead AAPL')).err).toContain('Did you mean "lookahead"?')
  })
})

test.each([
  ['study AAPL rsi_zone --horizon 0', '--horizon "0" is not an integer from 1 to 1000.'],
  ['study AAPL rsi_zone --horizon ,', '--horizon is empty.'],
  ['study AAPL rsi_zone --band oversol', 'rsi_zone has no band "oversol". Did you mean "oversold"?'],
  ['study AAPL rsi_zone --prev-band oversol', 'Did you mean "oversold"?'],
  ['study AAPL rsi_zone --stability frsh', 'Did you mean "fresh"?'],
  ['study AAPL rsi_zone --context GSPC', '--context "GSPC" is not TICKER:FIELD'],
  ['study AAPL rsi_zone --context GSPC:trend_direction=downtren', 'Did you mean "downtrend"?'],
  [
    'backtest AAPL rsi_zone --hold 5 --context-lag 1',
    '--context-lag is for a context, or a condition that names another ticker, and none is given.',
  ],
  [
    'study AAPL rsi_zone --context GSPC:rsi_zone --context-lag 2',
    '--context-lag 2 is not an integer from 0 to 1: a context is as of',
  ],
  [
    'backtest AAPL rsi_zone --hold 5 --context GSPC:rsi_zone --when GSPC:rsi_zone=neutral --context-lag 5',
    'or of the one before; conditions look further back without a context',
  ],
  ['study AAPL rsi_zone --duration 5', 'study would look ahead'],
  ['study AAPL rsi_zone --path 5', '--path "5" is not bars from'],
  ['study AAPL rsi_zone --tests "abnormal markt"', 'Did you mean "market"?'],
  ['study AAPL rsi_zone --tests "abnormal market"', 'needs a benchmark'],
  ['study AAPL rsi_zon', 'Did you mean "rsi_zone"?'],
  ['study AAPL', 'FIELD is missing.'],
  ['study rsi_zone', 'TICKER is missing.'],
  ['study AAPL rsi_zone --report page.txt', '--report "page.txt" is not a file name that ends in .html'],
  ['backtest AAPL rsi_zone --band oversold', 'nothing ends a trade'],
  ['backtest AAPL rsi_zone --hold 5 --entry nextopen', 'Did you mean "next-open"?'],
  ['backtest AAPL rsi_zone --hold 5 --stop 0', '--stop "0" is not'],
  ['backtest AAPL rsi_zone --hold 5 --validate "walk-forward train=5"', 'walk-forward lacks test'],
  ['backtest AAPL rsi_zone --hold 5 --write trades=a.csv --write equity=./a.csv', 'is named twice'],
  ['sweep', 'TICKER is missing.'],
  ['sweep AAPL --field rsi_zon', 'Did you mean "rsi_zone"?'],
  ['sweep AAPL --adjust bonferoni', '--adjust "bonferoni" is not one of bh, by, holm, none'],
  ['sweep AAPL --validate "cpcv n=2,k=2"', 'fewer test groups'],
  ['sweep AAPL --tests "pbo 7"', 'an even number'],
])('bands %s is refused with one clear sentence', async (line, sentence) => {
  const ran = await ask(line)
  expect(ran).toMatchObject({ code: 2, out: '' })
  expect(ran.err.replace(/\s+/g, ' ')).toContain(sentence)
})

test.each(firstInQuick(['trials', STUDY, BACKTEST, SWEEP], 2))(
  'bands %s draws in ASCII where the locale has no more',
  async line => {
    const { out } = await ask(`${line} --output table`, { env: { LANG: 'C' } })
    expect(out.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]+$/)
  },
)

describe('at a server', () => {
  let ground: Ground
  let server: Served
  let key: string

  beforeAll(async () => {
    ground = await simulatedGround({ count: 2, bars: 700 })
    server = await serve(ground)
    key = await server.key('pro')
  })
  afterAll(async () => {
    await server.stop()
    ground.remove()
  })
  const env = (db = ground.db): Record<string, string> => ({ BANDS_API_KEY: key, HOME: folder.path, BANDS_DB: db })

  test('without prices here there is one clear sentence', async () => {
    const { BANDS_DB: _db, ...nobody } = env()
    const none = await ask(`study SIM0001 rsi_zone --remote ${server.url}`, { env: { ...nobody, BANDS_DB: '' } })
    expect(none).toMatchObject({ code: 3, out: '' })
    expect(none.err.replace(/\s+/g, ' ')).toContain(
      `${server.url} gives events, not prices, and a study needs both: bands import FILE loads the prices here.`,
    )
    const other = await ask(`study SIM0001 rsi_zone --remote ${server.url}`)
    expect(other.code).not.toBe(0)
    const unknown = await ask(`study AAPL rsi_zone --remote ${server.url}`, { env: env(folder.file('bands.db')) })
    expect(unknown.code).toBe(3)
    expect(unknown.err.replace(/\s+/g, ' ')).toContain(`here: AAPL has prices here; ${server.url} does not know it`)
    expect(unknown.err).toMatch(/\n {2}try: {3}bands study AAPL rsi_zone --remote local\n$/)
    expect((await ask(`check lookahead AAPL --remote ${server.url}`)).code).toBe(2)
    expect((await ask(`study SIM0001 rsi_zone --remote ${server.url} --tier pro`, { env: env() })).code).toBe(2)
  })
})

/** The cells of the first table. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n')
  const head = lines.findIndex(line => line.startsWith('DAYS'))
  const end = lines.findIndex((line, i) => i > head && !/^\d+ /.test(line))
  return lines.slice(head, end).map(line => line.trim().split(/ {2,}/))
}
