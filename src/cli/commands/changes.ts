import { openLists } from '../../open.js'
import { optionsOf } from '../../params/row.js'
import { CHANGES, parseChanges } from '../../params/screen.js'
import { describeChanges } from '../../present/screen.js'
import { type Changed, changes, questionOf } from '../../screen/screen.js'
import type { Lists } from '../../source.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { described } from '../draw/described.js'
import type { Given } from '../given.js'
import { POOLED } from '../options.js'
import { marketTickers } from '../tickers.js'
import { type Post, WEBHOOK, webhookOf } from '../webhook.js'

export const command: Command = {
  options: [...optionsOf(CHANGES), ...POOLED, ...WEBHOOK, ['--fail-empty', 'exit with 3 when nothing changed']],
  examples: [
    'bands changes',
    'bands changes --since 2018-05-01 --fields rsi_zone,macd_state',
    'bands changes --since last --watch tech --ndjson',
  ],
  notes: [
    'Without --since: what became final on the newest day. --since last goes on where the same list (--watch NAME, or none) was last asked, ticker by ticker, so that a late bar is not lost; it moves on once the answer is written out, with --webhook once it was received.',
    'Each question that is narrowed in another way, by --fields or by --when, has its own last. A ticker that is new to it begins where the question was last told.',
  ],
  async run(context, given) {
    const local = await context.local()
    const post = await webhookOf(context, given)
    const asked = parseChanges(given.params(Object.keys(CHANGES)), local.fieldSet)
    const tickers = await marketTickers(context, given, local)
    const newest = (await local.today()) - 1
    const granted = new Set((await local.granted()).fields.map(({ name }) => name))
    const fields = given.value('fields') === undefined ? asked.fields.filter(name => granted.has(name)) : asked.fields
    const query = { ...asked, fields, tickers }
    const ways = { step: (text: () => string) => context.step(text) }
    if (asked.since !== 'last')
      return tell(
        { context, given, post },
        await changes(local, { ...query, since: asked.since ?? newest }, ways),
        tickers.length,
      )
    const question = questionOf({ ...asked, lists: given.list('watch') }, local.fieldSet.names)
    await withLists(context, async lists => {
      const marks = await lists.seen(question)
      const changed = await changes(local, { ...query, since: newest, marks }, ways)
      await tell({ context, given, post }, changed, tickers.length)
      await lists.see(question, changed.marks)
    })
  },
}

async function withLists(context: Context, ask: (lists: Lists) => Promise<void>): Promise<void> {
  const lists = await openLists(context.choice)
  try {
    await ask(lists)
  } finally {
    await lists.close()
  }
}

/** Posts and shows what was found; throws where either is not done to the end. */
async function tell(
  { context, given, post }: { context: Context; given: Given; post: Post },
  { found }: Changed,
  tickers: number,
): Promise<void> {
  await post(found)
  await context.show(described(describeChanges(found, tickers)))
  if (found.changes.length > 0) return
  if (!context.config.quiet) {
    const since = found.since === 'last' ? 'since the last time' : `on a bar that became final after ${found.since}`
    await context.notice(`No change: no field of ${tickers} tickers entered another band ${since}.`)
  }
  if (given.flag('fail-empty')) context.outcome = 3
}
