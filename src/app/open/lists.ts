import { NotFound, quoted, remedy, sentence, suggest, wrong } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { refuse } from '../../core/params/values.js'
import type { Lists, NamedList } from '../../core/source.js'
import { openLists, openListsForReading } from './database.js'
import type { DatabaseChoice } from './paths.js'

/** The user's watch lists and named conditions: read, added and removed. */

/** All lists and conditions of a user; empty if there is no file of them. */
export async function readLists(choice: DatabaseChoice): Promise<readonly NamedList[]> {
  const lists = await openListsForReading(choice)
  try {
    return (await lists?.all()) ?? []
  } finally {
    // A reader that stays open keeps a writer from tidying up the file.
    await lists?.close()
  }
}

/** The list with a name, regardless of case. Throws NotFound with the nearest name. */
export function findList(name: string, all: readonly NamedList[]): NamedList {
  const list = all.find(other => other.name.toLowerCase() === name.toLowerCase())
  if (list !== undefined) return list
  const names = all.map(list => list.name)
  const known = names.length === 0 ? 'none is made yet' : `there are ${names.join(', ')}`
  throw new NotFound(`there is no list ${JSON.stringify(name)}; ${known}.`, suggest(name, names), {
    missing: { kind: 'list', name },
    remedy: remedy('watch add', [name]),
  })
}

export type NamedCondition = NamedList & { condition: string }

/** The named conditions among lists and conditions, which are stored together. */
export function namedConditionsOf(all: readonly NamedList[]): NamedCondition[] {
  return all.flatMap(({ condition, ...list }) => (condition === null ? [] : [{ ...list, condition }]))
}

/** The condition with a name, with or without `@`, regardless of case. Throws NotFound with the nearest name. */
export function findCondition(typedName: string, all: readonly NamedCondition[]): NamedCondition {
  const name = typedName.replace(/^@/, '')
  const condition = all.find(other => other.name.toLowerCase() === name.toLowerCase())
  if (condition !== undefined) return condition
  const names = all.map(other => other.name)
  const known = names.length === 0 ? 'none has a name yet' : `there are ${names.map(other => `@${other}`).join(', ')}`
  throw new NotFound(`there is no condition @${name}; ${known}.`, suggest(name, names), {
    missing: { kind: 'list', name: typedName }, // lists and conditions share one file
    remedy: remedy('conditions list'),
  })
}

/** Adds tickers to a list, which is made if missing. Throws InvalidParameter for a wrong or taken name. */
export async function addToList(
  choice: DatabaseChoice,
  typedName: string,
  tickers: readonly string[],
): Promise<NamedList> {
  const name = await listNameValue(typedName)
  return withWritableLists(choice, async lists => {
    const existing = await lists.named(name)
    if (existing !== undefined && existing.condition !== null) throw nameTakenError(existing)
    return lists.add(name, tickers)
  })
}

/** Removes tickers from a list, or the whole list if no ticker is named. Returns the list, or null if it is gone. */
export async function removeFromList(
  choice: DatabaseChoice,
  typedName: string,
  tickers: readonly string[],
): Promise<NamedList | null> {
  // The list is looked up first, so that a missing one makes no file.
  const { name, tickers: listed } = findList(typedName, await readLists(choice))
  const unlisted = tickers.find(ticker => !listed.includes(ticker))
  if (unlisted !== undefined)
    throw new NotFound(`${unlisted} is not in the list ${name}.`, suggest(unlisted, listed), {
      missing: { kind: 'list', name: unlisted },
      remedy: remedy('watch show', [name]),
    })
  return withWritableLists(choice, async lists => {
    if (tickers.length > 0) return lists.removeTickers(name, tickers)
    await lists.remove(name)
    return null
  })
}

/** A condition as it is kept, and what it means without names. */
export interface ShownCondition {
  name: string
  condition: string
  meaning: string | null
}

/** Gives a condition a name. Throws InvalidParameter for a wrong name or condition, or a name with another meaning. */
export async function addCondition(
  choice: DatabaseChoice,
  fields: FieldSet,
  typedName: string,
  text: string,
): Promise<ShownCondition> {
  const name = await conditionNameValue(typedName)
  const { condition, meaning } = await readCondition(fields, name, text)
  return withWritableLists(choice, async lists => {
    const existing = await lists.named(name)
    if (existing !== undefined && existing.condition !== condition) throw nameTakenError(existing)
    const { name: storedName } = await lists.addCondition(name, condition)
    return { name: storedName, condition, meaning }
  })
}

/** Removes a named condition. Returns its name, and the conditions that still use it. */
export async function removeCondition(
  choice: DatabaseChoice,
  typedName: string,
): Promise<{ name: string; users: readonly string[] }> {
  const all = namedConditionsOf(await readLists(choice))
  const { name } = findCondition(typedName, all)
  await withWritableLists(choice, lists => lists.remove(name))
  const isUser = new RegExp(`@${name}\\b`, 'i')
  return { name, users: all.filter(({ condition }) => isUser.test(condition)).map(user => user.name) }
}

/**
 * Parses a condition that is to get a name; it may use other named conditions. Returns the text to store, and its
 * meaning without names. Throws InvalidParameter with the column.
 */
export async function readCondition(
  fields: FieldSet,
  name: string,
  text: string,
): Promise<{ condition: string; meaning: string }> {
  const { parseCondition, printCondition } = await import('../../core/language/condition.js')
  const stored = fields.conditions!
  // With the new condition under its name, so that one that uses itself is refused.
  const conditions = { ...stored, named: (other: string) => (other === name ? text : stored.named(other)) }
  const meaning = printCondition(parseCondition(text, { ...fields, conditions }, { param: 'condition' }))
  // Names stay in the text, so that later changes of their conditions count.
  return { condition: text.includes('@') ? text.trim().replace(/\s+/g, ' ') : meaning, meaning }
}

/** Opens the lists for writing, calls `work` with them, and closes them in any case. */
async function withWritableLists<Result>(
  choice: DatabaseChoice,
  work: (lists: Lists) => Promise<Result>,
): Promise<Result> {
  const lists = await openLists(choice)
  try {
    return await work(lists)
  } finally {
    await lists.close()
  }
}

/** The error for a name that another list or condition has: both share their names. */
function nameTakenError({ name, condition }: NamedList): Error {
  const meaning = condition === null ? 'a list of tickers' : `the condition ${quoted(condition)}`
  const removal = remedy(condition === null ? 'watch remove' : 'conditions remove', [name])
  const words = sentence`${name} is ${meaning} already; ${removal} removes it.`
  return wrong('name', words, { value: name }, { remedy: removal })
}

const NAME_PATTERN = /^[a-z][\w-]{0,39}$/i

/** The name of a list, as typed. Throws InvalidParameter for a wrong form, and for a name with another meaning. */
async function listNameValue(text: string): Promise<string> {
  if (!NAME_PATTERN.test(text)) refuse('name', text, 'letters, digits, _ and -, at most 40, a letter first')
  const { whyListReserved } = await import('../../core/params/reserved-names.js')
  const taken = whyListReserved(text.toLowerCase())
  if (taken === undefined) return text
  throw wrong('name', `${text} ${taken}; choose another name for the list.`, { value: text })
}

/** The name of a condition in lower case, without `@`. Throws InvalidParameter if it is no word of a condition. */
async function conditionNameValue(typedName: string): Promise<string> {
  const name = (await listNameValue(typedName.replace(/^@/, ''))).toLowerCase()
  if (name.includes('-')) refuse('name', typedName, 'letters, digits and _, at most 40, a letter first')
  return name
}
