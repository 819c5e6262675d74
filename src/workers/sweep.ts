import { looker, type SweepData, type SweepTask } from '../sweep/validation.js'
import type { Handler } from '../threads.js'

/** Looks at a part of the cells of a sweep. */
export function begin(data: SweepData): Handler {
  const look = looker(data)
  return { answer: (task: SweepTask) => ({ result: [...look(task)] }) }
}
