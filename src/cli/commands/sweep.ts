import { InvalidParameter } from '../../errors.js'
import { integerValue } from '../../params/values.js'
import { cellRecords } from '../../present/records.js'
import { describeSweep } from '../../present/sweep.js'
import { parseSweep, SWEEP_NAMES, type SweepParams } from '../../sweep/params.js'
import { sweep } from '../../sweep/sweep.js'
import type { Command } from '../command.js'
import { describedAnswer } from '../draw/described.js'
import { studyMarket, withTrials } from '../market.js'
import { POOLED, TIMEFRAME } from '../options.js'
import { filesOf, writeReport, writeTable } from '../output-files.js'
import { allNamed, isPooled } from '../questions.js'

export const command: Command = {
  arguments: [['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input); left out with --tickers or --all']],
  options: [
    ...POOLED,
    TIMEFRAME,
    ['--fields <FIELDS>', 'only these fields, or all; those that stand on bars unless given', 'repeatable'],
    ['--horizon <BARS>', 'windows in bars; those of the aftermath unless given', 'repeatable'],
    ['--context <T:F>', 'tell cells apart by the band of a second ticker, too: GSPC:trend_direction', 'repeatable'],
    ['--context-lag <BARS>', '1: as of its bar before the date of the event; 0 unless given'],
    ['--by <WHAT>', 'pool: a cell for all tickers together (unless given); ticker: one for each'],
    ['--prev-band', 'tell cells apart by the band left, too'],
    ['--after <DATE>', 'only events after this day'],
    ['--before <DATE>', 'only events before this day'],
    ['--min-events <N>', 'fewer get no p-value; 20 unless given'],
    ['--adjust <HOW>', 'correct p by bh (Benjamini-Hochberg, unless given), by (Benjamini-Yekutieli), holm, or none'],
    ['--family <WHAT>', 'correct for the looks of this run (unless given), or of the ledger'],
    ['--reps <N>', 'shifts drawn where more than 2,000 are possible; 999 unless given'],
    ['--resamples <N>', 'draws of every bootstrap; 1000 unless given'],
    ['--pbo-blocks <N>', 'blocks of the overfitting test; 16 unless given'],
    ['--split <DATE>', 'choose before this day, check from it on'],
    ['--walk-forward <BARS>', 'choose and check in turn: train=756,test=252,step=252[,embargo=5][,anchored]'],
    ['--cv <FOLDS>', 'purged cross-validation: k=5,embargo=5'],
    ['--cpcv <GROUPS>', 'combinatorial purged cross-validation: n=6,k=2'],
    ['--seed <N>', 'other draws for another number; 1 unless given'],
    ['--limit <N>', 'rows of the table; 20 unless given'],
    ['--wide', 'all that was assumed, word by word'],
    ['--cells <FILE>', 'write all cells: .csv, .ndjson or .json'],
    ['--report <FILE>', 'write a page that needs nothing else: .html'],
  ],
  headings: {
    '--tickers': 'Of which tickers, where they do not stand on the line',
    '--timeframe': 'What makes a cell',
    '--after': 'Which events',
    '--min-events': 'Tests and corrections',
    '--split': 'Choose on some dates, check on others (one of four)',
    '--seed': 'Draws',
    '--limit': 'What is shown and written',
  },
  examples: [
    'bands sweep --all',
    'bands sweep AAPL GSPC --fields rsi_zone,trend_direction --horizon 5,20',
    'bands sweep AAPL --context GSPC:trend_direction --split 2017-01-01 --json',
  ],
  notes: [
    'Every field, band and window makes a cell; all that were looked at count, also those with too few events. Q is P corrected for that many looks; the tests below the table ask whether the best of them is real.',
    'json, ndjson, csv and --cells have every cell.',
  ],
  async run(context, given) {
    const files = await filesOf(given, { cells: 'table', report: 'page' })
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 100_000)
    if (given.rest(0).length === 0 && !isPooled(given)) {
      const allowed = 'bands sweep TICKER..., or bands sweep --tickers A,B, or bands sweep --all'
      throw new InvalidParameter('TICKER is missing.', { param: 'ticker', allowed })
    }
    const market = await studyMarket(context)
    const tickers = await allNamed(context, given, given.rest(0), () => market.withBars())
    const query = parseSweep({ ...given.params(SWEEP_NAMES), tickers } as SweepParams)
    const found = await withTrials(context, trials =>
      sweep(market, query, { trials, step: text => context.step(text) }),
    )
    await context.show(
      describedAnswer(describeSweep(found, { limit }), cellRecords(found), { wide: given.flag('wide') }),
    )
    if (files.cells !== undefined) await writeTable(context, files.cells, 'cell', cellRecords(found))
    if (files.report !== undefined) await writeReport(context, files.report, market, found)
  },
}
