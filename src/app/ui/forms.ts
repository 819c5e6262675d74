import { COMPARE, GRID, SHARED_SETTINGS } from '../../core/params/grid.js'
import { optionsOf, type Table } from '../../core/params/row.js'
import { BACKTEST } from '../../core/params/strategy.js'
import { STUDY, SWEEP } from '../../core/params/studies.js'

/** A question of returns as a form: each parameter of its table is a field. */
export interface Form {
  name: string
  title: string
  about: string
  /** The fields that most people need; the others are folded. */
  first: readonly FormField[]
  others: readonly FormField[]
}

export interface FormField {
  name: string
  help: string
  /** The placeholder, such as DATE; empty for a switch. */
  takes: string
  /** The words that it takes; empty if it takes any text. */
  words: readonly string[]
}

/** The table of a form, and the fields that are shown first, in their order. */
interface FormTable {
  title: string
  about: string
  table: Table
  first: readonly string[]
}

const EVENTS = ['field', 'band', 'when', 'context', 'after', 'before']
const RULES = ['field', 'band', 'when', 'hold', 'exit', 'stop', 'target', 'costs', 'size']

const FORMS: Readonly<Record<string, FormTable>> = {
  study: {
    title: 'Study',
    about: 'Returns after events, tested against ordinary days.',
    table: STUDY,
    first: [...EVENTS, 'horizon', 'benchmark'],
  },
  backtest: {
    title: 'Backtest',
    about: 'Trade events by rules.',
    table: BACKTEST,
    first: [...RULES, 'benchmark', 'split', 'after', 'before'],
  },
  grid: {
    title: 'Grid',
    about: 'Every combination of some values of a strategy, and whether the best of them is real.',
    table: { ...GRID, ...BACKTEST },
    first: ['vary', 'statistic', ...RULES],
  },
  compare: {
    title: 'Compare',
    about: 'Strategies side by side over the same days.',
    table: { ...SHARED_SETTINGS, ...COMPARE },
    first: ['after', 'before'],
  },
  sweep: {
    title: 'Sweep',
    about: 'Test every band and window at once, corrected for their number.',
    table: SWEEP,
    first: ['field', 'band', 'when', 'horizon', 'by', 'split', 'after', 'before'],
  },
}

export function forms(): Form[] {
  return Object.entries(FORMS).map(([name, { title, about, table, first }]) => {
    const others = Object.keys(table).filter(param => !first.includes(param))
    return { name, title, about, first: fieldsOf(table, first), others: fieldsOf(table, others) }
  })
}

/** The fields for some parameters of a table, from the options that the command line has for them. */
function fieldsOf(table: Table, names: readonly string[]): FormField[] {
  return optionsOf(table, names).map(([flags, help, , , words = []], i) => {
    // `--after <DATE>` takes DATE.
    const takes = /<(.+)>/.exec(flags)?.[1] ?? ''
    // Options of the command line are fields here.
    return { name: names[i]!, help: help.replace(/--(\w+)/g, '$1'), takes, words }
  })
}
