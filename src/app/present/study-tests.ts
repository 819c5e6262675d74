import { PERFORMANCES } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { whole, words } from '../../core/numbers.js'
import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { type Column, compact, pageNote, reasonsPart, type Section, section, tablePart } from './description.js'
import { BY_WINDOW, bandsSection, sectorsSection, windowColumn } from './study-bands.js'
import { SIGNS } from './words.js'

type Of<Key extends 'tests' | 'intervals'> = StudyWindow[Key][number] & { window: string; n: number }

/** Every test and interval, so that the chosen one can be compared. */
export function testSections({ windows, resamples, timeframe }: EventStudy): Section[] {
  const tests = windows.flatMap(({ window, n, tests }) => tests.map((test): Of<'tests'> => ({ ...test, window, n })))
  const intervals = windows.flatMap(({ window, n, intervals }) =>
    intervals.map((interval): Of<'intervals'> => ({ ...interval, window, n })),
  )
  return [
    section(
      { id: 'tests', folded: true, title: 'Tests of the difference against any bar', short: 'Tests', on: 'wide' },
      [
        pageNote(
          `All tests are two-sided and ask whether the difference from any bar is 0. P is the first test of each window: it allows for windows that overlap, for tickers that move together and for events in volatile times. The plain shift treats the days of the events like other days. With few clusters of events the other tests find less than they should. ${whole(resamples)} resamples.`,
        ),
        tablePart('Tests of the difference', [windowColumn(timeframe), ...TESTS], tests, BY_WINDOW),
      ],
    ),
    section(
      { id: 'intervals', folded: true, title: 'Intervals of the difference, 95%', short: 'Intervals', on: 'wide' },
      [
        tablePart('95% intervals of the difference', [windowColumn(timeframe), ...INTERVALS], intervals, {
          ...BY_WINDOW,
          empty: 'No interval was asked for.',
        }),
      ],
    ),
  ]
}

/** The columns that only the page shows. */
const NOTE_COLUMNS: readonly Column<Pick<Of<'tests'>, 'n' | 'reason'>>[] = [
  { title: 'n', kind: 'count', on: 'page', value: ({ n }) => n },
  { title: 'Why there is none', kind: 'text', on: 'page', optional: true, value: ({ reason }) => reason },
]

const TESTS: readonly Column<Of<'tests'>>[] = [
  { title: 'Statistic', kind: 'statistic', value: ({ statistic }) => statistic },
  { title: 'df', kind: 'degrees', spare: 1, value: ({ df }) => df },
  { title: 'p', kind: 'probability', value: ({ p }) => p },
  { title: 'Test', kind: 'text', value: ({ name }) => name },
  ...NOTE_COLUMNS,
]

const INTERVALS: readonly Column<Of<'intervals'>>[] = [
  { title: 'Diff 95%', kind: 'return', value: ({ low, high }) => [low, high] },
  { title: 'Block', kind: 'tenth', spare: 1, value: ({ block }) => block },
  { title: 'Method', kind: 'text', value: ({ method }) => method },
  ...NOTE_COLUMNS,
]

/** Other comparisons for the events. @param vocabulary all bands of the field, in their order */
export function otherSections(study: EventStudy, vocabulary: readonly string[] | undefined): Section[] {
  const { windows, timeframe } = study
  const missing = reasonsPart(windows.map(({ window, reasons }) => ({ where: window, reasons })))
  return compact([
    section(
      {
        id: 'random',
        folded: true,
        title: 'Random entry: other dates of the same tickers',
        short: 'Random entry',
        on: 'wide',
      },
      [tablePart(RANDOM_CAPTION, [windowColumn(timeframe), ...RANDOM], windows)],
    ),
    bandsSection(study, vocabulary),
    sectorsSection(study),
    aftermathSection(windows, timeframe),
    missing &&
      section({ id: 'why', folded: true, title: 'Why there is nothing', short: 'Missing', on: 'wide' }, [missing]),
  ])
}

const RANDOM_CAPTION = 'Entries at random dates in the same tickers; events whose windows overlap move together'

const RANDOM: readonly Column<StudyWindow>[] = [
  { title: 'Draws', kind: 'count', spare: 1, value: ({ random_entry: random }) => random.draws },
  { title: 'Mean', kind: 'return', value: ({ random_entry: random }) => random.mean },
  {
    title: '95%',
    kind: 'return',
    hint: 'Where 95% of draws lie that vary as the events do',
    spare: 0,
    value: ({ random_entry: random }) => [random.low, random.high],
  },
  {
    title: 'p',
    kind: 'probability',
    hint: 'Share of draws that lie as many of their own errors out',
    value: ({ random_entry: random }) => random.p,
  },
  { title: 'Same years', kind: 'return', spare: 2, value: ({ random_entry: random }) => random.year_matched },
]

type AftermathWindow = StudyWindow & { aftermath: NonNullable<StudyWindow['aftermath']> }

/** The performance bands after the events, compared with those after any bar. */
function aftermathSection(windows: readonly StudyWindow[], timeframe: Timeframe): Section | null {
  const known = windows.filter((window): window is AftermathWindow => window.aftermath !== null)
  if (known.length === 0) return null
  const sum = (counts: readonly number[]): number => counts.reduce((all, n) => all + n, 0)
  const stacks = known.flatMap(({ window, aftermath: { counts, base } }) => [
    { label: window, note: `events, n ${sum(counts)}`, counts, isBase: false },
    { label: '', note: 'any bar', counts: base, isBase: true },
  ])
  const columns: Column<AftermathWindow>[] = [
    windowColumn(timeframe),
    ...PERFORMANCES.map(
      (name, i): Column<AftermathWindow> => ({
        title: words(name),
        sign: SIGNS[i]!,
        kind: 'lifted',
        spare: 9 - Math.abs(i - 3),
        value: ({ aftermath: { counts, lift } }) => [counts[i]!, lift[i] ?? null],
      }),
    ),
    { title: 'G', kind: 'tenth', spare: 10, value: ({ aftermath }) => aftermath.g },
    {
      title: 'p',
      kind: 'probability',
      hint: 'By circular shifts; volatile times have other bands without any edge',
      value: ({ aftermath }) => aftermath.p,
    },
  ]
  const caption = 'Counts after the events, with the share over that of any bar (lift)'
  return section(
    {
      id: 'aftermath',
      title: 'Performance bands, compared with any bar (lift)',
      short: 'Performance bands',
      on: 'wide',
    },
    [
      pageNote("Each return ranked against the ticker's own past: sharp is the worst or best 5%, flat the middle 20%."),
      { on: 'page', stacks: { id: 'stacked', title: 'Share of each performance band', names: 'short', rows: stacks } },
      { fold: { title: 'The counts', parts: [tablePart(caption, columns, known, { whole: 'json' })] } },
    ],
  )
}
