import { BandsError } from '../../core/errors.js'
import { type Start, serializeError, Threads } from '../../data/threads.js'
import { deserializeMessage, lengthBytes, programIdentity, readFrames, serializeMessage } from '../open/frames.js'

/*
 * The process of a cluster's worker. It writes its identity, reads the data of a job and then lists of tasks, and
 * writes a list of results for each.
 */

const LENGTH_BYTES = 8

/** Writes a message to the cluster, after its length. */
function send(bytes: Buffer): void {
  process.stdout.write(lengthBytes(bytes))
  process.stdout.write(bytes)
}

/** Runs a list of tasks. Returns its results, or the error that ended it. */
async function runTaskList(threads: Threads<unknown, unknown>, tasks: readonly unknown[]): Promise<unknown> {
  try {
    const results: unknown[] = []
    for (const task of tasks) results.push(await threads.run(task))
    return { results }
  } catch (error) {
    return error instanceof BandsError ? { refusal: serializeError(error) } : { fault: error }
  }
}

// The tasks are done in a thread, so that this one notices when the worker is gone.
process.stdin.once('end', () => process.exit())
send(Buffer.from(programIdentity()))
void runTasks()

/** Starts a thread with the first message, a job and its data, and runs each later message, a list of tasks. */
async function runTasks(): Promise<void> {
  let threads: Threads<unknown, unknown> | null = null
  for await (const { bytes } of readFrames(process.stdin, LENGTH_BYTES)) {
    if (threads === null) {
      const { job, data } = deserializeMessage(bytes) as Start
      threads = new Threads(job, data, 1)
    } else send(serializeMessage(await runTaskList(threads, deserializeMessage(bytes) as unknown[])))
  }
}
