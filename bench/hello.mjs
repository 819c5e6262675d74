// The floor of bench/server.mjs: the least that node:http can do, in a process of its own. `node hello.mjs ANSWER.json` sends
// the same status, headers and body to every request.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { status, headers, body } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const server = createServer((_request, response) => {
  response.writeHead(status, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: address() })}\n`))
process.on('SIGTERM', () => process.exit(0))

function address() {
  return `http://127.0.0.1:${server.address().port}`
}
