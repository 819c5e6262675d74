// The floor of bench/server.mjs: the least that node:http can do, in a process of its own.
import { createServer } from 'node:http'

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '17' })
  response.end('{"hello":"world"}')
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: address() })}\n`))
process.on('SIGTERM', () => process.exit(0))

function address() {
  return `http://127.0.0.1:${server.address().port}`
}
