import type { Trial, TrialKind, Trials } from '../../../src/core/source.js'

/** A trial log that lasts as long as a test. */
export function ledger(): Trials & { kept: Map<string, Trial> } {
  const kept = new Map<string, Trial>()
  const kinds = new Map<string, TrialKind>()
  const ofKind = (kind: TrialKind): Trial[] => [...kept.values()].filter(({ hash }) => kinds.get(hash) === kind)
  return {
    kept,
    note: async (kind, trials) => {
      for (const trial of trials)
        if (!kept.has(trial.hash)) {
          kept.set(trial.hash, trial)
          kinds.set(trial.hash, kind)
        }
      return { ofKind: ofKind(kind).length, all: kept.size }
    },
    of: async kind => ofKind(kind),
    close: async () => {},
  }
}
