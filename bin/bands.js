#!/usr/bin/env node
// Asked before anything else is loaded: what comes next may be code that an old Node cannot even read.
const version = process.versions.node.split('.').map(Number)
const works = version[0] >= 24 || (version[0] === 22 && version[1] >= 12) || (version[0] === 20 && version[1] >= 19)
if (works) {
  require('../dist/cli/main.js')
    .main(process.argv.slice(2))
    .then(code => {
      process.exitCode = code
    })
} else {
  process.stderr.write(`error: bands runs on Node 20.19, 22.12, 24 or newer; this is Node ${process.versions.node}.\n`)
  process.exitCode = 6
}
