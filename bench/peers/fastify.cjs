// node fastify.cjs PLACE ROOT EVENTS.csv: the same question by fastify and better-sqlite3, without keys and credits.
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { rowsOf } = require('../rows-of-events.cjs')

const [place, root, events] = process.argv.slice(2)
const fastify = createRequire(join(place, 'x.js'))('fastify')
const find = rowsOf(root, events)
const event = Object.fromEntries(
  Object.keys(find('SIM0001').events[0] ?? {}).map(name => [name, { type: ['string', 'null'] }]),
)
const answer = {
  type: 'object',
  properties: {
    total_occurrences: { type: 'integer' },
    events: { type: 'array', items: { type: 'object', properties: event } },
  },
}
const question = {
  type: 'object',
  required: ['ticker', 'field'],
  properties: { ticker: { type: 'string' }, field: { type: 'string' }, band: { type: 'string' } },
}

const server = fastify()
const schema = { querystring: question, response: { 200: answer } }
server.get('/v1/events', { schema }, async request => find(request.query.ticker))
server.listen({ port: 0, host: '127.0.0.1' }).then(url => process.stdout.write(`${JSON.stringify({ url })}\n`))
process.on('SIGTERM', () => process.exit(0))
