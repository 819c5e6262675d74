import { integerValue } from '../../query/values.js'
import { planAnswer, pullAnswer } from '../answers/pull.js'
import type { Command } from '../command.js'
import { pullRequest } from '../pull-request.js'
import { dryPlan, pageSource, pullFailure, questionOf, told, withinTier } from '../pulling.js'

export const command: Command = {
  arguments: [['[NAME...]', 'tickers (A,B, @FILE, or - for standard input) and band fields, in any order']],
  options: [
    ['--all-fields', 'every field that the key may ask for'],
    ['--timeframe <NAMES>', 'daily, weekly or both; daily unless given', 'repeatable'],
    ['--max-credits <N>', 'never spend more; the same command goes on from there'],
    ['--dry-run', 'ask nothing, and tell what it will cost at least'],
    ['--replace', 'begin again, whatever was pulled before, and from whom'],
    ['--wait', 'wait while another process is writing'],
  ],
  examples: [
    'bands pull AAPL rsi_zone --remote https://api.example.com',
    'bands pull AAPL,MSFT rsi_zone macd_state --timeframe both --max-credits 100',
    'bands pull @tickers.txt --all-fields --dry-run',
  ],
  notes: [
    'Events with what followed them are fetched from a server into the database here, a credit for each 100 of them. Afterwards the same questions are answered here, and say whose the answers are.',
    'A pull that is stopped is gone on with by the same command. One of what is there asks only for what may have changed.',
    'Of one ticker there are bars, or events of one server: bands remove TICKER takes them out.',
  ],
  async run(context, given) {
    const request = await pullRequest(given, context.world)
    if (given.flag('dry-run')) return context.show(planAnswer(await dryPlan(context, request)))
    const most = given.text('max-credits')
    const limit = most === undefined ? {} : { maxCredits: integerValue('max_credits', most, 0, 100_000_000) }
    const remote = await context.origin()
    // Costs nothing, tells what may be spent, and a wrong key before anything is made here.
    await remote.checkKey()
    const puller = await context.puller({ wait: given.flag('wait') })
    // Every page is kept as it comes: a signal only lets what there is be shown.
    context.endTidily()
    const wanted = given.flag('all-fields') ? withinTier(request, remote.tier) : request
    const report = await puller.pull(pageSource(remote), wanted, { ...limit, ...told(context, remote) })
    const failure = pullFailure(report, given.flag('all-fields'))
    const some = report.credits > 0 || report.series.some(({ outcome }) => outcome === 'unchanged')
    if (failure === null || some) await context.show(pullAnswer(report))
    if (failure !== null) throw failure
    await context.hint(`next, without a server: ${questionOf(wanted, context.config)}`)
  },
}
