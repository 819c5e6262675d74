import type { OptionSpec } from '../params/row.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import type { Format } from './output.js'

/** One command of the terminal: what can be said, and what happens then. */
export interface Command {
  /** `<TICKER>` and what it is, in order; `[X]` may be left out, `[X...]` takes the rest. Where its name does not
   *  tell what it may be: the words, or `TICKER`, `FIELD`, `FILE`. */
  readonly arguments?: readonly (readonly [name: string, about: string, may?: readonly string[]])[]
  readonly options?: readonly OptionSpec[]
  /** Whole command lines that work on the sample; shown first in the help. */
  readonly examples: readonly string[]
  /** What `--output` may be; the four of every question unless given. */
  readonly outputs?: readonly Format[]
  /** Longer words, before the options. */
  readonly notes?: readonly string[]
  /** It runs where config.json is broken, because it tells so itself. */
  readonly examinesSettings?: true
  /** It runs where the user's own fields are broken: it asks nothing of fields, or tells so itself. */
  readonly withoutFields?: true
  run(context: Context, given: Given): Promise<void>
}
