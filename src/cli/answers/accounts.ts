import type { Account, DayUsage, Reconciliation, Used } from '../../accounts/accounts.js'
import { PLANS } from '../../policy/plans.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'

/** An account as every command shows it. */
export function accountRow({ name, tier, created }: Account) {
  const { day, hour } = PLANS[tier].credits
  return { name, tier, created, day_limit: day, hour_limit: hour }
}

const ACCOUNT_COLUMNS = ['name', 'tier', 'created', 'day_limit', 'hour_limit']

/** One account, after something was done to it. */
export function accountAnswer(schema: string, account: Account, done: string): Answer {
  const row = accountRow(account)
  const { name, tier, day_limit, hour_limit } = row
  const limits = `${whole(day_limit)} credits a day, ${whole(hour_limit)} an hour`
  return {
    document: () => ({ schema, ...row }),
    columns: ACCOUNT_COLUMNS,
    rows: () => [row],
    blocks: () => [{ notes: [`${name} ${done} ${tier}: ${limits}`] }],
  }
}

export interface AccountState {
  account: Account
  used: Used
  /** Keys that count. */
  keys: number
}

export function accountsAnswer(states: readonly AccountState[]): Answer {
  const rows = states.map(({ account, used, keys }) => ({
    ...accountRow(account),
    keys,
    day_used: used.day,
    hour_used: used.hour,
  }))
  return {
    document: () => ({ schema: 'bands.accounts/1', accounts: rows }),
    columns: [...ACCOUNT_COLUMNS, 'keys', 'day_used', 'hour_used'],
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'NAME' },
            { title: 'TIER' },
            { title: 'KEYS', align: 'right' },
            { title: 'TODAY', align: 'right' },
            { title: 'OF', align: 'right' },
            { title: 'THIS HOUR', align: 'right', spare: 1 },
            { title: 'OF', align: 'right', spare: 1 },
            { title: 'CREATED', spare: 2 },
          ],
          rows: rows.map(row => [
            ...[row.name, row.tier, whole(row.keys)],
            ...[row.day_used, row.day_limit, row.hour_used, row.hour_limit].map(whole),
            row.created.slice(0, 10),
          ]),
        },
      },
    ],
  }
}

export interface AccountUsage {
  account: Account
  days: readonly DayUsage[]
}

/** @param from the first day that was asked for, YYYY-MM-DD */
export function usageAnswer(used: readonly AccountUsage[], from: string, to: string): Answer {
  const rows = used.flatMap(({ account, days }): Row[] => days.map(day => ({ account: account.name, ...day })))
  const accounts = used.map(({ account, days }) => ({ account: account.name, tier: account.tier, ...sums(days), days }))
  const total = sums(used.flatMap(({ days }) => days))
  return {
    document: () => ({ schema: 'bands.usage/1', from, to, ...total, accounts }),
    columns: ['account', 'date', 'credits', 'requests'],
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'ACCOUNT' },
            { title: 'DATE' },
            { title: 'CREDITS', align: 'right' },
            { title: 'REQUESTS', align: 'right' },
          ],
          rows: used.flatMap(({ account, days }) =>
            days.map(day => [account.name, day.date, whole(day.credits), whole(day.requests)]),
          ),
        },
        notes: [`${count(total.credits, 'credit')} in ${count(total.requests, 'request')}, ${from} to ${to}`],
      },
    ],
  }
}

function sums(days: readonly DayUsage[]): { credits: number; requests: number } {
  return {
    credits: days.reduce((sum, day) => sum + day.credits, 0),
    requests: days.reduce((sum, day) => sum + day.requests, 0),
  }
}

/** @param account its name; null: of all */
export function reconciliationAnswer(found: Reconciliation, account: string | null): Answer {
  const { rows, requests, credits, discrepancies } = found
  const counted = `${count(rows, 'row')} of the ledger, ${count(requests, 'request')}, ${count(credits, 'credit')}`
  const verdict = discrepancies.length === 0 ? 'the counters say the same' : count(discrepancies.length, 'discrepancy')
  return {
    document: () => ({ schema: 'bands.reconciliation/1', account, rows, requests, credits, discrepancies }),
    columns: ['account', 'period', 'start', 'of', 'counter', 'ledger'],
    rows: () => discrepancies.map(discrepancy => ({ ...discrepancy })),
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'ACCOUNT' },
            { title: 'PERIOD' },
            { title: 'START' },
            { title: 'OF' },
            { title: 'COUNTER', align: 'right' },
            { title: 'LEDGER', align: 'right' },
          ],
          rows: discrepancies.map(({ account, period, start, of, counter, ledger }) => [
            ...[account, period, start, of],
            ...[counter, ledger].map(whole),
          ]),
        },
        notes: [`${counted}: ${verdict}`],
      },
    ],
  }
}
