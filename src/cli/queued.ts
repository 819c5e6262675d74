import { resolve } from 'node:path'
import { wrong } from '../errors.js'
import { expandInputs } from '../feeds/read.js'
import { formatDay } from '../model/day.js'
import { openQueue } from '../open/queue.js'
import { column, describeList } from '../present/description.js'
import { count } from '../present/numbers.js'
import type { Job, Task } from '../store/postgres/queue.js'
import type { Command, Given } from './command.js'
import { longName, pasted } from './command-line.js'
import type { Context } from './context.js'

/** Commands on their way into a queue, and what is said of them there; bands work does them. */

/** Options that name a file to be written beside the answer: of a worker elsewhere nobody would find it. */
export const WRITES = ['rejects', 'cells', 'report']

/** What is about how one waits, or how people are shown it. */
const OF_THIS_RUN = ['queue', 'wait', 'wide', 'limit']

/** Puts an import into the queue: a job a file, as every worker that can read it may do it. */
export async function putImports(context: Context, given: Given, name: string, command: Command): Promise<void> {
  const files = given.rest(0)
  if (files.includes('-')) throw wrong('file', 'standard input cannot be read by another process; put it into a file.')
  const inputs = await expandInputs(files)
  const task = taskOf(context, given, name, command)
  await put(
    context,
    inputs.map(({ path }) => ({ ...task, args: [[resolve(path!)]] })),
  )
}

/** Puts a command into the queue. @param args in place of those that were typed, where they mean something here alone */
export async function putCommand(
  context: Context,
  given: Given,
  name: string,
  command: Command,
  { args = [], without = [] }: { args?: unknown[]; without?: readonly string[] } = {},
): Promise<void> {
  await put(context, [{ ...taskOf(context, given, name, command, without), args }])
}

/** A command as it was typed, without its arguments. Throws InvalidParameter for a file that it would write. */
function taskOf(context: Context, given: Given, name: string, command: Command, without: readonly string[] = []): Task {
  context.refuseRemote()
  const file = WRITES.find(option => given.text(option) !== undefined)
  if (file !== undefined)
    throw wrong(file, `--${file} names a file, which would be written by a worker, maybe elsewhere; leave it out.`)
  const own = (command.options ?? []).map(spec => longName(spec).slice(2))
  const options = given.kept(own.filter(option => ![...OF_THIS_RUN, ...without].includes(option)))
  const { tier, as_of: asOf } = context.config
  const globals = { ...(tier !== null && { tier }), ...(asOf !== null && { asOf: formatDay(asOf) }) }
  return { command: name, args: [], options, globals }
}

async function put(context: Context, tasks: readonly Task[]): Promise<void> {
  const queue = context.closing(await openQueue(context.choice, { make: true }))
  const ids = await queue.put(tasks)
  const jobs = tasks.map((task, i) => ({ id: ids[i]!, job: wordsOf(task) }))
  const shown = [JOB_ID, column('job', 'text', { wraps: true })]
  const notes = [`${count(jobs.length, 'job')} put into the queue at ${queue.location}`]
  await context.show(describeList({ schema: 'bands.work-put/1', queue: queue.location, jobs }, jobs, shown, { notes }))
  await context.hint('next: bands work', 'bands work list')
}

export const JOB_ID = { ...column('id'), of: ({ id }: { id: string }) => shortened(id) }

/** As much of the name of a job as tells it apart from others. */
export function shortened(id: string): string {
  return id.slice(0, 8)
}

/** A task as it would be typed, without `bands`. */
export function wordsOf({ command, args, options, globals }: Task): string {
  const named = Object.entries({ ...options, ...globals }).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
    return value === true ? [option] : [value].flat().flatMap(text => [option, String(text)])
  })
  return pasted([
    command,
    ...args
      .flat()
      .filter(word => word !== undefined)
      .map(String),
    ...named,
  ]).replace(/^bands /, '')
}

/** A job as a row for machines. */
export function jobRow({ id, state, task, put: at, begun, ended, tries, worker, error }: Job) {
  const iso = (date: Date | null): string | null => date?.toISOString() ?? null
  const { pid = null, host = null, started = null } = worker ?? {}
  return {
    ...{ id, state, job: wordsOf(task), put: iso(at)!, begun: iso(begun), ended: iso(ended), tries },
    ...{ host, pid, worker_started: started, error },
  }
}
