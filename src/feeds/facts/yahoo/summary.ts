import * as z from 'zod'
import { BadData } from '../../../errors.js'
import type { ReadOptions } from '../../feed.js'
import { shown } from '../../value/shown.js'
import { documentTicker } from '../document-ticker.js'
import { shaped } from '../shape.js'
import type { FactsSink } from '../sink.js'
import { MODULES } from './modules.js'

/** Modules that tell the symbol. */
const NAMING = ['price', 'quoteType'] as const

const Summary = z.object({
  quoteSummary: z.object({
    result: z.array(z.record(z.string(), z.unknown())).length(1).nullish(),
    error: z.object({ description: z.string() }).nullish(),
  }),
})
const Named = z.object({ symbol: z.string() })

/**
 * Loads the modules of a quote summary and returns the number of their rows. A module that cannot be loaded is remarked;
 * throws BadData when none can be.
 */
export function readSummary(file: string, root: unknown, options: ReadOptions, sink: FactsSink): number {
  const { result, error } = shaped(file, Summary, root, 'a quote summary of Yahoo').quoteSummary
  const modules = result?.[0]
  if (modules === undefined) {
    const said =
      error === undefined || error === null ? 'nothing' : `only a message of Yahoo: ${shown(error.description)}`
    throw new BadData({ file }, `there are no facts in it, ${said}`)
  }
  const symbols = NAMING.map(name => Named.safeParse(modules[name]).data?.symbol)
  const own = symbols.find(symbol => symbol !== undefined) ?? null
  const taking = { file, sink, known: options.known, ticker: () => documentTicker(file, own, options.ticker) }
  const refused: string[] = []
  let rows: number | null = null
  for (const [name, module] of Object.entries(modules)) {
    const outcome = MODULES.get(name)?.(module, taking)
    if (outcome === undefined) {
      if (!NAMING.some(naming => naming === name)) sink.remark('modules of no field are not loaded', name)
    } else if ('refused' in outcome) {
      refused.push(outcome.refused)
      sink.remark(outcome.refused, name)
    } else rows = (rows ?? 0) + outcome.rows
  }
  if (rows !== null) return rows
  const read = [...MODULES.keys()].join(', ')
  const why =
    refused.length > 0
      ? refused.join('; ')
      : `none of its modules (${Object.keys(modules).join(', ')}) is read; those are ${read}`
  throw new BadData({ file }, why)
}
