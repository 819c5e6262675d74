import type { EventStudy, Interval, StudyWindow, TestResult } from '../../research/study/result.js'
import { shiftsUsed } from '../../research/study/shifts.js'
import { count, decimal, gain, NONE, probability } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import { type Column, signTone } from '../tables/column.js'
import { table } from '../tables/table.js'

type Of<Part> = Part & { n: number; what: string }

/** Every test and interval, so that nobody has to trust the one that was chosen. */
export function tests(study: EventStudy): Section {
  const { windows } = study
  const intervals = windows.flatMap(of => of.intervals.map(interval => ({ ...interval, n: of.n, what: of.window })))
  const abnormal = windows.filter(window => window.abnormal !== null)
  return {
    id: 'tests',
    title: 'Tests and intervals',
    short: 'Tests',
    body: html`<p>All tests are two-sided and ask whether the difference from any bar is 0. The first of each window is the one to go by: it allows for windows that overlap and for tickers that move together. It takes the days of the events for days like others; the studentised one also allows for events in volatile times, and goes before where a warning says so. ${shiftsText(study)}${count(study.resamples)} resamples.</p>
${table({ caption: 'Tests of the difference', columns: TESTS, rows: rowsOf(windows, window => window) })}
${table({ caption: '95% intervals of the difference', columns: INTERVALS, rows: intervals, empty: 'No interval was asked for.' })}
${abnormal.length > 0 && table({ caption: 'Mean cumulative abnormal return', columns: ABNORMAL, rows: abnormal })}
${abnormal.length > 0 && table({ caption: 'Tests of the abnormal return', columns: TESTS, rows: rowsOf(abnormal, window => window.abnormal), empty: 'The abnormal return was not tested.' })}`,
  }
}

function shiftsText({ windows }: EventStudy): string {
  const used = shiftsUsed(windows)
  if (used === null) return ''
  const { least, most } = used
  return `${least === most ? count(least) : `${count(least)} to ${count(most)}`} shifts; `
}

function rowsOf(
  windows: readonly StudyWindow[],
  part: (window: StudyWindow) => { n: number; tests: readonly TestResult[] } | null,
): Of<TestResult>[] {
  return windows.flatMap(window => {
    const { n = 0, tests = [] } = part(window) ?? {}
    return tests.map(test => ({ ...test, n, what: window.window }))
  })
}

const TESTS: readonly Column<Of<TestResult>>[] = [
  { title: 'Window', text: ({ what }) => what },
  { title: 'Test', text: ({ name }) => name },
  { title: 'n', numeric: true, text: ({ n }) => count(n) },
  { title: 'Statistic', numeric: true, text: ({ statistic }) => decimal(statistic, 3) },
  { title: 'df', shown: ({ df }) => df !== null, numeric: true, text: ({ df }) => (df === null ? NONE : count(df)) },
  {
    title: 'p',
    numeric: true,
    text: ({ p }) => probability(p),
    tone: ({ p }) => (p !== null && p < 0.05 ? 'strong' : undefined),
  },
  { title: 'Why there is none', text: ({ reason }) => reason ?? '', shown: ({ reason }) => reason !== null },
]

const INTERVALS: readonly Column<Of<Interval>>[] = [
  { title: 'Window', text: ({ what }) => what },
  { title: 'Method', text: ({ method }) => method },
  { title: 'n', numeric: true, text: ({ n }) => count(n) },
  { title: 'From', numeric: true, text: ({ low }) => gain(low), tone: ({ low }) => signTone(low) },
  { title: 'To', numeric: true, text: ({ high }) => gain(high), tone: ({ high }) => signTone(high) },
  { title: 'Mean block, bars', numeric: true, text: ({ block }) => decimal(block, 1) },
  { title: 'Why there is none', text: ({ reason }) => reason ?? '', shown: ({ reason }) => reason !== null },
]

const ABNORMAL: readonly Column<StudyWindow>[] = [
  { title: 'Window', text: ({ window }) => window },
  {
    title: 'Model',
    text: ({ abnormal }) => (abnormal?.model === 'market' ? `market model, ${abnormal.benchmark}` : 'mean adjusted'),
  },
  { title: 'n', numeric: true, text: ({ abnormal }) => count(abnormal?.n) },
  {
    title: 'Lost',
    hint: 'Events without an abnormal return, by why: not in n',
    text: ({ abnormal }) => (abnormal === null ? NONE : lostText(abnormal.lost)),
  },
  {
    title: 'CAR',
    numeric: true,
    text: ({ abnormal }) => gain(abnormal?.car),
    tone: ({ abnormal }) => signTone(abnormal?.car ?? null),
  },
  {
    title: 'Why there is none',
    text: ({ abnormal }) => abnormal?.reason ?? '',
    shown: ({ abnormal }) => abnormal?.reason != null,
  },
]

function lostText(lost: NonNullable<StudyWindow['abnormal']>['lost']): string {
  const parts = [
    [lost.too_early, 'too early'],
    [lost.not_elapsed, 'not elapsed yet'],
    [lost.no_benchmark, 'without the benchmark on one of the bars'],
  ] as const
  const some = parts.filter(([n]) => n > 0)
  return some.length === 0 ? 'none' : some.map(([n, why]) => `${count(n)} ${why}`).join(', ')
}
