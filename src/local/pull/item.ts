import type { NotFound, TierRestricted } from '../../errors.js'
import type { Planned } from './plan.js'
import type { Outcome } from './report.js'

/** One series of a pull at work. */
export interface Item extends Planned {
  asked: boolean
  complete: boolean
  credits: number
  /** Nothing of it has answered before. */
  fresh: boolean
  added: number
  changed: number
  /** Times that its pages were of different days. */
  mixed: number
  refusal: NotFound | TierRestricted | null
  note: string | null
}

export function itemOf(planned: Planned): Item {
  return {
    ...planned,
    asked: false,
    complete: planned.due === 'done',
    credits: 0,
    fresh: false,
    added: 0,
    changed: 0,
    mixed: 0,
    refusal: null,
    note: null,
  }
}

export function outcomeOf({ refusal, asked, complete, credits, fresh }: Item): Outcome {
  if (refusal !== null) return 'refused'
  if (!complete) return 'unfinished'
  if (!asked) return 'done'
  if (credits === 0) return 'unchanged'
  return fresh ? 'pulled' : 'updated'
}
