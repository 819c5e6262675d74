/** How one case is run: the command line as a process, on a terminal or not, and a request over HTTP. */
import { spawn, spawnSync } from 'node:child_process'
import { request } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

const FROZEN = new URL('frozen.mjs', import.meta.url).href
const PATIENCE = 120_000

/** Standard output and error each on a terminal of its own, so that they stay apart. */
const TERMINALS = `
import fcntl, os, pty, select, struct, subprocess, sys, termios
def terminal():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, int(sys.argv[1]), 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    return ours, theirs
out, err = terminal(), terminal()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=out[1], stderr=err[1])
os.close(out[1]); os.close(err[1])
streams = {out[0]: 1, err[0]: 2}
while streams:
    for fd in select.select(list(streams), [], [])[0]:
        try: data = os.read(fd, 65536)
        except OSError: data = b''
        if data: os.write(streams[fd], data)
        else: del streams[fd]
sys.exit(child.wait())
`

/** Whether there is what simulates a terminal. */
export const hasTerminals = () => spawnSync('python3', ['-c', 'import fcntl, pty, termios']).status === 0

/** A process of node with the time standing still: `words` are a script and what it is given. */
export function start(words, { cwd, env, terminal, stdin }) {
  const node = [process.execPath, '--import', FROZEN, ...words]
  const [program, ...given] = terminal ? ['python3', '-c', TERMINALS, String(terminal), ...node] : node
  const child = spawn(program, given, { cwd, env, stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] })
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  return child
}

/** Runs to the end; `until`: a text of standard output after which the process is asked to end (SIGTERM). */
export function run(words, { until, ...options }) {
  const child = start(words, options)
  const out = []
  const err = []
  let asked = false
  child.stdout.on('data', data => {
    out.push(data)
    if (until === undefined || asked || !Buffer.concat(out).includes(until)) return
    asked = true
    child.kill('SIGTERM')
  })
  child.stderr.on('data', data => err.push(data))
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code: code ?? signal, out: Buffer.concat(out), err: Buffer.concat(err) })
    })
  })
}

/** The script that asks the library. */
export const LIBRARY = fileURLToPath(new URL('library.mjs', import.meta.url))

/** One request on a connection of its own: what was answered, headers as they came. */
export function ask(url, { method, path, headers }) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const sent = request({ hostname, port, method, path, headers, agent: false }, answer => {
      const body = []
      answer.on('data', data => body.push(data))
      answer.once('end', () => {
        const { statusCode, statusMessage, rawHeaders } = answer
        const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]]] : []))
        resolve({ status: `${statusCode} ${statusMessage}`, headers: pairs, body: Buffer.concat(body) })
      })
    })
    sent.once('error', reject)
    sent.end()
  })
}

/** Bytes as they are, for what no client would send; what comes back until the server closes. */
export function askRaw(url, text) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const answer = []
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on('data', data => answer.push(data))
    socket.once('error', reject)
    socket.once('close', () => resolve(Buffer.concat(answer)))
  })
}
