import { count, numberText, returnText } from '../../core/numbers.js'
import { eachOccurrence } from '../../research/study/event-study.js'
import { type EventStudy, LEAST_UNITS, type StudyWindow } from '../../research/study/result.js'
import { eventsAndCases, studyAnswer } from './answer.js'
import type { ChartPrices } from './chart.js'
import { pathChart, pathCountChart, pricesSection, priceWithEvents, windowHistogram } from './charts.js'
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
import { FULL_LIST_OPTIONS, occurrencesTable } from './long-tables.js'
import { GROUPED_BY_WINDOW, windowColumn } from './study-bands.js'
import { comparisonSections, testSections } from './study-tests.js'
import {
  conditionTexts,
  eventTitle,
  fromBandsText,
  minEventsFact,
  originFacts,
  pageTitle,
  rangeTexts,
  readingSection,
  stateText,
  tickersText,
} from './words.js'

/** Describes a study: returns after its events, compared with those after any bar. @param prices for price charts */
export function describeStudy(study: EventStudy, prices: readonly ChartPrices[] = []): Description {
  const lastBar = lastBarBeforeAsOf(study)
  const hints = study.hints.map((hint): Fact => ['Left out', hint])
  const each = () => eachOccurrence(study)
  const sections = compact([
    windowsSection(study),
    contextSection(study),
    ...abnormalSections(study),
    pathSection(study),
    pricesSection(prices, study.tickers, priceWithEvents),
    ...distributionSections(study),
    ...testSections(study),
    ...comparisonSections(study, prices[0]?.bands),
    occurrencesSection(study),
    assumedSection(study.assumptions, [{ on: 'page', facts: [minEventsFact(study), ...hints] }]),
    readingSection('study'),
  ])
  return {
    document: study,
    kind: 'Event study',
    title: pageTitle(`After ${eventTitle(study.field, study.bands)}`, study),
    answer: studyAnswer(study),
    heading: headingOf(study),
    // The document, the report and --wide have the long form.
    assumed: [`Close to close, no costs. P: Newey-West t. 95%: ${numberText(study.resamples)} bootstrap draws.`],
    lead: [{ estimates: estimatesOf(study) }],
    warnings: study.warnings,
    facts: compact([
      ['Looks', testsCountText(study)],
      lastBar !== null && ['Last bar of the tickers', lastBar],
      ...originFacts(study),
    ]),
    // Without an event, a terminal has nothing to show.
    sections: study.events > 0 ? sections : sections.map(section => ({ ...section, on: 'page' })),
    longLists: [{ key: 'occurrences', keptEnd: 'last', fullListOption: FULL_LIST_OPTIONS.occurrences, each }],
  }
}

/** The question in phrases: tickers, event, conditions, number of cases and range. */
function headingOf(study: EventStudy): string[] {
  const { tickers, field, bands, timeframe } = study
  const event = `${stateText(field, bands)}${fromBandsText(study)}`
  const phrases = [
    `${tickersText(tickers)}  ${event}  ${timeframe}`,
    ...conditionTexts(study),
    eventsAndCases(study.events, study.windows),
    ...rangeTexts(study),
  ]
  const lastBar = lastBarBeforeAsOf(study)
  // The last bar is only set if there is an as-of day, which is then the last phrase.
  if (lastBar !== null) phrases.push(`${phrases.pop()}, last bar ${lastBar}`)
  return phrases
}

/** `3 cells in this run, 40 cells ever tried on this database` */
function testsCountText({ trials: { run, ledger } }: EventStudy): string {
  const ever = ledger === null ? '' : `, ${count(ledger, 'cell')} ever tried on this database`
  return `${count(run, 'cell')} in this run${ever}`
}

/** The date of the last bar if it is before the as-of day, otherwise null. */
function lastBarBeforeAsOf({ last_bar, as_of }: EventStudy): string | null {
  return last_bar === null || as_of === null || last_bar >= as_of ? null : last_bar
}

function windowsSection(study: EventStudy): Section {
  const { windows } = study
  const grey = windows.map(window => window.grey)
  const columns = [windowColumn(study.timeframe), ...RETURN_COLUMNS]
  return section({ id: 'windows', title: 'What followed', untitled: true }, [
    tablePart('Returns from the close of the event', columns, windows, { grey }),
  ])
}

/** The figure that leads a page: the difference of each window with the first of its 95% intervals. */
function estimatesOf(study: EventStudy): Estimates {
  return {
    id: 'forest',
    title: 'Mean return after the events, less that after any bar',
    note: 'with its 95% interval',
    names: 'short',
    estimates: study.windows.map(window => {
      const { n, n_independent, diff: value, intervals, grey, verdict, reasons } = window
      const { low = null, high = null } = intervals[0] ?? {}
      const note = `${numberText(n_independent)} independent of ${numberText(n)}`
      const reasonIfNull = reasons.diff ?? 'no value'
      return { label: window.window, note, value, low, high, grey, tone: verdictTone(verdict), reasonIfNull }
    }),
  }
}

const RETURN_COLUMNS: readonly Column<StudyWindow>[] = [
  { title: 'n', kind: 'count', value: ({ n }) => n },
  { title: 'Indep', kind: 'count', hidePriority: 0, value: ({ n_independent }) => n_independent },
  { title: 'After', kind: 'return', value: ({ mean }) => mean },
  {
    title: 'Any',
    kind: 'return',
    hidePriority: 2,
    hint: 'Mean after any bar of the same tickers and dates',
    value: ({ base }) => base.mean,
  },
  { title: 'Diff', kind: 'return', value: ({ diff }) => diff, tone: ({ verdict }) => verdictTone(verdict) },
  {
    title: '95%',
    kind: 'return',
    hidePriority: 2,
    hint: 'Of the difference: the first interval listed below',
    value: ({ intervals: [interval] }) => (interval === undefined ? null : [interval.low, interval.high]),
  },
  {
    title: 'p',
    kind: 'probability',
    hint: 'Newey-West t of the difference, effective clusters, two-sided',
    value: ({ tests }) => tests[0]?.p ?? null,
  },
  { title: 'Rose', kind: 'share', hidePriority: 3, value: ({ hit }) => hit.share },
  { title: 'Any', kind: 'share', hidePriority: 4, hint: TERMS['Any rose'], value: ({ base }) => base.hit },
  { title: 'Median', kind: 'return', on: 'wide', hidePriority: 5, value: ({ median }) => median },
  {
    title: 'Left out',
    kind: 'count',
    on: 'wide',
    hidePriority: 6,
    value: ({ lost }) => lost.not_elapsed + lost.too_early + lost.delisted,
  },
]

/** Returns after any bar in the same context, compared with those after the events; null without a context. */
function contextSection({ context, windows, timeframe }: EventStudy): Section | null {
  const rows = windows.flatMap(({ window, context_base: base }) => (base === null ? [] : [{ window, ...base }]))
  if (rows.length === 0) return null
  const contextTexts = conditionTexts({ context, stability: null, max_flips: null })
  const title = `Against any bar ${contextTexts[0] ?? 'of the same context'}`
  return section({ id: 'context', folded: true, title, short: 'Same context' }, [
    tablePart(title, [windowColumn(timeframe), ...CONTEXT_COLUMNS], rows),
  ])
}

const CONTEXT_COLUMNS: readonly Column<NonNullable<StudyWindow['context_base']> & { window: string }>[] = [
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

/** The abnormal returns of each window, and a folded section with every test of them; empty if none were computed. */
function abnormalSections({ windows, abnormal, benchmark, timeframe }: EventStudy): Section[] {
  const rows = windows.filter((window): window is AbnormalWindow => window.abnormal !== null)
  if (rows.length === 0) return []
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'less the mean before'
  const title = `Cumulative abnormal return, ${model}`
  const phrases = ["P: Kolari and Pynnonen's test"]
  const testsTitle = 'Tests of the abnormal return'
  const testRows = rows.flatMap(abnormalTestRows)
  return [
    section({ id: 'abnormal', title, short: 'Abnormal', phrases }, [
      tablePart('Mean cumulative abnormal return', [windowColumn(timeframe), ...ABNORMAL_COLUMNS], rows),
    ]),
    section({ id: 'abnormal-tests', folded: true, title: testsTitle, short: 'Its tests', on: 'wide' }, [
      tablePart(testsTitle, [windowColumn(timeframe), ...ABNORMAL_TEST_COLUMNS], testRows, GROUPED_BY_WINDOW),
    ]),
  ]
}

interface AbnormalTestRow {
  window: string
  n: number
  statistic: number | null
  p: number | null
  name: string
}

/** A row for each test of a window that has a statistic; a single row with the reason if none has. */
function abnormalTestRows({ window, abnormal: { n, tests, reason } }: AbnormalWindow): AbnormalTestRow[] {
  const knownTests = tests.filter(({ statistic }) => statistic !== null)
  if (knownTests.length > 0) return knownTests.map(test => ({ ...test, window, n }))
  return [{ statistic: null, p: null, name: reason ?? tests[0]?.reason ?? '', window, n }]
}

const ABNORMAL_TEST_COLUMNS: readonly Column<AbnormalTestRow>[] = [
  { title: 'Statistic', kind: 'statistic', value: ({ statistic }) => statistic },
  { title: 'p', kind: 'probability', value: ({ p }) => p },
  { title: 'Test', kind: 'text', value: ({ name }) => name },
  { title: 'n', kind: 'count', on: 'page', value: ({ n }) => n },
]

const ABNORMAL_COLUMNS: readonly Column<AbnormalWindow>[] = [
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
        .map(([why, n]) => `${numberText(n)} ${why}`)
        .join(', '),
  },
]

/** The average price around the event: sparklines, and charts on a page. Null for a path of fewer than two bars. */
function pathSection(study: EventStudy): Section | null {
  if (study.path.length < 2) return null
  const title = 'Average path by bar, from the close of the event'
  return section({ id: 'path', title, short: 'Path', untitled: true }, [
    pageNote(
      'Bar 0 is the event and its close is 0%. What lies left of it was known when the event happened, and made it happen; only what lies right of it followed.',
    ),
    { on: 'short', trend: pathTrend(study) },
    { on: 'wide', chart: pathChart(study), note: intervalEndNote(study) },
    { on: 'page', chart: pathCountChart(study), note: 'The fewer, the less the average right of it means.' },
  ])
}

/** A note that the interval of the path ends before the path; empty if it does not. */
function intervalEndNote({ path }: EventStudy): string {
  const lastWithInterval = path.findLast(({ low }) => low !== null)
  if (lastWithInterval === undefined || lastWithInterval === path.at(-1)) return ''
  return `The interval ends at bar ${lastWithInterval.bar}: after it fewer than ${LEAST_UNITS} groups of events share no day.`
}

/** Two sparklines from the event to the end of the longest window: after the events, and after any bar. */
function pathTrend({ path, windows }: EventStudy): Trend[] {
  const longestHorizon = Math.max(...windows.map(({ horizon }) => horizon))
  const pathAfter = path.filter(({ bar }) => bar >= 0 && bar <= longestHorizon)
  const trends = [
    { name: 'after', values: pathAfter.flatMap(({ mean }) => mean ?? []) },
    { name: 'any', values: pathAfter.flatMap(({ base }) => base ?? []) },
  ]
  return trends
    .filter(({ values }) => values.length > 0)
    .map(trend => ({ ...trend, text: `${returnText(trend.values.at(-1)!)} at bar ${trend.values.length - 1}` }))
}

/** The distribution of the returns: a histogram of each window for a page, and a table of quantiles. */
function distributionSections({ windows, timeframe }: EventStudy): Section[] {
  const title = 'How the returns are spread'
  return [
    section({ id: 'distribution', title, short: 'Spread', on: 'page' }, [
      pageNote(
        'Filled: after the events. Outlined: after any bar. Each adds up to 100%; the outermost bars hold all that lies beyond them.',
      ),
      { charts: windows.map(windowHistogram) },
    ]),
    section({ id: 'spread', folded: true, title: 'Distribution', on: 'wide' }, [
      tablePart(title, [windowColumn(timeframe), ...DISTRIBUTION_COLUMNS], windows),
    ]),
  ]
}

const DISTRIBUTION_COLUMNS: readonly Column<StudyWindow>[] = [
  { title: 'Worst', kind: 'return', hidePriority: 3, value: ({ worst }) => worst },
  { title: 'p10', kind: 'return', hidePriority: 5, value: ({ p10 }) => p10 },
  { title: 'p25', kind: 'return', hidePriority: 0, value: ({ p25 }) => p25 },
  { title: 'p75', kind: 'return', hidePriority: 1, value: ({ p75 }) => p75 },
  { title: 'p90', kind: 'return', hidePriority: 6, value: ({ p90 }) => p90 },
  { title: 'Best', kind: 'return', hidePriority: 4, value: ({ best }) => best },
  { title: 'SD', kind: 'return', hidePriority: 9, value: ({ deviation }) => deviation },
  { title: 'MFE', kind: 'return', hidePriority: 7, value: ({ mfe }) => mfe },
  { title: 'MAE', kind: 'return', hidePriority: 8, value: ({ mae }) => mae },
  { title: 'Rose', kind: 'share', value: ({ hit }) => hit.share },
  { title: 'Rose 95%', kind: 'share', hidePriority: 12, value: ({ hit, grey }) => (grey ? null : [hit.low, hit.high]) },
  { title: 'Any rose', kind: 'share', hidePriority: 11, value: ({ base }) => base.hit },
  { title: 'Lift', kind: 'ratio', hidePriority: 10, value: ({ lift }) => lift },
  { title: 'Any n', kind: 'count', on: 'page', value: ({ base }) => base.n },
  { title: 'Any SD', kind: 'return', on: 'page', value: ({ base }) => base.deviation },
]

/** A folded section with a table of all events, which is built when a page asks for it. */
function occurrencesSection(study: EventStudy): Section {
  return {
    id: 'events',
    folded: true,
    title: 'The events',
    short: 'Events',
    on: 'page',
    // A terminal never reads the parts: the table of a market takes gigabytes.
    get parts() {
      return occurrenceParts(study)
    },
  }
}

/** A note about the number of events, and the table of them. */
function occurrenceParts(study: EventStudy): Part[] {
  const { tickers, occurrences } = study
  const tickersWithEvents = new Set(occurrences.map(({ ticker }) => ticker))
  const tickersWithout = tickers.filter(ticker => !tickersWithEvents.has(ticker)).length
  const withoutText = tickersWithout > 0 ? `, ${tickersWithout} of them without any` : ''
  const numbers = `${count(occurrences.length, 'event')} of ${count(tickers.length, 'ticker')}${withoutText}`
  return [
    pageNote(
      `${numbers}. Returns are from the close of the event to the close of the window's last bar; where there is none, the window has not elapsed.`,
    ),
    { table: occurrencesTable(study) },
  ]
}
