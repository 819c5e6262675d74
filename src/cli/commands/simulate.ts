import { InvalidParameter } from '../../errors.js'
import type { SimulateOptions } from '../../feeds/simulate.js'
import { dayOf } from '../../model/day.js'
import { dayValue, integerValue } from '../../query/values.js'
import type { Command } from '../command.js'
import type { Given } from '../given.js'

export const command: Command = {
  arguments: [['[COUNT]', 'how many tickers: SIM0001, SIM0002 …; 1 unless given']],
  options: [
    ['--bars <N>', 'daily bars of each; 1260 unless given'],
    ['--seed <N>', 'another world for another number; 1 unless given'],
    ['--end <DATE>', 'date of the last bar; 2025-12-31 unless given, so that the same words give the same bars'],
    ['--seven-days', 'trade at weekends too'],
    ['--facts <FOLDER>', 'write their reports, ratings, trades … into files of this folder, to be imported'],
    ['--load', 'put them with their facts into the database instead of printing them'],
    ['--wait', 'with --load: wait while another process is writing'],
  ],
  examples: ['bands simulate 3 --seed 7', 'bands simulate 8 --facts facts', 'bands simulate 100 --bars 2520 --load'],
  outputs: ['csv', 'ndjson', 'json'],
  notes: ['Simulated prices and facts: an edge that is found in them is chance.'],
  async run(context, given) {
    const options = simulateOptions(given)
    const facts = given.text('facts')
    if (given.flag('load') && facts !== undefined)
      throw new InvalidParameter('--facts writes files and --load loads without them; choose one.', { param: 'facts' })
    const { loadSimulated, writeSimulated } = await import('../answers/simulate.js')
    if (given.flag('load')) await loadSimulated(context, options, given.flag('wait'))
    else await writeSimulated(context, options, facts)
  },
}

function simulateOptions(given: Given): SimulateOptions {
  const end = given.text('end')
  return {
    count: integerValue('count', given.argument(0) ?? '1', 1, 1_000_000),
    bars: integerValue('bars', given.text('bars') ?? '1260', 1, 50_000),
    seed: integerValue('seed', given.text('seed') ?? '1', 0, 999_999_999),
    end: end === undefined ? dayOf(2025, 12, 31)! : dayValue('end', end),
    sevenDays: given.flag('seven-days'),
  }
}
