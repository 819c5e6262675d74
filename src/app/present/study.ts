import { count, returnText, whole } from '../../core/numbers.js'
import { eachOccurrence } from '../../research/study/event-study.js'
import { type EventStudy, LEAST_UNITS, type StudyWindow } from '../../research/study/result.js'
import { independentText, studyAnswer } from './answer.js'
import type { PriceChart } from './chart.js'
import { eventPrice, pathChart, pathCountChart, pricesSection, windowHistogram } from './charts.js'
import {
  assumedSection,
  type Column,
  compact,
  type Description,
  type Estimates,
  type Fact,
  type Part,
  pageNote,
  type Section,
  section,
  type Trend,
  tablePart,
  verdictTone,
} from './description.js'
import { TERMS } from './glossary.js'
import { EVERY, occurrencesTable } from './long-tables.js'
import { BY_WINDOW, windowColumn } from './study-bands.js'
import { otherSections, testSections } from './study-tests.js'
import {
  conditionTexts,
  eventTitle,
  fewestFact,
  fromText,
  originFacts,
  pageTitle,
  rangeTexts,
  readingSection,
  stateText,
  tickersText,
} from './words.js'

/** Returns after the events, compared with usual returns. */
export function describeStudy(study: EventStudy, prices: readonly PriceChart[] = []): Description {
  const lastBar = endsEarly(study)
  const hints = study.hints.map((hint): Fact => ['Left out', hint])
  const sections = compact([
    windowsSection(study),
    contextSection(study),
    ...abnormalSections(study),
    pathSection(study),
    pricesSection(prices, study.tickers, eventPrice),
    ...distributionSections(study),
    ...testSections(study),
    ...otherSections(study, prices[0]?.bands),
    occurrencesSection(study),
    assumedSection(study.assumptions, [{ on: 'page', facts: [fewestFact(study), ...hints] }]),
    readingSection('study'),
  ])
  return {
    document: study,
    kind: 'Event study',
    title: pageTitle(`After ${eventTitle(study.field, study.bands)}`, study),
    answer: studyAnswer(study),
    heading: headingOf(study),
    assumed: [assumedText(study)],
    lead: [{ estimates: estimatesOf(study) }],
    warnings: study.warnings,
    facts: compact([
      ['Looks', testsCountText(study)],
      lastBar !== null && ['Last bar of the tickers', lastBar],
      ...originFacts(study),
    ]),
    // Without an event, a terminal has nothing to show.
    sections: study.events > 0 ? sections : sections.map(section => ({ ...section, on: 'page' })),
    long: [{ key: 'occurrences', keep: 'last', whole: EVERY.occurrences, each: () => eachOccurrence(study) }],
  }
}

function headingOf(study: EventStudy): string[] {
  const { tickers, field, bands, timeframe } = study
  const entered = stateText(field, bands)
  const lastBar = endsEarly(study)
  const endText = lastBar === null ? '' : `, last bar ${lastBar}`
  const ranges = rangeTexts(study)
  return [
    `${tickersText(tickers)}  ${entered}${fromText(study)}  ${timeframe}`,
    ...conditionTexts(study),
    independentText(study),
    ...ranges.slice(0, -1),
    ...ranges.slice(-1).map(text => text + endText),
  ]
}

/** The short form; the document, the report and --wide have the long one. */
const assumedText = ({ resamples }: EventStudy): string =>
  `Close to close, no costs. P: Newey-West t. 95%: ${whole(resamples)} bootstrap draws.`

function testsCountText({ trials: { run, ledger } }: EventStudy): string {
  return `${count(run, 'cell')} in this run${ledger === null ? '' : `, ${count(ledger, 'cell')} ever tried on this database`}`
}

/** The last bar, if the tickers end before the as-of day. */
function endsEarly({ last_bar, as_of }: EventStudy): string | null {
  return last_bar === null || as_of === null || last_bar >= as_of ? null : last_bar
}

/** The windows, without the columns of options that were not used. */
function windowsSection(study: EventStudy): Section {
  const { windows } = study
  const grey = windows.map(window => window.grey)
  const columns = [windowColumn(study.timeframe), ...RETURNS]
  return section({ id: 'windows', title: 'What followed', untitled: true }, [
    tablePart('Returns from the close of the event', columns, windows, { grey }),
  ])
}

function estimatesOf(study: EventStudy): Estimates {
  return {
    id: 'forest',
    title: 'Mean return after the events, less that after any bar',
    note: 'with its 95% interval',
    names: 'short',
    estimates: study.windows.map(window => {
      const { n, n_independent, diff: value, intervals, grey, verdict, reasons } = window
      const { low = null, high = null } = intervals[0] ?? {}
      const note = `${whole(n_independent)} independent of ${whole(n)}`
      return {
        label: window.window,
        note,
        value,
        low,
        high,
        grey,
        tone: verdictTone(verdict),
        reason: reasons.diff ?? 'no value',
      }
    }),
  }
}

const RETURNS: readonly Column<StudyWindow>[] = [
  { title: 'n', kind: 'count', value: ({ n }) => n },
  { title: 'Indep', kind: 'count', spare: 0, value: ({ n_independent }) => n_independent },
  { title: 'After', kind: 'return', value: ({ mean }) => mean },
  {
    title: 'Any',
    kind: 'return',
    spare: 2,
    hint: 'Mean after any bar of the same tickers and dates',
    value: ({ base }) => base.mean,
  },
  { title: 'Diff', kind: 'return', value: ({ diff }) => diff, tone: ({ verdict }) => verdictTone(verdict) },
  {
    title: '95%',
    kind: 'return',
    spare: 2,
    hint: 'Of the difference: the first interval listed below',
    value: ({ intervals: [interval] }) => (interval === undefined ? null : [interval.low, interval.high]),
  },
  {
    title: 'p',
    kind: 'probability',
    hint: 'Newey-West t of the difference, effective clusters, two-sided',
    value: ({ tests }) => tests[0]?.p ?? null,
  },
  { title: 'Rose', kind: 'share', spare: 3, value: ({ hit }) => hit.share },
  { title: 'Any', kind: 'share', spare: 4, hint: TERMS['Any rose'], value: ({ base }) => base.hit },
  { title: 'Median', kind: 'return', on: 'wide', spare: 5, value: ({ median }) => median },
  {
    title: 'Left out',
    kind: 'count',
    on: 'wide',
    spare: 6,
    value: ({ lost }) => lost.not_elapsed + lost.too_early + lost.delisted,
  },
]

/** The usual returns in the same context. */
function contextSection({ context, windows, timeframe }: EventStudy): Section | null {
  const known = windows.flatMap(({ window, context_base: base }) => (base === null ? [] : [{ window, ...base }]))
  if (known.length === 0) return null
  const [state = 'of the same context'] = conditionTexts({ context, stability: null, max_flips: null })
  const title = `Against any bar ${state}`
  return section({ id: 'context', folded: true, title, short: 'Same context' }, [
    tablePart(title, [windowColumn(timeframe), ...CONTEXT], known),
  ])
}

const CONTEXT: readonly Column<NonNullable<StudyWindow['context_base']> & { window: string }>[] = [
  {
    title: 'Bars',
    kind: 'count',
    hint: 'Bars on which the context ticker was in a band asked for',
    value: ({ n }) => n,
  },
  { title: 'Any', kind: 'return', hint: 'Mean after those bars', value: ({ mean }) => mean },
  { title: 'Rose', kind: 'share', value: ({ hit }) => hit },
  { title: 'Diff', kind: 'return', hint: 'Mean after the events, less this mean', value: ({ diff }) => diff },
]

type AbnormalWindow = StudyWindow & { abnormal: NonNullable<StudyWindow['abnormal']> }

/** The abnormal returns, and every test of them. */
function abnormalSections({ windows, abnormal, benchmark, timeframe }: EventStudy): Section[] {
  const known = windows.filter((window): window is AbnormalWindow => window.abnormal !== null)
  if (known.length === 0) return []
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'less the mean before'
  const title = `Cumulative abnormal return, ${model}`
  const rows = known.flatMap(window => {
    const { tests, reason } = window.abnormal
    const made = tests.filter(({ statistic }) => statistic !== null)
    const none = { statistic: null, p: null, name: reason ?? tests[0]?.reason ?? '' }
    return (made.length === 0 ? [none] : made).map(test => ({ ...test, window: window.window, n: window.abnormal.n }))
  })
  const columns: Column<(typeof rows)[number]>[] = [
    windowColumn(timeframe),
    { title: 'Statistic', kind: 'statistic', value: ({ statistic }) => statistic },
    { title: 'p', kind: 'probability', value: ({ p }) => p },
    { title: 'Test', kind: 'text', value: ({ name }) => name },
    { title: 'n', kind: 'count', on: 'page', value: ({ n }) => n },
  ]
  const phrases = ["P: Kolari and Pynnonen's test"]
  const all = 'Tests of the abnormal return'
  return [
    section({ id: 'abnormal', title, short: 'Abnormal', phrases }, [
      tablePart('Mean cumulative abnormal return', [windowColumn(timeframe), ...ABNORMAL], known),
    ]),
    section({ id: 'abnormal-tests', folded: true, title: all, short: 'Its tests', on: 'wide' }, [
      tablePart(all, columns, rows, BY_WINDOW),
    ]),
  ]
}

const ABNORMAL: readonly Column<AbnormalWindow>[] = [
  { title: 'n', kind: 'count', value: ({ abnormal }) => abnormal.n },
  { title: 'CAR', kind: 'return', value: ({ abnormal }) => abnormal.car },
  { title: 'p', kind: 'probability', value: ({ abnormal }) => abnormal.tests[0]?.p ?? null },
  {
    title: 'Left out',
    kind: 'text',
    hint: 'Events without an abnormal return, by why: not in n',
    value: ({ abnormal: { lost } }) =>
      Object.entries({ 'too early': lost.too_early, open: lost.not_elapsed, unmatched: lost.no_benchmark })
        .filter(([, n]) => n > 0)
        .map(([why, n]) => `${whole(n)} ${why}`)
        .join(', '),
  },
]

/** The price around the event, on average. */
function pathSection(study: EventStudy): Section | null {
  if (study.path.length < 2) return null
  return section(
    { id: 'path', title: 'Average path by bar, from the close of the event', short: 'Path', untitled: true },
    [
      pageNote(
        'Bar 0 is the event and its close is 0%. What lies left of it was known when the event happened, and made it happen; only what lies right of it followed.',
      ),
      { on: 'short', trend: pathTrend(study) },
      { on: 'wide', chart: pathChart(study), note: ribbonEnd(study) },
      { on: 'page', chart: pathCountChart(study), note: 'The fewer, the less the average right of it means.' },
    ],
  )
}

/** Why the interval of the path ends before the path. */
function ribbonEnd({ path }: EventStudy): string {
  const last = path.findLast(({ low }) => low !== null)
  if (last === undefined || last === path.at(-1)) return ''
  return `The interval ends at bar ${last.bar}: after it fewer than ${LEAST_UNITS} groups of events share no day.`
}

/** The path after the event, to the end of the longest window, as two sparklines, both from the same zero. */
function pathTrend({ path, windows }: EventStudy): Trend[] {
  const longest = Math.max(...windows.map(({ horizon }) => horizon))
  const after = path.filter(({ bar }) => bar >= 0 && bar <= longest)
  return (['mean', 'base'] as const).flatMap(key => {
    const values = after.map(point => point[key]).filter(value => value !== null)
    const last = values.at(-1)
    if (last === undefined) return []
    return [{ name: key === 'mean' ? 'after' : 'any', values, text: `${returnText(last)} at bar ${values.length - 1}` }]
  })
}

/** How the returns are spread. */
function distributionSections({ windows, timeframe }: EventStudy): Section[] {
  const title = 'How the returns are spread'
  return compact([
    section({ id: 'distribution', title, short: 'Spread', on: 'page' }, [
      pageNote(
        'Filled: after the events. Outlined: after any bar. Each adds up to 100%; the outermost bars hold all that lies beyond them.',
      ),
      { charts: windows.map(windowHistogram) },
    ]),
    section({ id: 'spread', folded: true, title: 'Distribution', on: 'wide' }, [
      tablePart(title, [windowColumn(timeframe), ...SPREAD], windows),
    ]),
  ])
}

const SPREAD: readonly Column<StudyWindow>[] = [
  { title: 'Worst', kind: 'return', spare: 3, value: ({ worst }) => worst },
  { title: 'p10', kind: 'return', spare: 5, value: ({ p10 }) => p10 },
  { title: 'p25', kind: 'return', spare: 0, value: ({ p25 }) => p25 },
  { title: 'p75', kind: 'return', spare: 1, value: ({ p75 }) => p75 },
  { title: 'p90', kind: 'return', spare: 6, value: ({ p90 }) => p90 },
  { title: 'Best', kind: 'return', spare: 4, value: ({ best }) => best },
  { title: 'SD', kind: 'return', spare: 9, value: ({ deviation }) => deviation },
  { title: 'MFE', kind: 'return', spare: 7, value: ({ mfe }) => mfe },
  { title: 'MAE', kind: 'return', spare: 8, value: ({ mae }) => mae },
  { title: 'Rose', kind: 'share', value: ({ hit }) => hit.share },
  { title: 'Rose 95%', kind: 'share', spare: 12, value: ({ hit, grey }) => (grey ? null : [hit.low, hit.high]) },
  { title: 'Any rose', kind: 'share', spare: 11, value: ({ base }) => base.hit },
  { title: 'Lift', kind: 'ratio', spare: 10, value: ({ lift }) => lift },
  { title: 'Any n', kind: 'count', on: 'page', value: ({ base }) => base.n },
  { title: 'Any SD', kind: 'return', on: 'page', value: ({ base }) => base.deviation },
]

function occurrencesSection(study: EventStudy): Section {
  const head = { id: 'events', folded: true, title: 'The events', short: 'Events', on: 'page' } as const
  // Made only for a page: the table of a market takes gigabytes.
  return Object.defineProperty({ ...head, parts: [] }, 'parts', { get: () => occurrenceParts(study), enumerable: true })
}

function occurrenceParts(study: EventStudy): Part[] {
  const { tickers, occurrences } = study
  const entered = new Set(occurrences.map(({ ticker }) => ticker))
  const without = tickers.filter(ticker => !entered.has(ticker)).length
  const which = `${count(occurrences.length, 'event')} of ${count(tickers.length, 'ticker')}${without > 0 ? `, ${without} of them without any` : ''}`
  return [
    pageNote(
      `${which}. Returns are from the close of the event to the close of the window's last bar; where there is none, the window has not elapsed.`,
    ),
    { table: occurrencesTable(study) },
  ]
}
