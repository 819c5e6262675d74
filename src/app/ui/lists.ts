import type { FieldSet } from '../../core/fields/index.js'
import { tickersOf } from '../../core/params/arguments.js'
import { definedParams, type Written } from '../../core/params/row.js'
import { textOf } from '../../core/params/values.js'
import { addCondition, addToList, readLists, removeCondition, removeFromList } from '../open/lists.js'
import type { DatabaseChoice } from '../open/paths.js'

/** The database whose lists are used, and the fields of its conditions. */
export interface ListsChoice {
  choice: DatabaseChoice
  fields: FieldSet
}

type Action = (lists: ListsChoice, params: Written) => Promise<unknown>

/** The actions of the page on watch lists and named conditions, by name. Each checks its parameters. */
const ACTIONS: Readonly<Record<string, Action>> = {
  all: async ({ choice }, params) => {
    definedParams(params, [])
    return readLists(choice)
  },
  add: async ({ choice }, params) => {
    const { name, tickers } = definedParams(params, ['name', 'tickers'])
    return addToList(choice, textOf('name', name), tickersOf(tickers))
  },
  remove: async ({ choice }, params) => {
    const { name, tickers = [] } = definedParams(params, ['name', 'tickers'])
    return removeFromList(choice, textOf('name', name), tickersOf(tickers))
  },
  add_condition: async ({ choice, fields }, params) => {
    const { name, condition } = definedParams(params, ['name', 'condition'])
    return addCondition(choice, fields, textOf('name', name), textOf('condition', condition))
  },
  remove_condition: async ({ choice }, params) => {
    const { name } = definedParams(params, ['name'])
    return removeCondition(choice, textOf('name', name))
  },
}

/** The action with a name; null for an unknown name. */
export function findListsAction(name: string): Action | null {
  return Object.hasOwn(ACTIONS, name) ? ACTIONS[name]! : null
}
