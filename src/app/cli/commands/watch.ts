import { NotFound, quoted, remedy, suggest, wrong } from '../../../core/errors.js'
import { count } from '../../../core/numbers.js'
import { refuse } from '../../../core/params/values.js'
import type { NamedList } from '../../../core/source.js'
import { openLists } from '../../open/database.js'
import { type Column, column, describeList } from '../../present/description.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { oneRow } from '../output.js'
import { allLists, listNamed, namedTickers } from '../tickers.js'

const NAME = ['<NAME>', 'the list (bands watch list); case does not matter'] as const

const add: Command = {
  arguments: [
    ['<NAME>', 'the list, made if there is none: letters, digits, _ and -, at most 40, a letter first'],
    ['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input)', ['TICKER']],
  ],
  options: [['--when <C>', 'in place of tickers: those for which a condition holds, such as "rsi_zone = oversold"']],
  examples: ['bands watch add tech AAPL', 'bands watch add dips --when "rsi_zone = oversold"'],
  notes: [
    'Lists are your own, in a file next to the database; bands backup copies them. Every command that takes --tickers takes --watch NAME.',
  ],
  async run(context, args) {
    const name = await nameValue(args.argument(0)!)
    const tickers = await namedTickers(args.rest(1), context.world)
    const when = args.text('when')
    if (when === undefined && tickers.length === 0)
      throw wrong('tickers', 'which tickers is missing, or --when C.', {
        allowed: 'bands watch add NAME TICKER..., or bands watch add NAME --when C',
      })
    if (when !== undefined && tickers.length > 0)
      throw wrong('when', '--when chooses the tickers of a list; leave out those on the line.')
    const condition = when === undefined ? null : await printed(context, when)
    const lists = context.closing(await openLists(context.choice))
    checkKind(await lists.named(name), condition)
    await showList(context, await (condition === null ? lists.add(name, tickers) : lists.addCondition(name, condition)))
    await noticeMissingTickers(context, tickers)
  },
}

/** A list is of tickers or of one condition. */
function checkKind(there: NamedList | undefined, condition: string | null): void {
  if (there === undefined || there.condition === condition) return
  const [is, wanted] =
    there.condition === null ? ['of tickers', 'a condition'] : [`of ${quoted(there.condition)}`, 'anything else']
  throw wrong(
    'name',
    `the list ${there.name} is ${is}; take it away before it is of ${wanted}.`,
    { value: there.name },
    { remedy: remedy('watch remove', [there.name]) },
  )
}

/** A condition as it is printed. Throws InvalidParameter with the column. */
async function printed(context: Context, text: string): Promise<string> {
  const { parseCondition, printCondition } = await import('../../../core/language/condition.js')
  return printCondition(parseCondition(text, context.fields))
}

const list: Command = {
  examples: ['bands watch list', 'bands watch list --json'],
  async run(context) {
    const lists = await allLists(context)
    // A column of only dashes is not numeric.
    const kind = lists.some(({ condition }) => condition === null) ? 'count' : 'text'
    const shown: Column<NamedList>[] = [
      column('name'),
      { title: 'tickers', kind, of: row => (row.condition === null ? row.tickers.length : null) },
      { title: 'of', kind: 'text', wraps: true, of: row => row.condition ?? row.tickers.join(' ') },
    ]
    const columns = ['name', 'condition', 'tickers']
    await context.show(describeList({ schema: 'bands.watch/1', lists }, lists, shown, { columns }))
    if (lists.length === 0) await context.remark('no list yet; bands watch add NAME TICKER makes one.')
  },
}

const show: Command = {
  arguments: [NAME],
  examples: ['bands watch show tech', 'bands watch show tech --json'],
  async run(context, args) {
    const found = listNamed(args.argument(0)!, await allLists(context))
    await showList(context, found)
    await noticeMissingTickers(context, found.tickers)
  },
}

const remove: Command = {
  arguments: [NAME, ['[TICKER...]', 'tickers to remove (default the whole list)', ['TICKER']]],
  examples: ['bands watch remove tech AAPL', 'bands watch remove tech'],
  async run(context, args) {
    // The list is looked up first, so that a missing one makes no file.
    const { name, tickers: there } = listNamed(args.argument(0)!, await allLists(context))
    const tickers = await namedTickers(args.rest(1), context.world)
    const known = new Set(there)
    const strange = tickers.find(ticker => !known.has(ticker))
    if (strange !== undefined)
      throw new NotFound(`${strange} is not in the list ${name}.`, suggest(strange, there), {
        missing: { kind: 'list', name: strange },
        remedy: remedy('watch show', [name]),
      })
    const lists = context.closing(await openLists(context.choice))
    if (tickers.length > 0) return showList(context, await lists.take(name, tickers))
    await lists.remove(name)
    await context.show(oneRow({ schema: 'bands.watch-removed/1', name }, [`the list ${name} is removed`]))
  },
}

/** Shows one list; machines get a row per ticker. */
async function showList(context: Context, { name, condition, tickers }: NamedList): Promise<void> {
  const of = condition ?? (tickers.length === 0 ? 'no tickers' : tickers.join(' '))
  const title = [name, condition === null ? count(tickers.length, 'ticker') : 'the tickers for which holds']
  const each = condition === null ? tickers : [null]
  await context.show({
    ...oneRow({ schema: 'bands.watch-list/1', name, condition, tickers }, [of], title),
    columns: ['name', 'condition', 'ticker'],
    rows: each.map(ticker => ({ name, condition, ticker })),
  })
}

/** The tickers may be loaded later, but a typo should be noticed now. */
async function noticeMissingTickers(context: Context, tickers: readonly string[]): Promise<void> {
  if (context.config.quiet || tickers.length === 0) return
  const loaded = new Set(await (await context.local()).tickers())
  const missing = tickers.filter(ticker => !loaded.has(ticker))
  if (missing.length > 0) await context.remark(`not loaded: ${missing.join(', ')} (bands status)`)
}

const SHAPE = /^[a-z][\w-]{0,39}$/i

async function nameValue(text: string): Promise<string> {
  if (!SHAPE.test(text)) refuse('name', text, 'letters, digits, _ and -, at most 40, a letter first')
  const { whyListReserved } = await import('../../../core/params/reserved-names.js')
  const taken = whyListReserved(text.toLowerCase())
  if (taken === undefined) return text
  throw wrong('name', `${text} ${taken}; choose another name for the list.`, { value: text })
}

export const commands = { 'watch add': add, 'watch list': list, 'watch show': show, 'watch remove': remove }
