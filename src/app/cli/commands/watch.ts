import { count } from '../../../core/numbers.js'
import type { NamedList } from '../../../core/source.js'
import {
  addCondition,
  addToList,
  findCondition,
  findList,
  type NamedCondition,
  namedConditionsOf,
  readCondition,
  readLists,
  removeCondition,
  removeFromList,
  type ShownCondition,
} from '../../open/lists.js'
import { type Column, column, describeList } from '../../present/description.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { oneRowAnswer } from '../output.js'
import { parseTickers } from '../tickers.js'

const NAME = ['<NAME>', 'the list (bands watch list); case does not matter'] as const
const CONDITION_NAME = ['<NAME>', 'the condition (bands conditions list); case does not matter'] as const

const add: Command = {
  arguments: [
    ['<NAME>', 'the list, made if there is none: letters, digits, _ and -, at most 40, a letter first'],
    ['<TICKER...>', 'tickers (A B, A,B, @FILE, or - for standard input)', ['TICKER']],
  ],
  examples: ['bands watch add tech AAPL', 'bands watch add tech MSFT @more.txt'],
  notes: [
    'Lists are your own, in a file next to the database; bands backup copies them. Every command that takes --tickers takes --watch NAME, also with the name of a condition (bands conditions).',
  ],
  async run(context, args) {
    const tickers = await parseTickers(args.argumentList(1), context.world)
    await showList(context, await addToList(context.databaseChoice, args.argument(0)!, tickers))
    await noticeMissingTickers(context, tickers)
  },
}

const list: Command = {
  examples: ['bands watch list', 'bands watch list --json'],
  async run(context) {
    const lists = await readLists(context.databaseChoice)
    // A column of only dashes is not numeric.
    const kind = lists.some(({ condition }) => condition === null) ? 'count' : 'text'
    const tableColumns: Column<NamedList>[] = [
      column('name'),
      { title: 'tickers', kind, value: row => (row.condition === null ? row.tickers.length : null) },
      { title: 'of', kind: 'text', wraps: true, value: row => row.condition ?? row.tickers.join(' ') },
    ]
    const columns = ['name', 'condition', 'tickers']
    await context.show(describeList({ schema: 'bands.watch/1', lists }, lists, tableColumns, { columns }))
    if (lists.length === 0) await context.remark('no list yet; bands watch add NAME TICKER makes one.')
  },
}

const show: Command = {
  arguments: [NAME],
  examples: ['bands watch show tech', 'bands watch show tech --json'],
  async run(context, args) {
    const namedList = findList(args.argument(0)!, await readLists(context.databaseChoice))
    await showList(context, namedList)
    await noticeMissingTickers(context, namedList.tickers)
  },
}

const remove: Command = {
  arguments: [NAME, ['[TICKER...]', 'tickers to remove (default the whole list)', ['TICKER']]],
  examples: ['bands watch remove tech AAPL', 'bands watch remove tech'],
  async run(context, args) {
    const { name } = findList(args.argument(0)!, await readLists(context.databaseChoice))
    const tickers = await parseTickers(args.argumentList(1), context.world)
    const remaining = await removeFromList(context.databaseChoice, name, tickers)
    if (remaining !== null) return showList(context, remaining)
    await context.show(oneRowAnswer({ schema: 'bands.watch-removed/1', name }, [`the list ${name} is removed`]))
  },
}

/** Shows one list; machines get a row per ticker. */
async function showList(context: Context, { name, condition, tickers }: NamedList): Promise<void> {
  const content = condition ?? (tickers.length === 0 ? 'no tickers' : tickers.join(' '))
  const title = [name, condition === null ? count(tickers.length, 'ticker') : 'the tickers for which holds']
  // The list of a condition is one row without a ticker.
  const tickerCells = condition === null ? tickers : [null]
  await context.show({
    ...oneRowAnswer({ schema: 'bands.watch-list/1', name, condition, tickers }, [content], title),
    columns: ['name', 'condition', 'ticker'],
    rows: tickerCells.map(ticker => ({ name, condition, ticker })),
  })
}

/** Names on stderr the tickers that are not loaded. They may be loaded later, but a typo should be noticed now. */
async function noticeMissingTickers(context: Context, tickers: readonly string[]): Promise<void> {
  if (context.config.quiet || tickers.length === 0) return
  const loaded = new Set(await (await context.local()).tickers())
  const missing = tickers.filter(ticker => !loaded.has(ticker))
  if (missing.length > 0) await context.remark(`not loaded: ${missing.join(', ')} (bands status)`)
}

const addConditionCommand: Command = {
  arguments: [
    ['<NAME>', 'letters, digits and _, at most 40, a letter first; case does not matter'],
    ['<CONDITION>', 'what must hold, such as "pe_vs_history = low and rsi_zone = oversold"; it may use other names'],
  ],
  examples: [
    'bands conditions add dip "rsi_zone in (oversold, deep_oversold)"',
    'bands conditions add good_dip "@dip and trend_direction = uptrend"',
  ],
  notes: [
    'Use it as @NAME wherever a condition stands: bands screen @dip, --when "@dip and ma_alignment = bullish", a strategy file. With --watch NAME it is the list of the tickers for which it holds now. Conditions are kept with the watch lists.',
  ],
  async run(context, args) {
    const { databaseChoice, fields } = context
    await showCondition(context, await addCondition(databaseChoice, fields, args.argument(0)!, args.argument(1)!))
  },
}

const listConditions: Command = {
  examples: ['bands conditions list', 'bands conditions list --json'],
  async run(context) {
    const conditions = (await allConditions(context)).map(({ name, condition }) => ({ name, condition }))
    const tableColumns: Column<NamedCondition>[] = [
      { title: 'name', kind: 'text', value: ({ name }) => `@${name}` },
      { title: 'condition', kind: 'text', wraps: true, value: ({ condition }) => condition },
    ]
    const document = { schema: 'bands.conditions/1', conditions }
    await context.show(describeList(document, conditions, tableColumns, { columns: ['name', 'condition'] }))
    if (conditions.length === 0)
      await context.remark('no condition has a name yet; bands conditions add NAME "CONDITION" gives one.')
  },
}

async function allConditions(context: Context): Promise<NamedCondition[]> {
  return namedConditionsOf(await readLists(context.databaseChoice))
}

const showConditionCommand: Command = {
  arguments: [CONDITION_NAME],
  examples: ['bands conditions show dip', 'bands conditions show dip --json'],
  async run(context, args) {
    const { name, condition } = findCondition(args.argument(0)!, await allConditions(context))
    // The condition may use the name of another one that was removed.
    const meaning = await readCondition(context.fields, name.toLowerCase(), condition).catch((error: Error) => error)
    if (!(meaning instanceof Error)) return showCondition(context, { name, ...meaning })
    await showCondition(context, { name, condition, meaning: null })
    await context.notice(meaning.message)
  },
}

const removeConditionCommand: Command = {
  arguments: [CONDITION_NAME],
  examples: ['bands conditions remove dip'],
  async run(context, args) {
    const { name, users } = await removeCondition(context.databaseChoice, args.argument(0)!)
    await context.show(oneRowAnswer({ schema: 'bands.condition-removed/1', name }, [`@${name} is removed`]))
    if (users.length > 0) await context.remark(`still used by ${users.map(user => `@${user}`).join(', ')}.`)
  },
}

/** Shows a named condition, and its meaning without named conditions; a null meaning: it cannot be read. */
async function showCondition(context: Context, { name, condition, meaning }: ShownCondition): Promise<void> {
  const lines = meaning === null || condition === meaning ? [condition] : [condition, `that is: ${meaning}`]
  await context.show(
    oneRowAnswer({ schema: 'bands.condition/1', name, condition, means: meaning }, lines, [`@${name}`]),
  )
}

export const commands = {
  'watch add': add,
  'watch list': list,
  'watch show': show,
  'watch remove': remove,
  'conditions add': addConditionCommand,
  'conditions list': listConditions,
  'conditions show': showConditionCommand,
  'conditions remove': removeConditionCommand,
}
