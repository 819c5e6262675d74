// Loaded before a program: prints, when that ends, the milliseconds since node was ready to run it.
const { writeSync } = require('node:fs')

const start = performance.now()
process.on('exit', () => writeSync(1, `\n${performance.now() - start}\n`))
