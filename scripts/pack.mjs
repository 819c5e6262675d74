// Two hundred chunks become few files: finding and opening thirty small ones costs a cold command more than reading them.
// What belongs together is asked of the commands themselves: chunks that the same of them load lie in one file, so that
// none reads much that it does not need. Chunks are then known by name to one loader (loader.cjs).
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const LOADER = 'packs.js'
/** A pack of less takes in what the next commands load, if it is not large: people expect a package of some hundred files. */
const SMALL = 34_816
/** What none of the commands below loads: chunks from here on are packs of their own, others are put together up to that. */
const LARGE = 98_304
const FULL = 196_608
const EVENTS = ['AAPL', 'rsi_zone', '--band', 'oversold']

/** A file with one more bar of a ticker of the sample, and a new ticker. */
const NEW_BARS = 'bars.csv'
const NEW_ROWS = `ticker,date,open,high,low,close,volume
GSPC,2018-05-14,2738.47,2742.1,2725.47,2730.13,2972660000
NEW,2018-05-14,10,11,9,10.5,1000
`

const WAYS = [
  ['--version'],
  ['completion', '--complete', '--', 'events', 'AA'],
  ['completion', 'bash'],
  ['events', ...EVENTS, '--json'],
  ['--help'],
  ['events', '--help'],
  ['events', ...EVENTS],
  // Nobody listens there: what asks a server is loaded all the same.
  ['events', ...EVENTS, '--remote', 'http://127.0.0.1:9', '--retries', '0'],
  ['now', 'AAPL'],
  ['tally', ...EVENTS],
  ['study', ...EVENTS],
  ['backtest', ...EVENTS, '--hold', '20'],
  ['sweep', 'AAPL', '--field', 'rsi_zone'],
  ['scan', 'oversold'],
  ['status'],
  ['import', NEW_BARS],
  ['export', 'events', '--write', 'events.csv'],
  // No words: a program that imports the library.
  null,
]

/** The first words of ways that take so little time that reading compiled code is much of it. */
const QUICK = ['events', 'now', 'tally', 'scan', 'status', '--help', 'completion']

/** Writes each of the `chunks` (name → text) as a file of its own into `dist`; `doors` are those that others may require. */
export function spread(dist, chunks, doors) {
  for (const folder of new Set([...chunks.keys()].map(name => dirname(join(dist, name)))))
    mkdirSync(folder, { recursive: true })
  writePacks(dist, new Map([...chunks.keys()].map(name => [alone(name), [name]])), chunks)
  for (const name of doors) writeFileSync(join(dist, name), doorTo(name, chunks.get(name)))
}

/** Puts chunks that lie as files of their own into files of several. */
export async function pack(dist, chunks) {
  const packs = await packsOf(realpathSync(dist), chunks)
  for (const name of chunks.keys()) rmSync(join(dist, alone(name)))
  writePacks(dist, packs, chunks)
  await cache(realpathSync(dist))
}

/** The file of a chunk that lies alone; a door has the name itself. */
function alone(name) {
  return `${name.replaceAll('/', '-').replace(/\.js$/, '')}.chunk.js`
}

function writePacks(dist, packs, chunks) {
  for (const [file, names] of packs) {
    const text = `({${names.map(name => moduleOf(name, chunks.get(name))).join(',\n')}})\n`
    writeFileSync(join(dist, file), ascii(text))
  }
  const packOf = Object.fromEntries([...packs].flatMap(([file, names]) => names.map(name => [name, file])))
  const loader = readFileSync(fileURLToPath(new URL('loader.cjs', import.meta.url)), 'utf8')
  writeFileSync(
    join(dist, LOADER),
    loader.replace('PACK_OF = {}', () => `PACK_OF = ${JSON.stringify(packOf)}`),
  )
}

/** The loader reads ASCII. esbuild writes that, but for regular expressions and tagged templates, whose raw text nobody reads. */
function ascii(text) {
  return text.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function moduleOf(name, text) {
  return `${JSON.stringify(name)}(module,exports,require,__filename,__dirname){${withLateModules(text)}\n}`
}

/**
 * Modules of node's own are loaded when they are first used: most runs never come to a hash or a child process, and these
 * cost milliseconds. The names are those that esbuild gives to what is imported.
 */
function withLateModules(text) {
  const names = new Set()
  const late = text.replace(/\b(import_\w+)=require\("(node:[\w/]+)"\)/g, (_, name, request) => {
    names.add(name)
    return `${name}=require.late("${request}")`
  })
  // In brackets, because `new` would otherwise take the call for its own.
  return late.replace(/\b(import_\w+)\./g, (use, name) => (names.has(name) ? `(${name}()).` : use))
}

/** File → its chunks. */
async function packsOf(dist, texts) {
  const loaded = await Promise.all(WAYS.map(words => loadedBy(dist, words)))
  // Chunks that the same ways load are neighbours.
  const chunks = [...texts].map(([name, { length }]) => ({
    name,
    length,
    ways: loaded.map(set => (set.has(name) ? 0 : 1)).join(''),
  }))
  // So are small ones that none loads: a large one between them would end their pack.
  const bySize = (a, b) => (isUsed(a.ways) ? 0 : a.length - b.length)
  chunks.sort((a, b) => (a.ways < b.ways ? -1 : a.ways > b.ways ? 1 : bySize(a, b)))
  const packs = new Map()
  let last = null
  for (const { name, length, ways } of chunks) {
    if (last === null || !goesWith(last, length, ways)) {
      last = { ways, length: 0, names: [] }
      packs.set(`pack-${packs.size + 1}.js`, last.names)
    }
    last.names.push(name)
    last.length += length
  }
  return packs
}

const isUsed = ways => ways.includes('0')

function goesWith(pack, length, ways) {
  if (isUsed(ways)) return ways === pack.ways || (pack.length < SMALL && length < LARGE)
  return !isUsed(pack.ways) && length < LARGE && pack.length + length <= FULL
}

/** Chunks that a command line or a program loads. It uses a copy of the sample, from an empty home. */
async function loadedBy(dist, words) {
  return atHome(dist, async (run, home) => {
    const list = join(home, 'loaded.json')
    const noted = `require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify([...${loaderOf(dist)}.made.keys()]))`
    await run(`(async () => { ${wayOf(dist, words)}; ${noted} })()`)
    return new Set(JSON.parse(readFileSync(list, 'utf8')))
  })
}

function loaderOf(dist) {
  return `require(${JSON.stringify(join(dist, LOADER))})`
}

/** A statement that goes one of the ways. */
function wayOf(dist, words) {
  const required = name => `require(${JSON.stringify(join(dist, name))})`
  if (words === null) return `await ${required('index.js')}.openBands()`
  return `await ${required('cli/main.js')}.main(${JSON.stringify(words)})`
}

/** Lends a way to run a program in a new home, with the sample as its database and a file of new bars. */
async function atHome(dist, work) {
  const home = mkdtempSync(join(tmpdir(), 'bands-pack-'))
  const db = join(home, 'sample.db')
  copyFileSync(join(dist, 'sample.db'), db)
  writeFileSync(join(home, NEW_BARS), NEW_ROWS)
  const env = { PATH: process.env.PATH, HOME: home, BANDS_DB: db, BANDS_API_KEY: 'none' }
  try {
    return await work(program => promisify(execFile)(process.execPath, ['-e', program], { cwd: home, env }), home)
  } finally {
    rmSync(home, { recursive: true })
  }
}

/**
 * Keeps what V8 has compiled once all ways were gone, the functions that they called among it; for each quick command
 * also what its own ways and its help need, which is read in half the time.
 */
async function cache(dist) {
  const { CACHE, HEAD, ANY } = createRequire(import.meta.url)(join(dist, LOADER))
  const isOf = command => words => words !== null && (words[0] === command || words.includes('--help'))
  const trained = QUICK.map(command => [command, WAYS.filter(isOf(command))])
  const compiled = await Promise.all(
    [...trained, [ANY, WAYS]].map(async ([key, ways]) => [key, await compiledBy(dist, ways)]),
  )
  const places = {}
  const parts = []
  let at = 0
  for (const [key, { lengths, bytes }] of compiled) {
    places[key] = {}
    for (const [file, length] of lengths) {
      places[key][file] = [at, length]
      at += length
    }
    parts.push(bytes)
  }
  const head = Buffer.alloc(HEAD, ' ')
  if (head.write(JSON.stringify(places)) >= HEAD) throw new Error('the head of the cache has no room for all packs')
  writeFileSync(CACHE, Buffer.concat([head, ...parts]))
}

/** The packs that some ways load in one process: the length of each one's compiled code, and the bytes of all. */
async function compiledBy(dist, ways) {
  const program = `(async () => {
    const { setFlagsFromString } = require('node:v8')
    const { scripts } = ${loaderOf(dist)}
    // Whatever was compiled stays so until it is kept.
    setFlagsFromString('--no-flush-bytecode')
    ${ways.map(words => wayOf(dist, words)).join('\n')}
    setFlagsFromString('--flush-bytecode')
    const parts = [...scripts].map(([file, script]) => [file, script.createCachedData()])
    const fs = require('node:fs')
    fs.writeFileSync('lengths.json', JSON.stringify(parts.map(([file, bytes]) => [file, bytes.length])))
    fs.writeFileSync('bytes', Buffer.concat(parts.map(([, bytes]) => bytes)))
  })()`
  return atHome(dist, async (run, home) => {
    await run(program)
    const lengths = JSON.parse(readFileSync(join(home, 'lengths.json'), 'utf8'))
    return { lengths, bytes: readFileSync(join(home, 'bytes')) }
  })
}

/** A file that requires one chunk. Its exports are named too, where node looks for what an ES module may import by name. */
function doorTo(name, text) {
  const up = '../'.repeat(name.split('/').length - 1) || './'
  const [, names = ''] = text.match(/module\.exports=\s*\{([^}]*)\}/) ?? []
  const named = names.replace(/:\w+/g, '')
  const loaded = `require('${up}${LOADER}')(${JSON.stringify(name)})`
  return `module.exports=Object.defineProperty(${loaded},'__esModule',{value:true});\n0&&(module.exports={${named}});\n`
}
