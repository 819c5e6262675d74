/** The question of the page. It is in the address, so that a reader can keep it, share it and go back to it. */
export interface PageQuestion {
  ticker: string
  /** A band field; empty: the condition on the left. */
  field: string
  band: string
  when: string
  /** A watch list; empty: all tickers. */
  list: string
  tab: Tab
  /** The day of the chosen event. */
  date: string
  /** The name of a form; empty: prices and events. */
  view: string
  /** The parameters of the form as JSON; empty before it was sent. */
  query: string
}

export const TABS = ['matches', 'changes', 'now'] as const
export type Tab = (typeof TABS)[number]

const DEFAULTS: PageQuestion = {
  ticker: '',
  field: 'rsi_zone',
  band: 'oversold',
  when: 'rsi_zone in (oversold, deep_oversold)',
  list: '',
  tab: 'matches',
  date: '',
  view: '',
  query: '',
}

/** The question in the query string of an address, with defaults for missing parts. */
export function questionFromSearch(search: string): PageQuestion {
  const params = new URLSearchParams(search)
  const entries = Object.entries(DEFAULTS).map(([name, value]) => [name, params.get(name) ?? value])
  const question = Object.fromEntries(entries) as PageQuestion
  return { ...question, tab: TABS.find(tab => tab === question.tab) ?? 'matches' }
}

/** The query string of an address with this question, without defaults; empty if all are defaults. */
export function searchFromQuestion(question: PageQuestion): string {
  const defaults: Readonly<Record<string, string>> = { ...DEFAULTS }
  const params = new URLSearchParams(Object.entries(question).filter(([name, value]) => value !== defaults[name]))
  return params.size === 0 ? '' : `?${params}`
}
