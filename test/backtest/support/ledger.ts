import type { Trial, Trials } from '../../../src/source.js'

/** A ledger of trials that keeps what it is told while a test runs. */
export function ledger(): Trials & { kept: Map<string, Trial> } {
  const kept = new Map<string, Trial>()
  return {
    kept,
    note: async (_, trials) => {
      for (const trial of trials) if (!kept.has(trial.hash)) kept.set(trial.hash, trial)
      return { ofKind: kept.size, all: kept.size }
    },
    of: async () => [...kept.values()],
    close: async () => {},
  }
}
