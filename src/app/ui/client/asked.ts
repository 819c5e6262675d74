/** The question of the page. The address holds it, so that it can be kept, shared and gone back to. */
export interface Asked {
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

const DEFAULTS: Asked = {
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

export function questionFromSearch(search: string): Asked {
  const params = new URLSearchParams(search)
  const asked = Object.fromEntries(
    Object.entries(DEFAULTS).map(([name, value]) => [name, params.get(name) ?? value]),
  ) as unknown as Asked
  return { ...asked, tab: TABS.find(tab => tab === asked.tab) ?? 'matches' }
}

/** Defaults are left out. */
export function searchFromQuestion(asked: Asked): string {
  const defaults: Readonly<Record<string, string>> = { ...DEFAULTS }
  const params = new URLSearchParams(Object.entries(asked).filter(([name, value]) => value !== defaults[name]))
  return params.size === 0 ? '' : `?${params}`
}
