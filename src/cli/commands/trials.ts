import { choice } from '../../params/row.js'
import { integerValue, wordValue } from '../../params/values.js'
import { count, probability, ratio, whole } from '../../present/numbers.js'
import type { TrialKind } from '../../source.js'
import type { Command } from '../command.js'
import { type Block, right } from '../draw/table.js'
import { ledger, type NotedTrial } from '../market.js'
import type { Answer } from '../output.js'

const KINDS = ['cell', 'strategy'] as const satisfies readonly TrialKind[]

export const command: Command = {
  options: [
    choice('--kind <WHAT>', `only ${KINDS.join(' or ')}`, KINDS),
    ['--limit <N>', 'how many of the newest; 20 unless given'],
  ],
  examples: ['bands trials', 'bands trials --kind strategy --json'],
  notes: [
    'A cell is a band of a field over a window (study, sweep), a strategy is what backtest trades. Every distinct one that was looked at is noted once, with the range of the data, in a file beside the database. So many looks are what a best result has to be deflated by (--family ledger). Nothing is noted of the bundled sample.',
  ],
  async run(context, given) {
    const kind = given.text('kind')
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 1_000_000)
    const kinds: readonly TrialKind[] = kind === undefined ? KINDS : [wordValue('kind', kind, KINDS)]
    const found = await ledger(context, kinds)
    await context.show(trialsAnswer(found, kinds, limit))
  },
}

/** What the ledger of trials holds: people see the newest of it. */
type Found = readonly NotedTrial[] | 'none' | null

/** Without a ledger (none was made yet, or the sample answers: null) there is nothing in it. */
function trialsAnswer(found: Found, kinds: readonly TrialKind[], limit: number): Answer {
  const trials = found === 'none' || found === null ? [] : found
  const ofKind = (kind: TrialKind): number => trials.filter(trial => trial.kind === kind).length
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
        title: [`looked at: ${kinds.map(kind => counted(kind, ofKind(kind))).join(', ')}`],
        notes: told(found, kinds.some(kind => ofKind(kind) > limit) ? limit : null),
      },
      ...kinds.flatMap(kind => listed(kind, trials, limit)),
    ],
  }
}

function counted(kind: TrialKind, n: number): string {
  return kind === 'cell' ? count(n, 'cell') : n === 1 ? '1 strategy' : `${whole(n)} strategies`
}

/** @param limit null: all are shown */
function told(found: Found, limit: number | null): string[] {
  if (found === null) return ['Nothing is noted of the bundled sample.']
  if (found === 'none')
    return ['There is no ledger beside this database yet: bands study, backtest and sweep note what they look at.']
  if (found.length === 0)
    return ['No such look is noted in the ledger yet: bands study, backtest and sweep note what they look at.']
  return limit !== null ? [`The newest ${whole(limit)} of each kind; --limit N shows more, --json has all.`] : []
}

/** The newest of a kind. Where two read alike, what tells them apart: the begin of the hash of all that they are. */
function listed(kind: TrialKind, trials: readonly NotedTrial[], limit: number): Block[] {
  const all = trials.filter(trial => trial.kind === kind)
  if (all.length === 0) return []
  const alike = new Map<string, number>()
  for (const { spec } of all) alike.set(spec, (alike.get(spec) ?? 0) + 1)
  const what = ({ spec, hash }: NotedTrial): string => (alike.get(spec)! > 1 ? `${spec}; #${hash.slice(0, 7)}` : spec)
  const newest = all.slice(-limit).reverse()
  const [p, sharpe] = [right('P'), right('SHARPE A BAR')]
  return [
    {
      table:
        kind === 'cell'
          ? {
              columns: [p, sharpe, { title: 'CELL', wraps: true }],
              rows: newest.map(trial => [probability(trial.p), ratio(trial.sharpe, 3), what(trial)]),
            }
          : {
              columns: [sharpe, { title: 'STRATEGY', wraps: true }],
              rows: newest.map(trial => [ratio(trial.sharpe, 3), what(trial)]),
            },
    },
  ]
}
