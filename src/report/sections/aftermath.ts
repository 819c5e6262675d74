import { PERFORMANCES } from '../../model/record.js'
import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { sum } from '../../statistics/moments.js'
import { stacked } from '../charts/stacked.js'
import { count, decimal, gain, probability, share, words } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import { type Column, signTone } from '../tables/column.js'
import { table } from '../tables/table.js'

type Aftermath = NonNullable<StudyWindow['aftermath']>
type Told = StudyWindow & { aftermath: Aftermath }

/** The aftermath bands after the events beside those after any bar. */
export function aftermath({ windows }: EventStudy): Section | null {
  const told = windows.filter((window): window is Told => window.aftermath !== null)
  if (told.length === 0) return null
  const stacks = told.flatMap(({ window, aftermath: { counts, base } }) => [
    { label: window, note: `events, n ${sum(counts)}`, counts, pale: false },
    { label: '', note: 'any bar', counts: base, pale: true },
  ])
  return {
    id: 'aftermath',
    title: 'The aftermath in bands',
    short: 'Aftermath',
    body: html`<p>Each return ranked against the ticker's own past: sharp is the worst or best 5%, flat the middle 20%.</p>
<figure class="chart"><figcaption><strong>Shares of the aftermath bands</strong> after the events, and paler after any bar</figcaption>${stacked('stacked', 'Shares of the seven aftermath bands by window', stacks)}</figure>
${table({ caption: 'Counts after the events, with the share over that of any bar (lift)', columns: COLUMNS, rows: told })}`,
  }
}

/** What followed the other bands of the field. */
export function otherBands({ windows, bands }: EventStudy): Section | null {
  const names = [...new Set(windows.flatMap(({ other_bands }) => other_bands.map(({ band }) => band)))]
  if (names.length === 0) return null
  const rows = names.map(band => ({
    band,
    cells: windows.map(window => window.other_bands.find(other => other.band === band)),
  }))
  type Row = (typeof rows)[number]
  const columns: Column<Row>[] = [
    { title: 'Band entered', text: ({ band }) => html`${band}${(bands ?? []).includes(band) && ' (asked)'}` },
    ...windows.flatMap(({ window }, i): Column<Row>[] => [
      { title: `${window}, n`, numeric: true, text: ({ cells }) => count(cells[i]?.n) },
      {
        title: 'Mean',
        numeric: true,
        text: ({ cells }) => gain(cells[i]?.mean),
        tone: ({ cells }) => signTone(cells[i]?.mean ?? null),
      },
      { title: 'Above 0', numeric: true, text: ({ cells }) => share(cells[i]?.hit, 0) },
    ]),
  ]
  return {
    id: 'bands',
    title: 'The other bands',
    short: 'Other bands',
    body: html`<p>If every band is followed by much the same, the band that was asked about says little.</p>
${table({ caption: 'Returns after the other bands of the field', columns, rows })}`,
  }
}

const COLUMNS: readonly Column<Told>[] = [
  { title: 'Window', text: ({ window }) => window },
  ...PERFORMANCES.map(
    (name, i): Column<Told> => ({
      title: words(name),
      numeric: true,
      text: ({ aftermath: { counts, lift } }) => html`${counts[i]} <span class="quiet">×${decimal(lift[i])}</span>`,
    }),
  ),
  { title: 'n', numeric: true, text: ({ aftermath }) => count(sum(aftermath.counts)) },
  { title: 'G', hint: 'G-test against any bar', numeric: true, text: ({ aftermath }) => decimal(aftermath.g) },
  { title: 'p', hint: 'By circular shifts', numeric: true, text: ({ aftermath }) => probability(aftermath.p) },
]
