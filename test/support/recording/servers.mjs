/** Servers that a class asks: the program's own, with keys of every tier, and one that talks nonsense. */
import { createServer } from 'node:http'
import { run, start } from './running.mjs'

const TIERS = ['pro', 'plus', 'free']

/** Tells `known` the addresses (`url`, `nested`, `odd`) and the keys (`pro`, `plus`, `free`, `spent`). */
export async function openServers({ bin, cwd, env, known, masks }) {
  const bands = async line => {
    const { code, out, err } = await run([bin, ...line.split(' '), '--db', 'served.db', '--json'], { cwd, env })
    if (code !== 0) throw new Error(`bands ${line}: ${code}\n${err}`)
    return JSON.parse(out)
  }
  for (const account of [...TIERS, 'spent']) {
    await bands(`accounts create ${account} --tier ${account === 'spent' ? 'free' : account}`)
    const { key, identity } = await bands(`keys create ${account}`)
    known[account] = key
    masks.add(key, `bands_<key of ${account}>`)
    masks.add(identity, `<key of ${account}>`)
    masks.add(`****${key.slice(-4)}`, `****<key of ${account}>`)
  }
  const flat = await serve([bin, 'serve', '--port', '0', '--json', '--db', 'served.db'], { cwd, env })
  const words = [bin, 'serve', '--port', '0', '--json', '--db', 'served.db', '--errors', 'nested']
  const nested = await serve(words, { cwd, env })
  const odd = createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end('<h1>hello</h1>'))
  await new Promise(resolve => odd.listen(0, '127.0.0.1', resolve))
  Object.assign(known, { url: flat.url, nested: nested.url, odd: `http://127.0.0.1:${odd.address().port}` })
  return {
    log: flat.log,
    async close() {
      odd.close()
      await Promise.all([flat.stop(), nested.stop()])
    },
  }
}

async function serve(words, options) {
  const child = start(words, options)
  const ended = new Promise(resolve => child.once('close', resolve))
  let log = ''
  child.stderr.on('data', data => {
    log += data
  })
  const url = await new Promise((resolve, reject) => {
    let told = ''
    child.stdout.on('data', data => {
      told += data
      if (told.endsWith('}\n')) resolve(JSON.parse(told).url)
    })
    void ended.then(() => reject(new Error(`the server has ended: ${log}`)))
  })
  return {
    url,
    log: () => log,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
