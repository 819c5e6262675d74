// What a cold question loads, in one file: finding and opening thirty small chunks costs more than reading them. Which
// chunks those are is asked of a real question. Each packed chunk's own file becomes a door into the pack, so that code
// outside it meets the same modules.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const QUESTION = ['events', 'AAPL', 'rsi_zone', '--band', 'oversold', '--json']
const PACK = 'question.js'

export function packQuestion(dist) {
  const names = loadedBy(dist, QUESTION)
  const modules = names.map(name => {
    const text = readFileSync(join(dist, name), 'utf8')
    return `${JSON.stringify(name)}(module,exports,require,__filename){${text}\n}`
  })
  writeFileSync(join(dist, PACK), `${LOADER}({${modules.join(',\n')}});\n`)
  for (const name of names) {
    const up = '../'.repeat(name.split('/').length - 1) || './'
    writeFileSync(join(dist, name), `module.exports=require('${up}${PACK}')(${JSON.stringify(name)});\n`)
  }
}

/** Modules below `dist` that a command line loads, named with slashes. */
function loadedBy(dist, words) {
  const list = join(dist, 'loaded.json')
  const program = `
    const { main } = require('./cli/main.js')
    main(${JSON.stringify([...words, '--db', join(dist, 'sample.db')])}).then(code => {
      if (code !== 0) throw new Error('the question ended with ' + code)
      require('node:fs').writeFileSync('loaded.json', JSON.stringify(Object.keys(require.cache)))
    })`
  execFileSync(process.execPath, ['-e', program], { cwd: dist, stdio: ['ignore', 'ignore', 'inherit'] })
  const files = JSON.parse(readFileSync(list, 'utf8'))
  rmSync(list)
  return files
    .filter(file => file.startsWith(dist) && file.endsWith('.js'))
    .map(file => relative(dist, file).split(sep).join('/'))
}

// A small CommonJS loader: a module is made once; what is not in the pack is asked of node.
const LOADER = `'use strict';
const { join, posix } = require('node:path');
module.exports = (modules => {
  const made = new Map();
  const load = name => {
    const known = made.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    made.set(name, module);
    const find = request => {
      if (!request.startsWith('.')) return require(request);
      // Chunks lie at the top and have names of their own: joining paths would take longer than making most of them.
      const chunk = request.slice(request.lastIndexOf('/') + 1);
      if (chunk in modules) return load(chunk);
      const other = posix.join(posix.dirname(name), request);
      return other in modules ? load(other) : require(join(__dirname, other));
    };
    modules[name](module, module.exports, find, join(__dirname, name));
    return module.exports;
  };
  return load;
})`
