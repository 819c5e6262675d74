import type { NotedTrial } from '../market.js'
import type { Answer } from '../output.js'
import { whole } from '../render/amounts.js'
import { probability, ratio, right } from '../render/statistics.js'
import type { Table } from '../render/table.js'

/** The ledger of trials; people see the newest of it. Without one (the sample answers) there is nothing in it. */
export function trialsAnswer(found: readonly NotedTrial[] | null, limit: number): Answer {
  const trials = found ?? []
  const ofKind = (kind: NotedTrial['kind']): number => trials.filter(trial => trial.kind === kind).length
  return {
    document: () => ({
      schema: 'bands.trials/1',
      cells: ofKind('cell'),
      strategies: ofKind('strategy'),
      trials: trials.map(({ kind, hash, spec, p, sharpe }) => ({ kind, hash, spec, p, sharpe })),
    }),
    columns: ['kind', 'hash', 'spec', 'p', 'sharpe'],
    rows: () => trials.map(trial => ({ ...trial })),
    blocks: () => [
      {
        title: [
          `looked at: cells ${whole(ofKind('cell'))}, strategies ${whole(ofKind('strategy'))}`,
          ...(trials.length > limit ? [`newest ${limit} of each kind`] : []),
        ],
        table: table(trials, limit),
        ...(found === null ? { notes: ['Nothing is noted of the bundled sample.'] } : {}),
      },
    ],
  }
}

function table(trials: readonly NotedTrial[], limit: number): Table {
  const newest = (['cell', 'strategy'] as const).flatMap(kind =>
    trials
      .filter(trial => trial.kind === kind)
      .slice(-limit)
      .reverse(),
  )
  return {
    columns: [{ title: 'KIND' }, right('P'), right('SHARPE'), { title: 'WHAT', wraps: true }],
    rows: newest.map(({ kind, p, sharpe, spec }) => [kind, probability(p), ratio(sharpe, 3), spec]),
  }
}
