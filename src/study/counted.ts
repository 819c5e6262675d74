import type { Trial, TrialKind, Trials } from '../source.js'

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
