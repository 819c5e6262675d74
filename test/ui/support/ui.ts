import { request } from 'node:http'
import { BandsClient } from '../../../src/app/client.js'
import { namedConditions, openLocal } from '../../../src/app/open/database.js'
import { Answers } from '../../../src/app/ui/answers.js'
import { type RunningUi, startUi } from '../../../src/app/ui/server.js'
import { BUILT_IN_FIELDS } from '../../../src/core/fields/index.js'

/** The page over a database, on a free port. */
export interface Served extends RunningUi {
  bands: BandsClient
  port: number
  /** Faults of the program. */
  faults: unknown[]
}

export async function servedUi(db: string): Promise<Served> {
  const fields = { ...BUILT_IN_FIELDS, conditions: await namedConditions({ db }) }
  const opened = await openLocal({ db, fields })
  const bands = new BandsClient(opened, { path: db, ledger: null })
  const faults: unknown[] = []
  const answers = new Answers(bands, { sample: false, options: { db, ledger: false }, choice: { db }, fields })
  const running = await startUi(answers, { port: 0, onFault: error => faults.push(error) })
  return { ...running, bands, faults, port: Number(new URL(running.url).port) }
}

export interface Reply {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string
}

/** A request with exactly these headers, as no browser sends it. */
export function asked(
  { port }: Served,
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, reply => {
      const parts: Buffer[] = []
      reply.on('data', part => parts.push(part))
      reply.on('end', () =>
        resolve({ status: reply.statusCode!, headers: reply.headers, body: Buffer.concat(parts).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
