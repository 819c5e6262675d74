export interface Check {
  name: string
  outcome: 'ok' | 'warn' | 'fail'
  detail: string
  /** What to do; null when there is nothing to do. */
  remedy: string | null
}

export function ok(name: string, detail: string): Check {
  return { name, outcome: 'ok', detail, remedy: null }
}

export function warn(name: string, detail: string, remedy: string): Check {
  return { name, outcome: 'warn', detail, remedy }
}

export function fail(name: string, detail: string, remedy: string): Check {
  return { name, outcome: 'fail', detail, remedy }
}

/** What a thrown value says, in one line. */
export function said(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!
}
