import type { Backtest } from '../../research/backtest/result.js'
import { counted, gain, probability } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'

/** Could luck have done it? */
export function chance({ random_entry: entry, trials, trade_statistics: { n, mean } }: Backtest): Section {
  return {
    id: 'chance',
    title: 'Could it be luck?',
    short: 'Luck',
    body: html`<dl class="facts">
<div><dt>Random entry</dt><dd>${
      entry.p === null
        ? (entry.reason ?? 'was not drawn.')
        : `p ${probability(entry.p)}: how often the signals of all trades, moved to other dates together and traded by the same rules, had as high a mean or a higher one (${counted(entry.draws, 'draw')}, mean ${gain(entry.mean)} a trade; here ${gain(mean)} over ${counted(n, 'trade')}).`
    }</dd></div>
<div><dt>Looks</dt><dd>${counted(trials.run, 'strategy', 'strategies')} in this run${trials.ledger !== null && `, ${counted(trials.ledger, 'strategy', 'strategies')} ever tried on this database`}. The more, the better the best of them looks by luck alone.</dd></div>
<div><dt>Deflated Sharpe</dt><dd>${
      trials.deflated_sharpe === null
        ? (trials.reason ?? 'has no value.')
        : `${probability(trials.deflated_sharpe)}, by the ${counted(trials.n, 'strategy', 'strategies')} of ${trials.family === 'run' ? 'this run' : 'this database'}: the probability that the true Sharpe ratio is above what the best of so many would reach by luck (Bailey and López de Prado 2014).`
    }</dd></div></dl>`,
  }
}
