import { isCondition } from '../../core/language/as-field.js'
import type { Timeframe } from '../../core/model/terms.js'
import { numberText } from '../../core/numbers.js'
import { type EventStudy, LEAST_UNITS, type StudyWindow } from '../../research/study/result.js'
import { type BandTone, bandTone, type Chart, line, newChart } from './chart.js'
import {
  type Column,
  type Estimate,
  type Estimates,
  pageNote,
  type Section,
  section,
  tablePart,
} from './description.js'

/** A column with the window of each row, as a number of days or weeks. */
export function windowColumn(timeframe: Timeframe): Column<{ window: string }> {
  const title = timeframe === 'weekly' ? 'Weeks' : 'Days'
  return { key: 'window', title, kind: 'window', value: ({ window }) => String(Number.parseInt(window, 10)) }
}

/** Properties of a table with several rows for each window. */
export const GROUPED_BY_WINDOW = { grouped: true, allColumnsIn: 'json' } as const

type OtherBand = StudyWindow['other_bands'][number]

/** The columns of returns after events that are not tested: those of other bands, and of sectors. */
const EVENT_COUNT_COLUMN: Column<Pick<OtherBand, 'n'>> = { title: 'n', kind: 'count', value: ({ n }) => n }
const MEAN_COLUMN: Column<Pick<OtherBand, 'mean'>> = { title: 'After', kind: 'return', value: ({ mean }) => mean }
const MEDIAN_AND_HIT_COLUMNS: readonly Column<Pick<OtherBand, 'median' | 'hit'>>[] = [
  { title: 'Median', kind: 'return', hidePriority: 1, value: ({ median }) => median },
  { title: 'Rose', kind: 'share', hidePriority: 0, value: ({ hit }) => hit },
]

/** Figures of all bands of the field, and a table of those that the study is not about; null for a condition. */
export function bandsSection(study: EventStudy, bandsOfField: readonly string[] | undefined): Section | null {
  const { field, windows, timeframe } = study
  if (isCondition(field)) return null
  const rows = windows.flatMap(({ window, other_bands }) => other_bands.map(other => ({ ...other, window })))
  if (rows.length === 0) return null
  const columns: Column<OtherBand & { window: string }>[] = [
    windowColumn(timeframe),
    { title: 'Band', kind: 'text', value: ({ band }) => band },
    EVENT_COUNT_COLUMN,
    MEAN_COLUMN,
    ...MEDIAN_AND_HIT_COLUMNS,
  ]
  const table = tablePart('Returns after the other bands of the field', columns, rows, GROUPED_BY_WINDOW)
  return section({ id: 'bands', title: `All bands of ${field}`, short: 'All bands', on: 'wide' }, [
    pageNote(
      'If the returns after every band are alike, the band of the question says little. Bar: mean. Tick: median. Dashed: mean after any bar. Only the band of the question is tested here and has an interval; bands sweep tests every band. A band of fewer than 10 events is not drawn.',
    ),
    { on: 'page', forests: windows.map(window => bandEstimates(study, window, bandsOfField)) },
    { on: 'page', chart: bandPathsChart(study, bandsOfField) },
    { fold: { title: 'The numbers of the other bands', parts: [table] } },
  ])
}

/** Returns after the events by sector of the ticker, as figures and a table; null with fewer than two sectors. */
export function sectorsSection({ windows, timeframe }: EventStudy): Section | null {
  // by_sector is empty with fewer than two sectors.
  const rows = windows.flatMap(({ window, by_sector }) => by_sector.map(sector => ({ ...sector, window })))
  if (rows.length === 0) return null
  const columns: Column<(typeof rows)[number]>[] = [
    windowColumn(timeframe),
    { title: 'Sector', kind: 'text', value: ({ sector }) => sector },
    EVENT_COUNT_COLUMN,
    MEAN_COLUMN,
    { title: 'Any', kind: 'return', hidePriority: 2, value: ({ base }) => base },
    ...MEDIAN_AND_HIT_COLUMNS,
  ]
  const title = 'Returns after the events, by sector'
  return section({ id: 'sectors', folded: true, title, short: 'Sectors', on: 'wide' }, [
    pageNote(
      'Bar: mean. Tick: median. Dashed: mean after any bar of all tickers. No sector is tested on its own, and one of many looks good by chance. A sector with fewer than 10 events is not drawn.',
    ),
    { on: 'page', forests: windows.map(sectorEstimates) },
    { fold: { title: 'The numbers of the sectors', parts: [tablePart(title, columns, rows, GROUPED_BY_WINDOW)] } },
  ])
}

/** A figure of the sectors over one window. A sector with too few events has no value. */
function sectorEstimates({ window, base, by_sector }: StudyWindow): Estimates {
  return {
    id: `sectors-${window}`,
    title: `By sector, ${window}`,
    note: '',
    names: 'bands',
    baseline: base.mean,
    estimates: by_sector.map(sector => untestedEstimate(sector.sector, sector)),
  }
}

/** The estimate of a band or sector that is not tested: grey, without an interval, null with too few events. */
function untestedEstimate(label: string, { n, mean, median }: Pick<OtherBand, 'n' | 'mean' | 'median'>): Estimate {
  const figures = n < LEAST_UNITS ? { value: null, median: null } : { value: mean, median }
  const untested = { low: null, high: null, grey: true, tone: undefined }
  return { label, note: `n ${numberText(n)}`, ...figures, ...untested, reasonIfNull: 'too few' }
}

/**
 * The labels of a figure with all bands. The bands that the study is about share `questionLabel`, such as `oversold or
 * deep_oversold`. It has the position of the first of them; for a question about any band it is the first label.
 * @param bandsOfField all bands of the field, in their order; undefined if they are not known
 */
function labelsOfBands({ bands, band_paths }: EventStudy, bandsOfField: readonly string[] | undefined) {
  const questionLabel = bands === null ? 'any of them' : bands.join(' or ')
  const firstBand = bands?.[0]
  const allBands = bandsOfField ?? [...(bands ?? []), ...band_paths.map(({ band }) => band)]
  const labels: string[] = bands === null ? [questionLabel] : []
  for (const band of allBands) {
    if (band === firstBand) labels.push(questionLabel)
    else if (!bands?.includes(band)) labels.push(band)
  }
  return { questionLabel, allBands, labels }
}

/** A figure of all bands over one window: the mean and median of each, and the interval of the question's bands. */
function bandEstimates(
  study: EventStudy,
  { window, n, mean, median, base, intervals, grey, other_bands }: StudyWindow,
  bandsOfField: readonly string[] | undefined,
): Estimates {
  const { questionLabel, labels } = labelsOfBands(study, bandsOfField)
  const interval = intervals[0] ?? { low: null, high: null }
  // The interval is of the difference from any bar; adding the mean after any bar makes it one of the mean.
  const plusBase = (difference: number | null): number | null =>
    difference === null ? null : difference + (base.mean ?? 0)
  const estimate = (label: string): Estimate => {
    if (label === questionLabel) {
      const low = plusBase(interval.low)
      const high = plusBase(interval.high)
      const reasonIfNull = 'none'
      return { label, note: `n ${numberText(n)}`, value: mean, median, low, high, grey, tone: undefined, reasonIfNull }
    }
    return untestedEstimate(label, other_bands.find(({ band }) => band === label) ?? { n: 0, mean: null, median: null })
  }
  return {
    id: `bands-${window}`,
    title: `After each band, ${window}`,
    note: '',
    names: 'bands',
    baseline: base.mean,
    estimates: labels.map(estimate),
  }
}

/** A chart of the average path after each band, and after any bar. It begins at the event. */
function bandPathsChart(study: EventStudy, bandsOfField: readonly string[] | undefined): Chart {
  const { questionLabel, allBands, labels } = labelsOfBands(study, bandsOfField)
  const firstBand = study.bands?.[0]
  const firstIndex = study.path.findIndex(({ bar }) => bar >= 0)
  const eventIndex = Math.max(0, firstIndex)
  const path = study.path.slice(eventIndex)
  const toneOf = (band: string): BandTone => bandTone(allBands.indexOf(band), allBands.length)
  const lines = labels.flatMap(label => {
    if (label === questionLabel) {
      const means = path.map(({ mean }) => mean)
      return line(label, firstBand === undefined ? 'accent' : toneOf(firstBand), means, { width: 2.6, named: true })
    }
    const bandPath = study.band_paths.find(({ band }) => band === label)
    if (bandPath === undefined || bandPath.n < LEAST_UNITS) return []
    return line(label, toneOf(label), bandPath.mean.slice(eventIndex), { width: 1.4, named: true })
  })
  const anyBar = path.map(({ base }) => base)
  return newChart('band-paths', 'Average path by band', {
    description: `The average change of the price after the entry into each band: ${lines.map(({ label }) => label).join(', ')}.`,
    x: ['bars', path.map(({ bar }) => bar)],
    y: 'return',
    height: 280,
    lines: [...lines, line('any bar', 'quiet', anyBar, { width: 1.4, dashed: true, named: true })],
    rules: { x: [0], y: [0] },
    empty: 'No event has bars after it to be averaged.',
  })
}
