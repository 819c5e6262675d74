// A crowd as queues, by discrete events: questions arrive, and wait for the one thread of their server, for a connection and
// for a core of the database; what they cost is written down in batches, one under way for each server. All times in seconds.

/** Numbers that come again with the same seed (mulberry32). */
export function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Ranks from 0, the first asked for most: the chance of rank r falls as (r + 1) ** -power. */
export function zipf(count, power, random) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) sums[i] = sum += (i + 1) ** -power
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** What is to happen, by time. */
class Clock {
  now = 0
  #heap = []

  after(seconds, happen) {
    const heap = this.#heap
    const event = { at: this.now + seconds, happen }
    let i = heap.push(event) - 1
    for (; i > 0 && heap[(i - 1) >> 1].at > event.at; i = (i - 1) >> 1) heap[i] = heap[(i - 1) >> 1]
    heap[i] = event
  }

  run(until) {
    const heap = this.#heap
    while (heap.length > 0 && heap[0].at <= until) {
      const [{ at, happen }] = heap
      const last = heap.pop()
      if (heap.length > 0) {
        let i = 0
        for (let child = 1; child < heap.length; child = 2 * i + 1) {
          if (child + 1 < heap.length && heap[child + 1].at < heap[child].at) child++
          if (heap[child].at >= last.at) break
          heap[i] = heap[child]
          i = child
        }
        heap[i] = last
      }
      this.now = at
      happen()
    }
  }
}

/** So many that serve, and a line before them. */
class Station {
  busy = 0
  #free
  #line = []
  #head = 0

  constructor(clock, count) {
    this.clock = clock
    this.count = count
    this.#free = count
  }

  take(begin) {
    if (this.#free > 0) {
      this.#free--
      begin()
    } else this.#line.push(begin)
  }

  /** @param held for how long it was taken */
  leave(held) {
    this.busy += held
    if (this.#head === this.#line.length) return void this.#free++
    const next = this.#line[this.#head++]
    if (this.#head > 10_000) {
      this.#line = this.#line.slice(this.#head)
      this.#head = 0
    }
    next()
  }
}

/**
 * @param world customers, tickers, series (of each ticker), power (of Zipf's law, of both), kept (answers at each server),
 *   warm (questions that each was asked before), servers, cores (of the database), connections (of a server for data), alone (true: servers, customers and database
 *   share these cores)
 * @param load rate (a second, by chance) or clients (each asks again when it is answered), seconds, and an import: from, tickers
 *   a batch, batches
 * @param times what each step takes (bench/capacity.json)
 */
export function simulated(world, load, times, seed = 1) {
  const random = randomOf(seed)
  const clock = new Clock()
  const cores = new Station(clock, world.cores)
  const [customer, ticker, series] = [
    zipf(world.customers, world.power, random),
    zipf(world.tickers, world.power, random),
    zipf(world.series, world.power, random),
  ]
  const versions = new Uint32Array(world.tickers)
  const locked = new Set()
  const blocked = []
  let importing = false
  const [took, during] = [[], []]
  const counts = { asked: 0, kept: 0, batches: 0, charged: 0 }

  /** A piece of work of a thread, on a core where all share them. */
  const onThread = (thread, seconds, then) =>
    thread.take(() => {
      const start = clock.now
      const run = () =>
        clock.after(seconds, () => {
          if (world.alone) cores.leave(seconds)
          thread.leave(clock.now - start)
          then()
        })
      if (world.alone) cores.take(run)
      else run()
    })
  /** The database's: a core for as long as it computes, and the way there and back. */
  const inDatabase = (seconds, then) =>
    clock.after(times.way, () =>
      cores.take(() =>
        clock.after(seconds, () => {
          cores.leave(seconds)
          then()
        }),
      ),
    )

  const servers = Array.from({ length: world.servers }, () => ({
    thread: new Station(clock, 1),
    connections: new Station(clock, world.connections),
    answers: new Map(),
    waiting: [],
    running: false,
  }))
  const keep = ({ answers }, item, version) => {
    answers.delete(item)
    answers.set(item, version)
    if (answers.size > world.kept) answers.delete(answers.keys().next().value)
  }
  // They have been up for a while.
  for (const server of servers) for (let i = 0; i < world.warm; i++) keep(server, ticker() * world.series + series(), 0)

  const commit = server => {
    const batch = server.waiting
    if (batch.length === 0) {
      server.running = false
      return
    }
    server.running = true
    server.waiting = []
    const accounts = [...new Set(batch.map(({ account }) => account))]
    const write = () => {
      for (const account of accounts) locked.add(account)
      inDatabase(times.commit.database + batch.length * times.charge.database, () =>
        clock.after(times.sync, () => {
          for (const account of accounts) locked.delete(account)
          for (const again of blocked.splice(0)) again()
          counts.batches++
          counts.charged += batch.length
          // What was answered is sent, and the next batch goes.
          for (const { done } of batch) onThread(server.thread, times.send.server, done)
          commit(server)
        }),
      )
    }
    const begin = () => {
      if (accounts.some(account => locked.has(account))) blocked.push(begin)
      else write()
    }
    onThread(server.thread, times.commit.server, begin)
  }

  const ask = answered => {
    const start = clock.now
    const [name, account] = [ticker(), customer()]
    const server = servers[world.byAccount ? account % servers.length : Math.floor(random() * servers.length)]
    const item = name * world.series + series()
    const isSlow = importing
    counts.asked++
    const charge = () => {
      const done = () => {
        took.push(clock.now - start)
        if (isSlow) during.push(clock.now - start)
        answered()
      }
      server.waiting.push({ account, done })
      if (!server.running) commit(server)
    }
    const look = () =>
      inDatabase(times.look.database, () => {
        if (server.answers.get(item) === versions[name]) {
          counts.kept++
          keep(server, item, versions[name])
          // While others write, what is kept is looked at each time.
          if (importing) inDatabase(times.look.database, charge)
          else charge()
        } else
          server.connections.take(() => {
            const from = clock.now
            inDatabase(times.read.database, () => {
              server.connections.leave(clock.now - from)
              keep(server, item, versions[name])
              onThread(server.thread, times.read.server, charge)
            })
          })
      })
    const received = () => onThread(server.thread, times.question.server, look)
    // Whoever asks is on the same cores.
    if (world.alone)
      cores.take(() =>
        clock.after(times.client, () => {
          cores.leave(times.client)
          received()
        }),
      )
    else received()
  }

  if (load.rate !== undefined) {
    const next = () => {
      ask(() => {})
      clock.after(-Math.log(1 - random()) / load.rate, next)
    }
    next()
  } else
    for (let i = 0; i < load.clients; i++) {
      const again = () => ask(again)
      again()
    }
  if (load.import !== undefined) {
    const { from, batch, batches } = load.import
    const written = left => {
      importing = left > 0
      if (left === 0) return
      clock.after(batch * times.import.importer, () =>
        inDatabase(batch * times.import.database, () => {
          for (let i = 0; i < batch; i++) versions[((batches - left) * batch + i) % world.tickers]++
          written(left - 1)
        }),
      )
    }
    clock.after(from, () => written(batches))
  }
  clock.run(load.seconds)
  const share = (values, part) => values.sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN
  return {
    rate: took.length / load.seconds,
    mean: took.reduce((sum, one) => sum + one, 0) / took.length,
    p50: share(took, 0.5),
    p99: share(took, 0.99),
    p99_import: share(during, 0.99),
    unanswered: counts.asked - took.length,
    kept: counts.kept / counts.asked,
    batch: counts.charged / counts.batches,
    server: Math.max(...servers.map(({ thread }) => thread.busy)) / load.seconds,
    database: cores.busy / world.cores / load.seconds,
    connections: Math.max(...servers.map(({ connections }) => connections.busy)) / world.connections / load.seconds,
  }
}
