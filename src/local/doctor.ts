import { DRIVER_MAJOR, installedDriver, sqliteVersion } from '../store/inspect.js'
import { type Check, fail, ok, said, warn } from './doctor-check.js'
import { databaseChecks } from './doctor-database.js'

export type { Check } from './doctor-check.js'

export interface Diagnosis {
  schema: 'bands.doctor/1'
  /** The worst of all. */
  outcome: Check['outcome']
  checks: Check[]
}

/** What is examined; nothing else is looked up, so that it answers where nothing else does. */
export interface DoctorFacts {
  /** The database file, whether or not it is there. */
  database: string
  /** `process.versions.node` and `process.versions.modules` */
  node: string
  abi: string
  /** What the door has examined by itself. */
  beside?: readonly Check[]
  /** What the door has chosen and why: colour, width. Shown as it is. */
  terminal?: readonly { name: string; detail: string }[]
}

/** Examines this machine and the database from the ground up. Never throws for what it finds. */
export async function doctor({ database, node, abi, beside = [], terminal = [] }: DoctorFacts): Promise<Diagnosis> {
  const driver = driverCheck(node)
  const checks = [
    nodeCheck(node, abi),
    driver,
    // With the wrong driver, opening a database may end the process: then nothing below can be looked at.
    ...(driver.outcome === 'fail' ? [] : [sqliteCheck(), ...databaseChecks(database)]),
    ...beside,
    ...terminal.map(({ name, detail }) => ok(name, detail)),
  ]
  const worst = (['fail', 'warn'] as const).find(outcome => checks.some(check => check.outcome === outcome))
  return { schema: 'bands.doctor/1', outcome: worst ?? 'ok', checks }
}

function nodeCheck(version: string, abi: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const detail = `${version}, ABI ${abi}`
  const supported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24
  if (!supported) return fail('node', `${detail}; bands runs on 20.19, 22.12, 24 or newer`, 'install Node 22 or 24')
  if (major === 20) return warn('node', `${detail}; Node 20 gets no security fixes any more`, 'update to Node 22 or 24')
  return ok('node', detail)
}

function driverCheck(node: string): Check {
  try {
    const version = installedDriver()
    if (Number.parseInt(version, 10) === DRIVER_MAJOR) return ok('driver', `better-sqlite3 ${version}`)
    const detail = `better-sqlite3 ${version} is installed, bands needs ${DRIVER_MAJOR}; it may crash Node ${node}`
    return fail('driver', detail, `npm install better-sqlite3@${DRIVER_MAJOR}`)
  } catch (thrown) {
    return fail('driver', `better-sqlite3 is not installed: ${said(thrown)}`, 'npm install')
  }
}

function sqliteCheck(): Check {
  try {
    return ok('sqlite', `${sqliteVersion()}, its compiled module loads`)
  } catch (thrown) {
    return fail('sqlite', said(thrown), 'npm rebuild better-sqlite3')
  }
}
