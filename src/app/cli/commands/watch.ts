import { NotFound, quoted, remedy, sentence, suggest, wrong } from '../../../core/errors.js'
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
    const name = await nameValue(args.argument(0)!)
    const tickers = await namedTickers(args.rest(1), context.world)
    const lists = context.closing(await openLists(context.choice))
    const there = await lists.named(name)
    if (there !== undefined && there.condition !== null) throw isTaken(there)
    await showList(context, await lists.add(name, tickers))
    await noticeMissingTickers(context, tickers)
  },
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

const addCondition: Command = {
  arguments: [
    ['<NAME>', 'letters, digits and _, at most 40, a letter first; case does not matter'],
    ['<CONDITION>', 'what must hold, such as "pe_vs_history = low and rsi_zone = oversold"; it may use other names'],
  ],
  examples: [
    'bands conditions add dip "rsi_zone in (oversold, deep_oversold)"',
    'bands conditions add good_dip "@dip and trend_direction = uptrend"',
  ],
  notes: [
    'Use it as @NAME wherever a condition meaning: bands screen @dip, --when "@dip and ma_alignment = bullish", a strategy file. With --watch NAME it is the list of the tickers for which it holds now. Conditions are kept with the watch lists.',
  ],
  async run(context, args) {
    const name = await conditionName(args.argument(0)!)
    const { condition, meaning } = await readCondition(context, name, args.argument(1)!)
    const lists = context.closing(await openLists(context.choice))
    const there = await lists.named(name)
    if (there !== undefined && there.condition !== condition) throw isTaken(there)
    const { name: kept } = await lists.addCondition(name, condition)
    await showCondition(context, { name: kept, condition, meaning })
  },
}

/** A condition as it is kept, and what it means without names. */
interface ShownCondition {
  name: string
  condition: string
  meaning: string | null
}

/** Reads what a name is to mean. Throws InvalidParameter with the column. */
async function readCondition(
  { fields }: Context,
  name: string,
  text: string,
): Promise<{ condition: string; meaning: string }> {
  const { parseCondition, printCondition } = await import('../../../core/language/condition.js')
  const known = fields.conditions!
  const all = { ...known, named: (other: string) => (other === name ? text : known.named(other)) }
  const meaning = printCondition(parseCondition(text, { ...fields, conditions: all }, { param: 'condition' }))
  return { condition: text.includes('@') ? text.trim().replace(/\s+/g, ' ') : meaning, meaning }
}

/** Lists and conditions share their names. */
function isTaken({ name, condition }: NamedList): Error {
  const is = condition === null ? 'a list of tickers' : `the condition ${quoted(condition)}`
  const removed = remedy(condition === null ? 'watch remove' : 'conditions remove', [name])
  return wrong('name', sentence`${name} is ${is} already; ${removed} removes it.`, { value: name }, { remedy: removed })
}

const listConditions: Command = {
  examples: ['bands conditions list', 'bands conditions list --json'],
  async run(context) {
    const conditions = (await allConditions(context)).map(({ name, condition }) => ({ name, condition }))
    const shown: Column<NamedCondition>[] = [
      { title: 'name', kind: 'text', of: ({ name }) => `@${name}` },
      { title: 'condition', kind: 'text', wraps: true, of: ({ condition }) => condition },
    ]
    const columns = ['name', 'condition']
    await context.show(describeList({ schema: 'bands.conditions/1', conditions }, conditions, shown, { columns }))
    if (conditions.length === 0)
      await context.remark('no condition has a name yet; bands conditions add NAME "CONDITION" gives one.')
  },
}

type NamedCondition = NamedList & { condition: string }

async function allConditions(context: Context): Promise<NamedCondition[]> {
  return (await allLists(context)).flatMap(({ condition, ...list }) =>
    condition === null ? [] : [{ ...list, condition }],
  )
}

const showOne: Command = {
  arguments: [CONDITION_NAME],
  examples: ['bands conditions show dip', 'bands conditions show dip --json'],
  async run(context, args) {
    const { name, condition } = conditionNamed(args.argument(0)!, await allConditions(context))
    // A name in it may be removed since.
    const meaning = await readCondition(context, name.toLowerCase(), condition).catch((error: Error) => error)
    if (!(meaning instanceof Error)) return showCondition(context, { name, ...meaning })
    await showCondition(context, { name, condition, meaning: null })
    await context.notice(meaning.message)
  },
}

const removeCondition: Command = {
  arguments: [CONDITION_NAME],
  examples: ['bands conditions remove dip'],
  async run(context, args) {
    const all = await allConditions(context)
    const { name } = conditionNamed(args.argument(0)!, all)
    const lists = context.closing(await openLists(context.choice))
    await lists.remove(name)
    await context.show(oneRow({ schema: 'bands.condition-removed/1', name }, [`@${name} is removed`]))
    const users = all.filter(({ condition }) => new RegExp(`@${name}\\b`, 'i').test(condition))
    if (users.length > 0) await context.remark(`still used by ${users.map(user => `@${user.name}`).join(', ')}.`)
  },
}

/** Throws NotFound with the nearest name. */
function conditionNamed(typed: string, all: readonly NamedCondition[]): NamedCondition {
  const name = typed.replace(/^@/, '')
  const found = all.find(one => one.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const names = all.map(one => one.name)
  const known = names.length === 0 ? 'none has a name yet' : `there are ${names.map(one => `@${one}`).join(', ')}`
  throw new NotFound(`there is no condition @${name}; ${known}.`, suggest(name, names), {
    missing: { kind: 'list', name: typed },
    remedy: remedy('conditions list'),
  })
}

async function showCondition(context: Context, { name, condition, meaning }: ShownCondition): Promise<void> {
  const lines = meaning === null || condition === meaning ? [condition] : [condition, `that is: ${meaning}`]
  await context.show(oneRow({ schema: 'bands.condition/1', name, condition, means: meaning }, lines, [`@${name}`]))
}

/** A name of a condition is one word of the language. */
async function conditionName(typed: string): Promise<string> {
  const name = (await nameValue(typed.replace(/^@/, ''))).toLowerCase()
  if (name.includes('-')) refuse('name', typed, 'letters, digits and _, at most 40, a letter first')
  return name
}

export const commands = {
  ...{ 'watch add': add, 'watch list': list, 'watch show': show, 'watch remove': remove },
  ...{ 'conditions add': addCondition, 'conditions list': listConditions },
  ...{ 'conditions show': showOne, 'conditions remove': removeCondition },
}
