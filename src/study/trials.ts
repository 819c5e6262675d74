import { createHash } from 'node:crypto'
import { InvalidParameter } from '../errors.js'
import type { Range } from '../model/calendar.js'
import { formatDay, parseDay } from '../model/day.js'
import { windowName } from '../model/terms.js'
import type { EventFilter, Family } from '../params/studies.js'
import type { Trial, TrialKind, Trials } from '../source.js'
import { filterWords, tickerWords } from './words.js'

/** What makes a cell the same cell again: what was asked, of whom, and the range of the data that answered. */
export interface CellSpec extends Range {
  tickers: readonly string[]
  filter: EventFilter
  horizon: number
}

/** A cell as the trial ledger keeps it: the same cell has the same hash, whichever command looked at it. */
export function cellTrial(spec: CellSpec, found: Pick<Trial, 'p' | 'test' | 'sharpe'>): Trial {
  return { hash: hashOf(documentOf(spec)), spec: inWords(spec), ...found }
}

/** Of JSON whose bytes depend on the values alone: keys ascending, no spaces. */
export function hashOf(document: unknown): string {
  const text = JSON.stringify(document, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
  return createHash('sha256').update(text).digest('hex')
}

/** By the keys that the ledger has had from its first day on, so that a cell noted then is the same cell now. */
function documentOf({ tickers, filter, horizon, first, last }: CellSpec): unknown {
  const { field, timeframe, bands, prev_bands, stability, max_flips, context, when, lag, after, before } = filter
  return {
    kind: 'cell',
    tickers: tickers.toSorted(),
    field,
    timeframe,
    bands: sorted(bands),
    prevBands: sorted(prev_bands),
    stability: sorted(stability),
    maxFlips: max_flips,
    context: context === null ? null : { ...context, bands: sorted(context.bands) },
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    after: parseDay(after ?? ''),
    before: parseDay(before ?? ''),
    horizon,
    first,
    last,
  }
}

function sorted(values: readonly string[] | null): string[] | null {
  return values === null ? null : values.toSorted()
}

function inWords({ tickers, filter, horizon, first, last }: CellSpec): string {
  return [
    ...filterWords(filter),
    windowName(horizon, filter.timeframe),
    tickerWords(tickers),
    first === null || last === null ? 'no bars' : `${formatDay(first)} to ${formatDay(last)}`,
  ].join('; ')
}

/** Throws InvalidParameter where all looks of the ledger are to be corrected for, and there is none. */
export function checkFamily(family: Family, trials: Trials | null): void {
  if (family === 'run' || trials !== null) return
  const why = 'there is no trial ledger beside the bundled sample'
  const message = `family "ledger" cannot be: ${why}; use family "run", or a database of your own.`
  throw new InvalidParameter(message, { param: 'family', value: family, allowed: ['run'] })
}

/**
 * Asks a question whose looks are noted in a ledger; null: nowhere. The answer of a long run is not lost where the ledger
 * cannot be written at its end (another process holds it, the disk is full): it counts its looks as if they were noted,
 * and its warnings say that they are not.
 */
export async function counted<Found extends { warnings: string[] }>(
  trials: Trials | null,
  ask: (trials: Trials | null) => Promise<Found>,
): Promise<Found> {
  if (trials === null) return ask(null)
  const patient = new PatientTrials(trials)
  const found = await ask(patient)
  if (patient.failure === null) return found
  return {
    ...found,
    warnings: [...found.warnings, `this run is not noted in the ledger of trials: ${patient.failure}`],
  }
}

/** A ledger that knows of the looks of its run even where it cannot write them down. */
class PatientTrials implements Trials {
  /** Why something could not be noted; null where all was. */
  failure: string | null = null
  readonly #ledger: Trials
  readonly #unwritten: { kind: TrialKind; trial: Trial }[] = []

  constructor(ledger: Trials) {
    this.#ledger = ledger
  }

  async note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }> {
    try {
      return await this.#ledger.note(kind, trials)
    } catch (error) {
      this.failure = (error as Error).message
      for (const trial of trials) this.#unwritten.push({ kind, trial })
      const [cells, strategies] = [await this.of('cell'), await this.of('strategy')]
      return { ofKind: (kind === 'cell' ? cells : strategies).length, all: cells.length + strategies.length }
    }
  }

  async of(kind: TrialKind): Promise<readonly Trial[]> {
    const known = new Map<string, Trial>()
    const add = (trial: Trial): void => {
      if (!known.has(trial.hash)) known.set(trial.hash, trial)
    }
    const written = this.failure === null ? this.#ledger.of(kind) : this.#ledger.of(kind).catch(() => [])
    for (const trial of await written) add(trial)
    for (const one of this.#unwritten) if (one.kind === kind) add(one.trial)
    return [...known.values()]
  }

  async close(): Promise<void> {
    await this.#ledger.close()
  }
}
