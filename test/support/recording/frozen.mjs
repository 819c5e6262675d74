/**
 * Loaded before the program (`node --import`): the time of day stands still, so that dates of import, of keys and of
 * requests are the same in every recording. Timers and `performance` go on.
 */
import { ServerResponse } from 'node:http'

const MOMENT = Date.UTC(2026, 5, 12, 10, 20, 30, 456)

globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [MOMENT] : given, made),
  apply: target => new target(MOMENT).toString(),
  get: (target, name, receiver) => (name === 'now' ? () => MOMENT : Reflect.get(target, name, receiver)),
})

// node's own header of an answer goes by a clock of its own.
const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function frozenHead(...given) {
  if (this.sendDate && !this.hasHeader('Date')) this.setHeader('Date', new Date(MOMENT).toUTCString())
  return writeHead.apply(this, given)
}
