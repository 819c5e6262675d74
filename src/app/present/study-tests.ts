import { PERFORMANCES } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { keyInWords, numberText } from '../../core/numbers.js'
import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import {
  type Column,
  compact,
  pageNote,
  reasonsPart,
  type Section,
  type Stacks,
  section,
  tablePart,
} from './description.js'
import { bandsSection, GROUPED_BY_WINDOW, sectorsSection, windowColumn } from './study-bands.js'
import { SIGNS } from './words.js'

/** A test or an interval, with the window it belongs to. */
type OfWindow<Key extends 'tests' | 'intervals'> = StudyWindow[Key][number] & { window: string; n: number }

/** A folded section with every test of the difference, and one with every interval. */
export function testSections({ windows, resamples, timeframe }: EventStudy): Section[] {
  const tests = windows.flatMap(({ window, n, tests }) =>
    tests.map((test): OfWindow<'tests'> => ({ ...test, window, n })),
  )
  const intervals = windows.flatMap(({ window, n, intervals }) =>
    intervals.map((interval): OfWindow<'intervals'> => ({ ...interval, window, n })),
  )
  const testsTitle = 'Tests of the difference against any bar'
  const intervalsTitle = 'Intervals of the difference, 95%'
  return [
    section({ id: 'tests', folded: true, title: testsTitle, short: 'Tests', on: 'wide' }, [
      pageNote(
        `All tests are two-sided and ask whether the difference from any bar is 0. P is the first test of each window: it allows for windows that overlap, for tickers that move together and for events in volatile times. The plain shift treats the days of the events like other days. With few clusters of events the other tests find less than they should. ${numberText(resamples)} resamples.`,
      ),
      tablePart('Tests of the difference', [windowColumn(timeframe), ...TEST_COLUMNS], tests, GROUPED_BY_WINDOW),
    ]),
    section({ id: 'intervals', folded: true, title: intervalsTitle, short: 'Intervals', on: 'wide' }, [
      tablePart('95% intervals of the difference', [windowColumn(timeframe), ...INTERVAL_COLUMNS], intervals, {
        ...GROUPED_BY_WINDOW,
        empty: 'No interval was asked for.',
      }),
    ]),
  ]
}

const PAGE_COLUMNS: readonly Column<Pick<OfWindow<'tests'>, 'n' | 'reason'>>[] = [
  { title: 'n', kind: 'count', on: 'page', value: ({ n }) => n },
  { title: 'Why there is none', kind: 'text', on: 'page', optional: true, value: ({ reason }) => reason },
]

const TEST_COLUMNS: readonly Column<OfWindow<'tests'>>[] = [
  { title: 'Statistic', kind: 'statistic', value: ({ statistic }) => statistic },
  { title: 'df', kind: 'degrees', hidePriority: 1, value: ({ df }) => df },
  { title: 'p', kind: 'probability', value: ({ p }) => p },
  { title: 'Test', kind: 'text', value: ({ name }) => name },
  ...PAGE_COLUMNS,
]

const INTERVAL_COLUMNS: readonly Column<OfWindow<'intervals'>>[] = [
  { title: 'Diff 95%', kind: 'return', value: ({ low, high }) => [low, high] },
  { title: 'Block', kind: 'oneDecimal', hidePriority: 1, value: ({ block }) => block },
  { title: 'Method', kind: 'text', value: ({ method }) => method },
  ...PAGE_COLUMNS,
]

/**
 * Comparisons with random entries, other bands, by sector and performance band; then why numbers are missing.
 * @param bandsOfField all bands of the field, in their order; undefined if they are not known
 */
export function comparisonSections(study: EventStudy, bandsOfField: readonly string[] | undefined): Section[] {
  const { windows, timeframe } = study
  const missing = reasonsPart(windows.map(({ window, reasons }) => ({ where: window, reasons })))
  const randomTitle = 'Random entry: other dates of the same tickers'
  return compact([
    section({ id: 'random', folded: true, title: randomTitle, short: 'Random entry', on: 'wide' }, [
      tablePart(RANDOM_CAPTION, [windowColumn(timeframe), ...RANDOM_COLUMNS], windows),
    ]),
    bandsSection(study, bandsOfField),
    sectorsSection(study),
    performanceBandsSection(windows, timeframe),
    missing &&
      section({ id: 'why', folded: true, title: 'Why there is nothing', short: 'Missing', on: 'wide' }, [missing]),
  ])
}

const RANDOM_CAPTION = 'Entries at random dates in the same tickers; events whose windows overlap move together'

const RANDOM_COLUMNS: readonly Column<StudyWindow>[] = [
  { title: 'Draws', kind: 'count', hidePriority: 1, value: ({ random_entry: random }) => random.draws },
  { title: 'Mean', kind: 'return', value: ({ random_entry: random }) => random.mean },
  {
    title: '95%',
    kind: 'return',
    hint: 'Where 95% of draws lie that vary as the events do',
    hidePriority: 0,
    value: ({ random_entry: random }) => [random.low, random.high],
  },
  {
    title: 'p',
    kind: 'probability',
    hint: 'Share of draws that lie as many of their own errors out',
    value: ({ random_entry: random }) => random.p,
  },
  { title: 'Same years', kind: 'return', hidePriority: 2, value: ({ random_entry: random }) => random.year_matched },
]

type AftermathWindow = StudyWindow & { aftermath: NonNullable<StudyWindow['aftermath']> }

/** Performance bands after the events and after any bar; null without any. A narrow terminal hides their test first. */
function performanceBandsSection(windows: readonly StudyWindow[], timeframe: Timeframe): Section | null {
  const ranked = windows.filter((window): window is AftermathWindow => window.aftermath !== null)
  if (ranked.length === 0) return null
  const stackRows = ranked.flatMap(({ window, aftermath: { counts, base } }) => {
    const n = counts.reduce((sum, events) => sum + events, 0)
    return [
      { label: window, note: `events, n ${n}`, counts, isBase: false },
      { label: '', note: 'any bar', counts: base, isBase: true },
    ]
  })
  const columns: Column<AftermathWindow>[] = [
    windowColumn(timeframe),
    ...PERFORMANCES.map(
      (name, i): Column<AftermathWindow> => ({
        title: keyInWords(name),
        screenTitle: SIGNS[i]!,
        kind: 'countAndLift',
        hidePriority: 9 - Math.abs(i - 3),
        value: ({ aftermath: { counts, lift } }) => [counts[i]!, lift[i] ?? null],
      }),
    ),
    { title: 'G', kind: 'oneDecimal', hidePriority: 10, value: ({ aftermath }) => aftermath.g },
    {
      title: 'p',
      kind: 'probability',
      hint: 'By circular shifts; volatile times have other bands without any edge',
      value: ({ aftermath }) => aftermath.p,
    },
  ]
  const stacks: Stacks = { id: 'stacked', title: 'Share of each performance band', names: 'short', rows: stackRows }
  const caption = 'Counts after the events, with the share over that of any bar (lift)'
  const title = 'Performance bands, compared with any bar (lift)'
  return section({ id: 'aftermath', title, short: 'Performance bands', on: 'wide' }, [
    pageNote("Each return ranked against the ticker's own past: sharp is the worst or best 5%, flat the middle 20%."),
    { on: 'page', stacks },
    { fold: { title: 'The counts', parts: [tablePart(caption, columns, ranked, { allColumnsIn: 'json' })] } },
  ])
}
