import type { EventStudy, Occurrence } from '../../research/study/result.js'
import { gain, NONE, price } from '../format.js'
import { type Column, signTone } from './column.js'

export function occurrenceColumns({ windows, context, occurrences }: EventStudy): Column<Occurrence>[] {
  const told = occurrences.some(({ stability }) => stability !== null)
  return [
    { title: 'Date', text: ({ date }) => date, order: ({ date }) => date },
    { title: 'Ticker', text: ({ ticker }) => ticker, order: ({ ticker }) => ticker },
    { title: 'From', text: ({ prev_band }) => prev_band, order: ({ prev_band }) => prev_band },
    { title: 'To', text: ({ band }) => band, order: ({ band }) => band },
    ...(told ? SETTLED : []),
    ...(context === null ? [] : [contextColumn(`${context.ticker} was`)]),
    { title: 'Close', numeric: true, text: ({ close }) => price(close), order: ({ close }) => close },
    ...windows.map(
      ({ window }): Column<Occurrence> => ({
        title: window,
        numeric: true,
        text: ({ returns }) => gain(returns[window]),
        order: ({ returns }) => returns[window] ?? null,
        tone: ({ returns }) => signTone(returns[window] ?? null),
      }),
    ),
    ...windows.slice(-1).flatMap(({ window }): Column<Occurrence>[] => [
      {
        title: `MFE ${window}`,
        numeric: true,
        text: ({ mfe }) => gain(mfe[window]),
        order: ({ mfe }) => mfe[window] ?? null,
      },
      {
        title: `MAE ${window}`,
        numeric: true,
        text: ({ mae }) => gain(mae[window]),
        order: ({ mae }) => mae[window] ?? null,
      },
    ]),
  ]
}

/** Newest first; of one date by ticker. */
export function occurrenceRows({ occurrences }: EventStudy): Occurrence[] {
  return [...occurrences].sort((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : a.ticker < b.ticker ? -1 : 1))
}

function contextColumn(title: string): Column<Occurrence> {
  return { title, text: ({ context_band }) => context_band ?? NONE, order: ({ context_band }) => context_band }
}

const SETTLED: readonly Column<Occurrence>[] = [
  { title: 'Stability', text: ({ stability }) => stability ?? NONE, order: ({ stability }) => stability },
  { title: 'Flips', numeric: true, text: ({ flips }) => flips ?? NONE, order: ({ flips }) => flips },
]
