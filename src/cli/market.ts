import { Busy, NotFound, StorageError } from '../errors.js'
import type { Ledger, NotedTrial } from '../present/data.js'
import type { PricedSource, TrialKind, Trials } from '../source.js'
import type { Context } from './context.js'

/**
 * What studies stand on: all that is loaded here, or the range and the fields of a tier that was asked for; of a server
 * the bands, with the prices that are loaded here. Throws NotFound where a server is asked and no prices are here.
 */
export async function studyMarket(context: Context): Promise<PricedSource> {
  const { remote, local } = await context.beside()
  if (remote === null) return local
  if (context.opened!.sample || (await local.asOfDay()) === null)
    throw new NotFound(
      `${remote.url} tells events, not prices, and a study needs both: bands import FILE loads the prices here.`,
    )
  const { eventsOnBars } = await import('../remote/events-on-bars.js')
  return eventsOnBars(remote, local)
}

/**
 * Asks a question with the ledger of trials; without one where the sample answers, or where none can be written, which is
 * said.
 */
export async function withTrials<Found extends { warnings: string[] }>(
  context: Context,
  ask: (trials: Trials | null) => Promise<Found>,
): Promise<Found> {
  const { counted } = await import('../study/trials.js')
  const trials = await opened(context).catch(async error => {
    if (!(error instanceof StorageError || error instanceof Busy)) throw error
    await context.notice(`this run is not counted among the trials: ${error.message}`)
    return null
  })
  try {
    return await counted(trials, ask)
  } finally {
    await trials?.close()
  }
}

/**
 * Trials of some kinds, oldest first; `none` where no ledger was made yet, null while the sample answers. Throws
 * StorageError for a ledger it cannot read.
 */
export async function ledger(context: Context, kinds: readonly TrialKind[]): Promise<Ledger> {
  const { openTrialsForReading } = await import('../open.js')
  const trials = await openTrialsForReading(context.choice)
  if (trials === null || trials === 'none') return trials
  try {
    const found: NotedTrial[] = []
    for (const kind of kinds) for (const trial of await trials.of(kind)) found.push({ kind, ...trial })
    return found
  } finally {
    await trials.close()
  }
}

async function opened(context: Context): Promise<Trials | null> {
  const { openTrials } = await import('../open.js')
  return openTrials(context.choice)
}
