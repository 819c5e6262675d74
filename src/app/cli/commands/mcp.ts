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
    const [{ client }, { serveAssistant }] = await Promise.all([context.openClient(), import('../../mcp/server.js')])
    context.closeAtEnd(client)
    context.omitSourceNotice()
    await context.hint(
      'Waiting for an assistant on standard input. Ctrl-C ends it; bands mcp --help says how to add it.',
    )
    const output = writableOf(text => context.world.out.write(text))
    await serveAssistant(client, new Readable().wrap(context.world.stdin()), output)
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
