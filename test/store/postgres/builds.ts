import { chargeFunctionSql } from '../../../src/server/accounts/postgres/charging.js'
import { accountsSchema } from '../../../src/server/accounts/postgres/schema.js'
import type { SchemaKind, SchemaStep } from '../../../src/server/accounts/postgres/steps.js'

/** The releases of a rolling update, by the version of their charging function; this build has version 2. */
export type Release = 1 | 2 | 3 | 4

export const functionOf = (release: Release): string => (release === 1 ? 'charge' : `charge_v${release}`)

/** The tables of a release. This build's has two steps more than the one before; later ones take a step each, as CONTRIBUTING.md says. */
export function tablesOf(release: Release): SchemaKind {
  const { steps, ...kind } = accountsSchema()
  return { ...kind, steps: [...steps, laterStep(3), laterStep(4)].slice(0, release === 1 ? 3 : 3 + release) }
}

function laterStep(release: 3 | 4): SchemaStep {
  const last = functionOf((release - 2) as Release)
  return {
    since: 2 + release,
    expand: functionOf(release),
    contract: last,
    sql: `${chargeFunctionSql(functionOf(release), 'latest')} DROP FUNCTION bands_accounts.${last};`,
  }
}
