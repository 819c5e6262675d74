import { main } from '../../src/app/cli/main.js'

/** The command line of today's sources as a process of its own, to be killed. */
void main(process.argv.slice(2)).then(code => {
  process.exitCode = code
})
