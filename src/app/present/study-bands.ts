import { isCondition } from '../../core/language/as-field.js'
import type { Timeframe } from '../../core/model/terms.js'
import { whole } from '../../core/numbers.js'
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

/** The window that a row is of, in days or weeks. */
export function windowColumn(timeframe: Timeframe): Column<{ window: string }> {
  const title = timeframe === 'weekly' ? 'Weeks' : 'Days'
  return { key: 'window', title, kind: 'window', value: ({ window }) => String(Number.parseInt(window, 10)) }
}

/** Several rows a window. */
export const BY_WINDOW = { grouped: true, whole: 'json' } as const

type OtherBand = StudyWindow['other_bands'][number]

/** The columns of returns after events that are not tested: those of other bands, and of sectors. */
const N: Column<Pick<OtherBand, 'n'>> = { title: 'n', kind: 'count', value: ({ n }) => n }
const AFTER: Column<Pick<OtherBand, 'mean'>> = { title: 'After', kind: 'return', value: ({ mean }) => mean }
const MIDDLE: readonly Column<Pick<OtherBand, 'median' | 'hit'>>[] = [
  { title: 'Median', kind: 'return', spare: 1, value: ({ median }) => median },
  { title: 'Rose', kind: 'share', spare: 0, value: ({ hit }) => hit },
]

/** All bands of the field side by side; null for a condition, which only stops being true. */
export function bandsSection(study: EventStudy, vocabulary: readonly string[] | undefined): Section | null {
  const { field, windows, timeframe } = study
  if (isCondition(field)) return null
  const others = windows.flatMap(({ window, other_bands }) => other_bands.map(other => ({ ...other, window })))
  if (others.length === 0) return null
  const columns: Column<OtherBand & { window: string }>[] = [
    windowColumn(timeframe),
    { title: 'Band', kind: 'text', value: ({ band }) => band },
    N,
    AFTER,
    ...MIDDLE,
  ]
  return section({ id: 'bands', title: `All bands of ${field}`, short: 'All bands', on: 'wide' }, [
    pageNote(
      'If the returns after every band are alike, the band of the question says little. Bar: mean. Tick: median. Dashed: mean after any bar. Only the band of the question is tested here and has an interval; bands sweep tests every band. A band of fewer than 10 events is not drawn.',
    ),
    { on: 'page', forests: windows.map(window => bandEstimates(study, window, vocabulary)) },
    { on: 'page', chart: bandPaths(study, vocabulary) },
    {
      fold: {
        title: 'The numbers of the other bands',
        parts: [tablePart('Returns after the other bands of the field', columns, others, BY_WINDOW)],
      },
    },
  ])
}

/** The events by sector of their tickers; null with fewer than two sectors. */
export function sectorsSection({ windows, timeframe }: EventStudy): Section | null {
  const rows = windows.flatMap(({ window, by_sector }) => by_sector.map(one => ({ ...one, window })))
  if (rows.length === 0) return null
  const columns: Column<(typeof rows)[number]>[] = [
    windowColumn(timeframe),
    { title: 'Sector', kind: 'text', value: ({ sector }) => sector },
    N,
    AFTER,
    { title: 'Any', kind: 'return', spare: 2, value: ({ base }) => base },
    ...MIDDLE,
  ]
  const title = 'Returns after the events, by sector'
  return section({ id: 'sectors', folded: true, title, short: 'Sectors', on: 'wide' }, [
    pageNote(
      'Bar: mean. Tick: median. Dashed: mean after any bar of all tickers. No sector is tested on its own, and one of many looks good by chance. A sector with fewer than 10 events is not drawn.',
    ),
    { on: 'page', forests: windows.map(sectorEstimates) },
    { fold: { title: 'The numbers of the sectors', parts: [tablePart(title, columns, rows, BY_WINDOW)] } },
  ])
}

function sectorEstimates({ window, base, by_sector }: StudyWindow): Estimates {
  return {
    id: `sectors-${window}`,
    title: `By sector, ${window}`,
    note: '',
    names: 'bands',
    baseline: base.mean,
    estimates: by_sector.map(({ sector, n, mean, median }) => {
      const [value, tick] = n < LEAST_UNITS ? [null, null] : [mean, median]
      const head = { label: sector, note: `n ${whole(n)}`, value, median: tick, reason: 'too few' }
      return { ...head, low: null, high: null, grey: true, tone: undefined }
    }),
  }
}

/** The name of the bands of the question, and the order of all bands with it in place of its first. */
function orderOf({ bands, band_paths }: EventStudy, vocabulary: readonly string[] | undefined) {
  const own = bands === null ? 'any of them' : bands.join(' or ')
  const first = bands?.[0]
  const all = vocabulary ?? [...(bands ?? []), ...band_paths.map(({ band }) => band)]
  const ordered = all.filter(band => band === first || !bands?.includes(band))
  return { own, all, order: bands === null ? [own, ...ordered] : ordered.map(band => (band === first ? own : band)) }
}

/** The bands over one window: mean and median, and of the question the interval. */
function bandEstimates(
  study: EventStudy,
  { window, n, mean, median, base, intervals, grey, other_bands }: StudyWindow,
  vocabulary: readonly string[] | undefined,
): Estimates {
  const { own, order } = orderOf(study, vocabulary)
  const [interval] = intervals
  // The interval is of the difference from any bar, which is added again.
  const shifted = (of: number | null | undefined): number | null => (of == null ? null : of + (base.mean ?? 0))
  const estimate = (label: string): Estimate => {
    const head = { label, tone: undefined, reason: 'none' }
    if (label === own)
      return {
        ...head,
        note: `n ${whole(n)}`,
        value: mean,
        median,
        grey,
        low: shifted(interval?.low),
        high: shifted(interval?.high),
      }
    const other = other_bands.find(({ band }) => band === label)
    const events = other?.n ?? 0
    const shown = events >= LEAST_UNITS ? other : undefined
    return {
      ...head,
      note: `n ${whole(events)}`,
      value: shown?.mean ?? null,
      median: shown?.median ?? null,
      reason: 'too few',
      low: null,
      high: null,
      grey: true,
    }
  }
  return {
    id: `bands-${window}`,
    title: `After each band, ${window}`,
    note: '',
    names: 'bands',
    baseline: base.mean,
    estimates: order.map(estimate),
  }
}

/** The average path after each band, and after any bar. The way to the event would hide the differences after it. */
function bandPaths(study: EventStudy, vocabulary: readonly string[] | undefined): Chart {
  const { band_paths } = study
  const { own, all, order } = orderOf(study, vocabulary)
  const first = study.bands?.[0]
  const from = Math.max(
    0,
    study.path.findIndex(({ bar }) => bar >= 0),
  )
  const path = study.path.slice(from)
  const toneOf = (band: string): BandTone => bandTone(all.indexOf(band), all.length)
  const drawn = order.filter(
    label => label === own || (band_paths.find(({ band }) => band === label)?.n ?? 0) >= LEAST_UNITS,
  )
  const lines = drawn.map(label => {
    if (label === own) {
      const means = path.map(({ mean }) => mean)
      return line(own, first === undefined ? 'accent' : toneOf(first), means, { width: 2.6, named: true })
    }
    const other = band_paths.find(({ band }) => band === label)?.mean.slice(from)
    return line(label, toneOf(label), other ?? path.map(() => null), { width: 1.4, named: true })
  })
  const any = path.map(({ base }) => base)
  return newChart('band-paths', 'Average path by band', {
    description: `The average change of the price after the entry into each band: ${drawn.join(', ')}.`,
    x: ['bars', path.map(({ bar }) => bar)],
    y: 'return',
    height: 280,
    lines: [...lines, line('any bar', 'quiet', any, { width: 1.4, dashed: true, named: true })],
    rules: { x: [0], y: [0] },
    empty: 'No event has bars after it to be averaged.',
  })
}
