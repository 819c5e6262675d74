// Two hundred chunks become few files: finding and opening thirty small ones costs a cold command more than reading them.
// What belongs together is asked of the commands themselves. Large chunks stay files of their own, read only by what
// needs them. Chunks are then known by name to one loader, which lies with what every command loads.
import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'

const FIRST = 'question.js'
const LARGE = 40_960
const FULL = 65_536
const EVENTS = ['AAPL', 'rsi_zone', '--band', 'oversold']

/** The first is what must be quickest. */
const WAYS = [
  ['events', ...EVENTS, '--json'],
  ['--help'],
  ['events', ...EVENTS],
  // Nobody listens there: what asks a server is loaded all the same.
  ['events', ...EVENTS, '--remote', 'http://127.0.0.1:9', '--retries', '0'],
  ['now', 'AAPL'],
  ['tally', ...EVENTS],
  ['study', ...EVENTS],
  ['backtest', ...EVENTS, '--hold', '20'],
  ['sweep', 'AAPL', '--fields', 'rsi_zone'],
  ['import', 'missing.csv'],
  ['export', 'events', '--out', 'events.csv'],
  // No words: a program that imports the library.
  null,
]

/** Packs the chunks `names` in `dist`, where they lie as files; `doors` are those that others may require: the `program`, and `others`. */
export async function pack(dist, names, doors) {
  const packs = await packsOf(realpathSync(dist), names)
  const packOf = Object.fromEntries([...packs].flatMap(([file, chunks]) => chunks.map(name => [name, file])))
  const texts = new Map(names.map(name => [name, readFileSync(join(dist, name), 'utf8')]))
  for (const name of names) rmSync(join(dist, name))
  for (const [file, chunks] of packs) {
    const modules = `{${chunks.map(name => moduleOf(name, texts.get(name))).join(',\n')}}`
    const text = file === FIRST ? `${LOADER}(${modules},\n${JSON.stringify(packOf)})` : `module.exports=${modules}`
    writeFileSync(join(dist, file), `${text};\n`)
  }
  const { program, others } = doors
  for (const name of others) writeFileSync(join(dist, name), doorTo(name, texts.get(name)))
  writeFileSync(join(dist, program), cachedDoorTo(program, "require('node:path').join(__dirname, '..')"))
  await cache(realpathSync(dist), program)
}

function moduleOf(name, text) {
  return `${JSON.stringify(name)}(module,exports,require,__filename){${text}\n}`
}

/** File → its chunks. A file of small ones is full at some size: whoever needs one of them reads little else. */
async function packsOf(dist, names) {
  const loaded = await Promise.all(WAYS.map(words => loadedBy(dist, words)))
  // Chunks that the same ways load are neighbours.
  const waysOf = name => loaded.map(list => (list.includes(name) ? 0 : 1)).join('')
  const ordered = names.map(name => ({ name, ways: waysOf(name), bytes: statSync(join(dist, name)).size }))
  ordered.sort((a, b) => (a.ways < b.ways ? -1 : a.ways > b.ways ? 1 : 0))
  const packs = new Map([[FIRST, []]])
  let [parts, room] = [0, 0]
  for (const { name, ways, bytes } of ordered) {
    if (ways.startsWith('0')) packs.get(FIRST).push(name)
    else if (bytes >= LARGE) packs.set(name, [name])
    else {
      if (bytes > room) [parts, room] = [parts + 1, FULL]
      room -= bytes
      const part = `part-${parts}.js`
      packs.set(part, [...(packs.get(part) ?? []), name])
    }
  }
  return packs
}

/** Chunks that a command line or a program loads, named with slashes. It looks at a copy of the sample, from an empty home. */
async function loadedBy(dist, words) {
  const required = name => `require(${JSON.stringify(join(dist, name))})`
  const work = words === null ? `${required('index.js')}.openBands()` : `${required('cli/main.js')}.main(words)`
  const files = await atHome(dist, async (run, home) => {
    const list = join(home, 'loaded.json')
    const noted = `require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache)))`
    await run(`const words = ${JSON.stringify(words)}; ${work}.then(() => ${noted})`)
    return JSON.parse(readFileSync(list, 'utf8'))
  })
  return files.filter(file => file.startsWith(dist)).map(file => relative(dist, file).split(sep).join('/'))
}

/** Lends a way to run a program in an empty home, with the sample as its database. */
async function atHome(dist, work) {
  const home = mkdtempSync(join(tmpdir(), 'bands-pack-'))
  const db = join(home, 'sample.db')
  copyFileSync(join(dist, 'sample.db'), db)
  const env = { PATH: process.env.PATH, HOME: home, BANDS_DB: db, BANDS_API_KEY: 'none' }
  try {
    return await work(program => promisify(execFile)(process.execPath, ['-e', program], { cwd: home, env }), home)
  } finally {
    rmSync(home, { recursive: true })
  }
}

// Compiling the first pack takes a fifth of a cold question. What V8 makes of it is kept beside it, for the version that
// built it; any other compiles it as ever.
const CACHE = "'v8-' + process.versions.v8 + '.cache'"

/** A file that requires one chunk of the first pack, compiled before. `folder`: the expression that is `dist` there. */
function cachedDoorTo(name, folder) {
  return `'use strict';
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');
const dist = ${folder};
const file = dist + '/${FIRST}';
let cachedData;
try {
  cachedData = readFileSync(dist + '/' + ${CACHE});
} catch {}
const text = '(function (module, exports, require, __dirname, __filename) {' + readFileSync(file, 'utf8') + '\\n})';
const script = new Script(text, { filename: file, cachedData });
const first = { exports: {} };
script.runInThisContext()(first, first.exports, require, dist, file);
module.exports = first.exports(${JSON.stringify(name)});
`
}

/** Keeps what V8 has compiled once a question is answered, the functions that it called among it. */
async function cache(dist, name) {
  const kept = `require('node:fs').writeFileSync(dist + '/' + ${CACHE}, script.createCachedData())`
  const program = `${cachedDoorTo(name, JSON.stringify(dist))}
    module.exports.main(${JSON.stringify(WAYS[0])}).then(() => ${kept})`
  await atHome(dist, run => run(program))
}

/** A file that requires one chunk. Its exports are named too, where node looks for what an ES module may import by name. */
function doorTo(name, text) {
  const up = '../'.repeat(name.split('/').length - 1) || './'
  const named = text.match(/0&&\(module\.exports=\{[^}]*\}\);/)?.[0] ?? ''
  return `module.exports=require('${up}${FIRST}')(${JSON.stringify(name)});\n${named}\n`
}

// A small CommonJS loader: a chunk is made once, its pack is read when the first of it is asked for; what is no chunk is
// asked of node.
const LOADER = `'use strict';
const { join, posix } = require('node:path');
module.exports = ((modules, packOf) => {
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
      if (chunk in packOf) return load(chunk);
      const other = posix.join(posix.dirname(name), request);
      return other in packOf ? load(other) : require(join(__dirname, other));
    };
    if (!(name in modules)) Object.assign(modules, require(join(__dirname, packOf[name])));
    modules[name](module, module.exports, find, join(__dirname, name));
    return module.exports;
  };
  return load;
})`
