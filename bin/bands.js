#!/usr/bin/env node
// An old Node must be able to read this file: it uses no newer syntax, and it checks the version before it loads more.
const [major, minor] = process.versions.node.split('.').map(Number)

if (!(major >= 24 || (major === 22 && minor >= 14))) {
  handOver()
} else if (!printsAtOnce()) {
  require('../dist/cli/main.js')
    .main(process.argv.slice(2))
    .then(code => {
      process.exitCode = code
    })
}

/** Prints the version, the first page of help or a completion script, if only that was asked for: no command is loaded. */
function printsAtOnce() {
  const words = process.argv.slice(2)
  const [first = '--help'] = words
  if (!['--version', '--help', 'completion'].includes(first) || words.some(word => word.includes(' '))) return false
  try {
    const text = require('../dist/fixed-texts.json')[words.join(' ') || first]
    require('node:fs').writeSync(1, text)
    return true
  } catch {
    // Another line, or no build.
    return false
  }
}

/** A checkout has a newer Node among its development dependencies: the command runs there. */
function handOver() {
  const { existsSync, realpathSync } = require('node:fs')
  const newer = require('node:path').join(__dirname, '..', 'node_modules', '.bin', 'node')
  if (!existsSync(newer) || realpathSync(newer) === realpathSync(process.execPath)) return refuse()

  const words = [...process.execArgv, __filename, ...process.argv.slice(2)]
  const child = require('node:child_process').spawn(newer, words, { stdio: 'inherit' })
  // A terminal sends its signals to both processes.
  const onTerminal = [0, 1, 2].some(require('node:tty').isatty)
  const signals = ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGTERM']
  for (const name of signals) process.on(name, () => (onTerminal && name !== 'SIGTERM') || child.kill(name))
  child.on('error', refuse)
  child.on('exit', (code, signal) => {
    process.exitCode = code
    for (const name of signals) process.removeAllListeners(name)
    if (signal !== null) process.kill(process.pid, signal)
  })
}

function refuse() {
  const sentence = `bands needs Node 22.14, 24 or newer, and this is Node ${process.versions.node}; install Node 24.`
  process.stderr.write(`error: ${sentence}\n`)
  process.exitCode = 6
}
