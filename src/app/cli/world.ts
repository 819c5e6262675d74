import { fstatSync, statSync, write, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { promisify } from 'node:util'
import { printable, StorageError } from '../../core/errors.js'

export interface Stream {
  /** False for a pipe or a file. */
  readonly terminal: boolean
  /** Columns of the terminal; null if unknown. */
  columns(): number | null
  /** Resolves when everything is handed over, so a slow reader slows the writer. Throws ClosedPipe. */
  write(chunk: string | Uint8Array): Promise<void>
}

/** The reader of our output has gone (`| head -1`): no fault, and no more work. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe'
}

/**
 * Standard output (1) or standard error (2). `terminal` is computed on first use, because that loads node's code for
 * terminals. `process.stdout` is used only on a terminal: its first use takes longer than answering a question.
 */
function descriptorStream(fd: 1 | 2): Stream {
  let terminal: boolean | undefined
  return {
    get terminal() {
      terminal ??= isTerminal(fd)
      return terminal
    },
    columns() {
      if (!this.terminal) return null
      return (fd === 1 ? process.stdout : process.stderr).columns ?? null
    },
    write: chunk => writeAll(fd, typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
  }
}

/** A longer text is written off the main thread, so that signals still arrive while the reader of a pipe is slow. */
const MAX_SYNC_BYTES = 16_384

const writeAsync = promisify(write)

/** Writes all bytes, and waits for a slow reader. Throws ClosedPipe, StorageError. */
async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    try {
      if (bytes.length <= MAX_SYNC_BYTES) written += writeSync(fd, bytes, written)
      else written += (await writeAsync(fd, bytes, written, bytes.length - written, null)).bytesWritten
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'EPIPE') throw new ClosedPipe()
      // Our parent made the pipe non-blocking, and it is full.
      if (code !== 'EAGAIN') throw new StorageError(`cannot write the output: ${(cause as Error).message}`, { cause })
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
}

function isTerminal(fd: number): boolean {
  try {
    // Most runs in a script write to a pipe, a file or /dev/null. These checks avoid loading node's terminal code.
    const status = fstatSync(fd)
    if (!status.isCharacterDevice() || status.rdev === statSync('/dev/null').rdev) return false
  } catch {
    return false
  }
  return isatty(fd)
}

export type Signal = 'SIGINT' | 'SIGTERM'

/** The parts of the process that a run uses; passed in, so that a test can replace them. */
export interface World {
  readonly out: Stream
  readonly err: Stream
  readonly env: NodeJS.ProcessEnv
  stdin(): NodeJS.ReadableStream
  now(): Date
  /** Calls back when the run should end; returns a function that stops listening. @param grace ms until it is killed */
  onStop(stop: (signal: Signal) => void, grace?: number): () => void
  /** Calls back when files should be read again; returns a function that stops listening. */
  onReload?(reload: () => void): () => void
}

export function processWorld(): World {
  return {
    out: descriptorStream(1),
    err: descriptorStream(2),
    env: process.env,
    stdin: () => process.stdin,
    now: () => new Date(),
    onStop,
    onReload,
  }
}

/** The same stream with control characters replaced on a terminal; a pipe or a file gets every text unchanged. */
export function printableStream(out: Stream): Stream {
  if (!out.terminal) return out
  const text = (chunk: string | Uint8Array): string =>
    typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
  return { terminal: true, columns: () => out.columns(), write: chunk => out.write(printable(text(chunk))) }
}

/** Calls back at the first signal, for cleaning up. After the grace period, or at a second signal, the process ends. */
function onStop(stop: (signal: Signal) => void, grace = GRACE_MS): () => void {
  const stopListening = (): void => {
    for (const signal of SIGNALS) process.off(signal, handle)
  }
  const handle = (signal: NodeJS.Signals): void => {
    stopListening()
    stop(signal as Signal)
    setTimeout(() => process.kill(process.pid, signal), grace).unref()
  }
  for (const signal of SIGNALS) process.on(signal, handle)
  return stopListening
}

/** Calls back at SIGHUP; returns a function that stops listening. At a terminal SIGHUP keeps its usual effect. */
function onReload(reload: () => void): () => void {
  if (isTerminal(1) || isTerminal(2)) return () => {}
  process.on('SIGHUP', reload)
  return () => void process.off('SIGHUP', reload)
}

const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM']
const GRACE_MS = 500

/** The width in columns: that of the terminal, at least 40, and 80 if unknown. COLUMNS overrides it. */
export function widthOf(stream: Stream, env: NodeJS.ProcessEnv): number {
  const columnsVariable = Number(env.COLUMNS)
  const columns = Number.isInteger(columnsVariable) && columnsVariable > 0 ? columnsVariable : stream.columns()
  return Math.max(40, columns || 80)
}

export function isUnicode({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '')
}

/** Colour, width and characters of the terminal, each with the reason in brackets, for `bands doctor`. */
export function terminalFacts({ env, out }: World, colour: ColourFlag): { name: string; detail: string }[] {
  const setVariables = ['NO_COLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE', 'CLICOLOR', 'TERM'].filter(name => env[name])
  const reasons = [
    `--color ${colour}`,
    `a terminal: ${out.terminal ? 'yes' : 'no'}`,
    ...setVariables.map(name => `${name}=${env[name]}`),
  ]
  const terminalSource = out.columns() === null ? 'unknown terminal' : 'the terminal'
  const widthSource = env.COLUMNS ? 'COLUMNS' : terminalSource
  return [
    { name: 'colour', detail: `${isColoured(colour, env, out.terminal) ? 'on' : 'off'} (${reasons.join(', ')})` },
    { name: 'width', detail: `${widthOf(out, env)} columns (${widthSource})` },
    { name: 'characters', detail: isUnicode(env) ? 'UTF-8' : 'ASCII (LANG names no UTF-8)' },
  ]
}

export type ColourFlag = 'auto' | 'always' | 'never'

/** Whether a stream is coloured: by the option, then the environment, then the kind of stream. */
export function isColoured(flag: ColourFlag, env: NodeJS.ProcessEnv, terminal: boolean): boolean {
  if (flag !== 'auto') return flag === 'always'
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== '0') return true
  if (env.TERM === 'dumb' || env.CLICOLOR === '0') return false
  return terminal
}
