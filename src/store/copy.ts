import { InvalidParameter, parameter, remedy, StorageError, sentence } from '../errors.js'
import type { PullRun } from './pages.js'
import { type Content, checkCopied, copiedInPart, Damaged, isCopyOf, type Store, UNDERIVED } from './store.js'

/**
 * One store becomes what another is, whatever databases the two lie in.
 *  1. All of the source is read at one moment. What the target has already, by its hashes, is not sent.
 *  2. Some tickers go in a transaction, as they are packed. From the first to the last of them the definitions of the
 *     target say that it is a part: nobody is answered from it.
 *  3. The target is read again and every hash computed; what is damaged there is sent once more. Only then it gets the
 *     definitions of the source.
 * A copy that is stopped leaves whole tickers, and the same copy goes on.
 */

/** How much of tickers: bars and events of both timeframes, records of facts, events that servers told. */
export interface Amounts {
  tickers: number
  bars: number
  events: number
  facts: number
  pulled: number
}

export interface CopyReport {
  from: string
  to: string
  copied: Amounts
  /** What the target had before, as the source has it. */
  there: Amounts
  /** Tickers of the target that the source has not. */
  removed: number
  /** How many hashes were computed again in the target, and are those of the source. */
  hashes: number
}

export interface CopyOptions {
  /** What else the target holds may go. */
  replace?: boolean
  onProgress?: (progress: CopyProgress) => void
}

export interface CopyProgress {
  stage: 'copying' | 'verifying'
  /** Tickers. */
  done: number
  of: number
  bytes: number
}

/** Tickers that go together: a few megabytes. */
const TOGETHER = 16

/**
 * Copies a store into another, whose writing place the caller has. Throws Damaged for a ticker of the source that is not
 * what was written, InvalidParameter for a target that holds other things, Busy and StorageError for a source that is none.
 */
export function copyStore(from: Store, to: Store, options: CopyOptions = {}): Promise<CopyReport> {
  return from.atOneMoment(async () => {
    const source = await stateOf(from)
    checkSource(from, source)
    const target = await stateOf(to)
    const isChanged = (ticker: string): boolean => !isSame(source.tickers.get(ticker)!, target.tickers.get(ticker))
    const changed = [...source.tickers.keys()].filter(isChanged)
    const gone = [...target.tickers.keys()].filter(ticker => !source.tickers.has(ticker))
    if (changed.length + gone.length > 0) checkTarget(from, to, target, options)
    await send(from, to, gone, changed, options)
    options.onProgress?.({ stage: 'verifying', done: 0, of: source.tickers.size, bytes: 0 })
    const mended = await mend(from, to, source, options)
    const hashes = await checkEqual(to, source)
    if (!isFinished(source, await stateOf(to))) await finish(to, source)
    const sent = new Set([...changed, ...mended])
    const [copied, there] = [true, false].map(isSent =>
      amountsOf([...source.tickers].filter(([ticker]) => sent.has(ticker) === isSent)),
    )
    return { from: from.location, to: to.location, copied: copied!, there: there!, removed: gone.length, hashes }
  })
}

/** What a store holds, and what is said of all of it. */
interface State {
  /** Ascending; of one that only the list names there is nothing. */
  tickers: ReadonlyMap<string, readonly Content[]>
  definitions: string
  unsettled: readonly string[]
  run: PullRun | null
}

async function stateOf(store: Store): Promise<State> {
  const tickers = new Map<string, Content[]>((await store.names()).map(ticker => [ticker, []]))
  for (const content of await store.contents()) {
    const own = tickers.get(content.ticker)
    if (own === undefined) tickers.set(content.ticker, [content])
    else own.push(content)
  }
  for (const own of tickers.values()) own.sort((a, b) => (a.what < b.what ? -1 : 1))
  const [definitions, unsettled] = [await store.definitions(), await store.unsettled()]
  return { tickers, definitions, unsettled, run: await store.pages.run() }
}

/** What is named and not there is never the same: who reads it is told. */
function isSame(some: readonly Content[], others: readonly Content[] = []): boolean {
  if (some.length === 0 || some.length !== others.length) return false
  return some.every(({ what, hash }, i) => what === others[i]!.what && hash === others[i]!.hash)
}

function isFinished(source: State, target: State): boolean {
  const said = ({ definitions, unsettled, run }: State): string => JSON.stringify([definitions, unsettled, run])
  return said(source) === said(target)
}

function checkSource({ location }: Store, { definitions }: State): void {
  checkCopied(location, definitions)
  if (definitions !== UNDERIVED) return
  throw new StorageError(`${location} has bars whose events are not made yet; a rebuild makes them`, {
    remedy: remedy('rebuild', [], { db: location }),
  })
}

/** Throws InvalidParameter for a target that would lose something else than a part of the same copy. */
function checkTarget(from: Store, to: Store, { tickers, definitions }: State, { replace = false }: CopyOptions): void {
  const part = isCopyOf(definitions)
  if (replace || tickers.size === 0 || part === from.location) return
  const holds = part === null ? 'other data' : `a part of a copy of ${part}`
  const what = sentence`${to.location} holds ${holds}; copy into an empty database, or put it in the place of that (${parameter('replace')}).`
  throw new InvalidParameter(what, { param: 'to' })
}

async function send(
  from: Store,
  to: Store,
  gone: readonly string[],
  changed: readonly string[],
  { onProgress }: CopyOptions,
): Promise<void> {
  const part = copiedInPart(from.location)
  if (gone.length > 0) await to.write({ removed: gone }, part)
  let bytes = 0
  for (let done = 0; done < changed.length; done += TOGETHER) {
    onProgress?.({ stage: 'copying', done, of: changed.length, bytes })
    const copies = await from.copies(changed.slice(done, done + TOGETHER))
    await to.write({ copies }, part)
    for (const { record } of copies) bytes += record?.bytes.length ?? 0
  }
}

/** Sends again what the target has, by its hashes, but not as it was written. Throws Damaged where that does not help. */
async function mend(from: Store, to: Store, source: State, options: CopyOptions): Promise<string[]> {
  const found = await to.verify()
  const damaged = [...new Set(found.map(({ ticker }) => ticker))].filter(ticker => source.tickers.has(ticker))
  await send(from, to, [], damaged, options)
  const [damage] = damaged.length === 0 ? found : await to.verify()
  if (damage !== undefined) throw new Damaged(to.location, damage)
  return damaged
}

/** How many hashes the target has computed again. Throws StorageError where they are not those of the source. */
async function checkEqual(to: Store, source: State): Promise<number> {
  const { tickers } = await stateOf(to)
  const other = [...source.tickers].find(([ticker, own]) => !isSame(own, tickers.get(ticker)))?.[0]
  if (other !== undefined || tickers.size !== source.tickers.size)
    throw new StorageError(`${to.location} is not what was copied: ${other ?? 'there are more tickers'}; copy it again`)
  return [...tickers.values()].reduce((sum, own) => sum + own.length, 0)
}

async function finish(to: Store, { definitions, unsettled, run }: State): Promise<void> {
  await to.pages.setRun(run)
  await to.write({ unsettled }, definitions)
}

function amountsOf(tickers: readonly (readonly [ticker: string, own: readonly Content[]])[]): Amounts {
  const amounts = { tickers: tickers.length, bars: 0, events: 0, facts: 0, pulled: 0 }
  for (const { what, amount } of tickers.flatMap(([, own]) => own)) amounts[kindOf(what)] += amount
  return amounts
}

function kindOf(what: string): Exclude<keyof Amounts, 'tickers'> {
  if (what === 'bars') return 'bars'
  if (what === 'daily' || what === 'weekly') return 'events'
  return what.startsWith('pulled ') ? 'pulled' : 'facts'
}
