import { existsSync } from 'node:fs'
import { printable, RateLimited, Unauthorized } from '../../../core/errors.js'
import { dayAt } from '../../../core/model/day.js'
import { count } from '../../../core/numbers.js'
import {
  type Check,
  type Diagnosis,
  doctor,
  failedCheck,
  firstLineOf,
  okCheck,
  warningCheck,
} from '../../../data/local/doctor.js'
import { LISTS } from '../../../data/store/sqlite/lists.js'
import { verifyLists } from '../../../data/store/sqlite/verify.js'
import { databasePath, filesOf } from '../../open/paths.js'
import { column, describeList } from '../../present/description.js'
import { addressOf } from '../../remote/address.js'
import type { Remote } from '../../remote/remote.js'
import type { Command } from '../command.js'
import { textWithOptions } from '../command-line.js'
import { type Config, configPath, credentialsPath, loadFields } from '../config.js'
import { readConfigFile } from '../config-file.js'
import { type Context, creditsLeft } from '../context.js'
import type { Screen } from '../draw/table.js'
import { wrap } from '../draw/text.js'
import type { Answer } from '../output.js'
import { type FoundKey, keySource, openChosenServer, storedKeys } from '../profiles.js'
import { terminalFacts } from '../world.js'

const doctorCommand: Command = {
  options: [['--wide', 'what each check found']],
  examples: ['bands doctor', 'bands doctor --json', 'bands doctor --remote https://api.example.com'],
  notes: [
    'Where a server is chosen, it is asked whether it knows the key, which costs nothing.',
    'Exits with 5 when a check fails; a warning does not count as one.',
  ],
  examinesSettings: true,
  withoutFields: true,
  /** Runs all checks, and shows their findings. If a check fails, the exit code is 5. */
  async run(context, args) {
    const { config, world } = context
    const { node, modules } = process.versions
    const diagnosis = await doctor({
      database: databasePath({ db: config.db, env: world.env }),
      node,
      abi: modules,
      today: dayAt(world.now().getTime()),
      extraChecks: await environmentChecks(context),
      terminal: terminalFacts(world, config.color),
    })
    await context.show(doctorAnswer(diagnosis, args.flag('wide')))
    if (diagnosis.outcome === 'fail') context.exitCode = 5
  },
}

/** `1 of 13 checks failed: database; 2 warnings` */
function verdictText(checks: Diagnosis['checks']): string {
  const namesWith = (outcome: string): string[] =>
    checks.filter(check => check.outcome === outcome).map(({ name }) => name)
  const failed = namesWith('fail')
  const warned = namesWith('warn')
  const warnings = warned.length === 0 ? '' : `${count(warned.length, 'warning')}: ${warned.join(', ')}`
  if (failed.length === 0)
    return warnings === '' ? `All ${checks.length} checks passed.` : `No check failed; ${warnings}.`
  const failures = `${failed.length} of ${checks.length} checks failed: ${failed.join(', ')}`
  return `${failures}${warnings === '' ? '' : `; ${warnings}`}.`
}

/** The answer of the checks. A terminal shows failures and warnings with remedies, and only the names of the others. */
function doctorAnswer({ schema, outcome, checks }: Diagnosis, wide: boolean): Answer {
  const withRemedies = checks.map(({ detail, remedy, ...check }) => ({
    ...check,
    detail: textWithOptions(detail),
    remedy: remedy === null ? null : textWithOptions(remedy),
  }))
  const rows = withRemedies.map(({ name, ...check }) => ({ check: name, ...check }))
  const remedies = { ...column('remedy'), value: ({ remedy }: CheckRow) => remedy ?? '' }
  const tableColumns = [column('check'), column('outcome'), column('detail'), remedies]
  return {
    ...describeList({ schema, outcome, checks: withRemedies }, rows, tableColumns),
    blocks: screen => {
      if (screen.isPiped) return null
      const drawnRows = wide ? rows : rows.filter(isFinding)
      const drawing = drawnRows.flatMap(row => drawCheck(row, screen))
      if (!wide) drawing.push(...passedLines(rows, screen))
      return [{ title: [verdictText(checks)], drawing }]
    },
  }
}

interface CheckRow {
  check: string
  outcome: 'ok' | 'warn' | 'fail'
  detail: string
  remedy: string | null
}

/** In columns: the outcome of a check, and the two blanks after it. */
const OUTCOME_WIDTH = 6

const TONES = { ok: 'good', warn: 'strong', fail: 'bad' } as const

function isFinding({ outcome }: CheckRow): boolean {
  return outcome !== 'ok'
}

/** `ok    node, sqlite, database`: the checks that found nothing. */
function passedLines(rows: readonly CheckRow[], { width, paint }: Screen): string[] {
  const names = rows.filter(row => !isFinding(row)).map(({ check }) => check)
  if (names.length === 0) return []
  const [first = '', ...rest] = wrap(names.join(', '), width - OUTCOME_WIDTH)
  const lines = [`${paint.good('ok'.padEnd(4))}  ${first}`, ...rest.map(line => ' '.repeat(OUTCOME_WIDTH) + line)]
  return [...lines, 'what each found: --wide']
}

/** The lines of one check: outcome and name, then its detail and remedy, indented. */
function drawCheck({ check, outcome, detail, remedy }: CheckRow, { width, paint }: Screen): string[] {
  const heading = `${paint[TONES[outcome]](outcome.padEnd(4))}  ${check}`
  const texts = remedy === null ? [detail] : [detail, `try: ${remedy}`]
  // Details are next to the name, or below it on a narrow terminal, where a path has more room.
  const indent = width < 60 ? OUTCOME_WIDTH : 20
  const lines = texts.flatMap(text => wrap(printable(text), width - indent)).map(line => ' '.repeat(indent) + line)
  if (width < 60) return [heading, ...lines]
  const [firstLine = '', ...otherLines] = lines
  return [heading + firstLine.slice(OUTCOME_WIDTH + check.length), ...otherLines]
}

/** Checks settings, stored keys and the chosen server, at no cost. Never throws for a finding. */
async function environmentChecks(context: Context): Promise<Check[]> {
  const { config } = context
  const { env } = context.world
  // The check of the server ignores --db, --tier and --as-of: --db would replace the server, which refuses the others.
  const { db: _db, tier: _tier, as_of: _asOf, ...from } = config.from
  const path = configPath(env)
  const keysPath = credentialsPath(env)
  const listsPath = filesOf({ db: config.db, env }).lists
  return [
    await runCheck('settings', `mend ${path}, or remove it`, async () => {
      const names = [...(await readConfigFile(env)).profiles.keys()]
      return names.length === 0 ? `no profile in ${path}` : `${path}, profiles: ${names.join(', ')}`
    }),
    await runCheck('keys', `chmod 600 ${keysPath}, or remove it and log in again`, async () => {
      const { length } = await storedKeys(env)
      return length === 0 ? `none kept in ${keysPath}` : `${length} in ${keysPath}, which only its owner can read`
    }),
    await runCheck('lists', LISTS.mend, async () => {
      if (!existsSync(listsPath)) return `none kept in ${listsPath}`
      const { damages, rows } = verifyLists(listsPath)
      const [first] = damages
      return first === undefined
        ? `${rows} in ${listsPath}`
        : failedCheck('lists', `${listsPath}: ${first.what}`, LISTS.mend)
    }),
    await runCheck('fields', 'mend the file of your own fields; no question is answered until then', async () => {
      const ownFields = (await loadFields(config, env)).all.filter(({ hash }) => hash !== undefined)
      return ownFields.length === 0 ? 'none of your own' : `your own: ${ownFields.map(({ name }) => name).join(', ')}`
    }),
    ...(await serverChecks(context, { ...config, from })),
  ]
}

/** Runs one check and returns its text if all is well. An error becomes the finding, with `mend` as its remedy. */
async function runCheck(name: string, mend: Check['detail'], check: () => Promise<string | Check>): Promise<Check> {
  try {
    const finding = await check()
    return typeof finding === 'string' ? okCheck(name, finding) : finding
  } catch (thrown) {
    return failedCheck(name, firstLineOf(thrown), mend)
  }
}

/** The checks of the chosen server; none if the local database answers. An error becomes a failed check. */
async function serverChecks(context: Context, config: Config): Promise<Check[]> {
  const { env } = context.world
  try {
    const server = context.closeAtEnd(await openChosenServer(config, env))
    return server === null ? [] : await checkServer(server, (await keySource(config, env))!)
  } catch (thrown) {
    return [failedCheck('server', firstLineOf(thrown), 'bands config shows which server is chosen, and what chose it')]
  }
}

/** The checks of a chosen server. Throws if it does not answer. @param key where it is from, and how to replace it */
async function checkServer(server: Remote, key: Omit<FoundKey, 'key'>): Promise<Check[]> {
  const began = performance.now()
  const refusal: unknown = await server.checkKey().catch((error: unknown) => error)
  if (refusal !== undefined && !(refusal instanceof Unauthorized || refusal instanceof RateLimited)) throw refusal
  // A key that is out of credits is accepted.
  const answerTime = Math.ceil(performance.now() - began)
  const checks = [okCheck('server', `${server.url} answers in ${answerTime} ms`), tlsCheck(server.url)]
  if (refusal instanceof Unauthorized)
    checks.push(failedCheck('key', `it is refused; it is from ${key.from}`, key.loginLine ?? 'put another one there'))
  else
    checks.push(
      okCheck('key', `it is accepted; it is from ${key.from}`),
      okCheck('plan', server.tier ?? 'not given'),
      creditsCheck(server),
    )
  return [...checks, clockCheck(server.ahead)]
}

function tlsCheck(url: string): Check {
  if (url.startsWith('https:')) return okCheck('TLS', 'the certificate is trusted')
  if (addressOf(url, { allowPlainHttp: true }).loopback)
    return okCheck('TLS', 'none, and to this machine itself none is needed')
  return warningCheck('TLS', 'none: everyone on the way can read the key', 'ask it by https')
}

/** The check of the remaining credits: a warning if those of the day or the hour are spent. */
function creditsCheck({ credits }: Remote): Check {
  const creditsText = creditsLeft(credits)
  const spent = [credits?.day, credits?.hour].find(allowance => allowance?.remaining === 0)
  if (spent == null) return okCheck('credits', creditsText === '' ? 'not given' : creditsText)
  return warningCheck('credits', creditsText, spent.reset === null ? 'wait for new ones' : `wait until ${spent.reset}`)
}

/** Rounding and network delay explain no larger difference. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000

/** Checks the clock of this machine. @param ahead milliseconds that the server is ahead; null if it sends no time */
function clockCheck(ahead: number | null): Check {
  if (ahead === null) return okCheck('clock', 'the server does not send its time')
  if (Math.abs(ahead) < MAX_CLOCK_DIFFERENCE_MS) return okCheck('clock', 'within seconds of that of the server')
  const difference = `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? 'behind' : 'ahead of'} that of the server`
  return warningCheck('clock', difference, 'set the clock of this machine')
}

export const commands = { doctor: doctorCommand }
