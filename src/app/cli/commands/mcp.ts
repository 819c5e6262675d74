import { Readable, Writable } from 'node:stream'
import type { Command } from '../command.js'

const mcp: Command = {
  outputs: [],
  examples: ['bands mcp', 'bands mcp --db my.db --as-of 2018-02-08'],
  notes: [
    'An assistant starts it, and asks on standard input. Most hosts want: { "mcpServers": { "bands": { "command": "bands", "args": ["mcp"] } } }. docs/assistant.md has the hosts.',
    'It reads the database and never changes it. A study and a backtest count in the trial log.',
  ],
  async run(context) {
    context.refuseRemote()
    const { config, world, fields } = context
    const [{ CACHE_BYTES, openLocal }, { BandsClient }, { serveAssistant }] = await Promise.all([
      import('../../open/database.js'),
      import('../../client.js'),
      import('../../mcp/server.js'),
    ])
    const view = { tier: config.tier, asOf: config.as_of, threads: config.threads, now: () => world.now() }
    const opened = await openLocal({ ...context.choice, ...view, fields, cacheBytes: CACHE_BYTES })
    const { path, sample } = opened
    const bands = new BandsClient(opened, { path, sample, tier: config.tier, ledger: context.choice })
    context.closeAtEnd(bands)
    context.omitSourceNotice()
    await serveAssistant(
      bands,
      new Readable().wrap(world.stdin()),
      writableOf(text => world.out.write(text)),
    )
  },
}

/** A Writable that hands each chunk to a function, and waits for it. */
function writableOf(write: (text: string) => Promise<void>): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      write(String(chunk)).then(() => done(), done)
    },
  })
}

export const commands = { mcp }
