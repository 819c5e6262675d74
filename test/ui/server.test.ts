import { spawn } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { questionFromSearch, searchFromQuestion } from '../../src/app/ui/client/question.js'
import { forms } from '../../src/app/ui/forms.js'
import { builtText } from '../../src/core/built.js'
import { BIN, expectRefusal, importBundledBars, scratch, typed } from '../cli/support/run.js'
import { asked, type Reply, type Served, servedUi } from './support/ui.js'

/** The server of `bands ui`, without a browser. */

const folder = scratch()
const db = folder.file('bands.db')
let ui: Served
let cookie: string

beforeAll(async () => {
  await importBundledBars(db)
  ui = await servedUi(db)
  const { headers } = await asked(ui, pathOf(ui.url))
  cookie = String(headers['set-cookie']).split(';')[0]!
})
afterAll(async () => {
  await ui.stop()
  folder.remove()
})

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

function post(path: string, params: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const all = { cookie, 'content-type': 'application/json', ...headers }
  return asked(ui, path, {
    method: 'POST',
    headers: all,
    body: typeof params === 'string' ? params : JSON.stringify(params),
  })
}

describe('who is let in', () => {
  test('exchanges the token for a cookie once, and keeps the question of the address', async () => {
    const own = await servedUi(db)
    const first = await asked(own, `${pathOf(own.url)}&ticker=GSPC&band=neutral`)
    expect(first.status).toBe(303)
    expect(first.headers.location).toBe('/?ticker=GSPC&band=neutral')
    const set = String(first.headers['set-cookie'])
    expect(set).toMatch(new RegExp(`^bands_${own.port}=[\\w-]{32}; HttpOnly; SameSite=Strict; Path=/$`))
    expect(set).not.toContain(new URL(own.url).searchParams.get('token'))
    const again = await asked(own, pathOf(own.url))
    expect(again.status).toBe(403)
    expect(again.headers['set-cookie']).toBeUndefined()
    // The browser that has the cookie may open the address again.
    const known = await asked(own, pathOf(own.url), { headers: { cookie: set.split(';')[0]! } })
    expect([known.status, known.headers.location]).toEqual([303, '/'])
    await own.stop()
  })

  test('refuses a request without the cookie, or with another', async () => {
    expect((await asked(ui, '/')).status).toBe(401)
    expect((await asked(ui, '/?token=wrong')).status).toBe(403)
    for (const wrong of ['', 'bands=1', `bands_${ui.port}=`, `${cookie}x`, cookie.replace('bands_', 'x_')]) {
      const reply = await post('/api/tickers', {}, { cookie: wrong })
      expect([reply.status, JSON.parse(reply.body).error]).toEqual([401, 'unauthorized'])
    }
    expect((await asked(ui, '/api/tickers')).status).toBe(401)
  })

  test('refuses every name of this machine but two', async () => {
    for (const host of [`127.0.0.1:${ui.port}`, `localhost:${ui.port}`])
      expect((await asked(ui, '/', { headers: { host, cookie } })).status).toBe(200)
    for (const host of ['evil.example', `evil.example:${ui.port}`, '127.0.0.1', `127.0.0.1:${ui.port + 1}`])
      expect((await asked(ui, '/', { headers: { host, cookie } })).status).toBe(421)
    expect((await post('/api/fields', {}, { host: 'evil.example' })).status).toBe(421)
  })

  test('answers no page but its own', async () => {
    const host = `127.0.0.1:${ui.port}`
    expect(
      (await post('/api/conditions', {}, { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).status,
    ).toBe(200)
    for (const other of [
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ])
      expect((await post('/api/conditions', {}, other)).status).toBe(403)
  })

  test('listens on this machine only', async () => {
    expect(new URL(ui.url).hostname).toBe('127.0.0.1')
  })
})

describe('what is answered', () => {
  test('is the page, with its script and style by hash, below 90 kB', async () => {
    const { status, headers, body } = await asked(ui, '/', { headers: { cookie } })
    expect(status).toBe(200)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'sha256-")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(body).not.toMatch(/<(?:script|link|img|iframe)[^>]* (?:src|href)="(?!data:)/)
    expect(gzipSync(builtText('ui.js') + builtText('ui.css')).length).toBeLessThan(90_000)
  })

  test('is what the functions of the library answer', async () => {
    const questions: readonly [name: string, params: object, answer: unknown][] = [
      ['tickers', {}, await ui.bands.tickers()],
      ['conditions', {}, {}],
      ['history', { ticker: 'AAPL', field: 'rsi_zone' }, await ui.bands.history({ ticker: 'AAPL', field: 'rsi_zone' })],
      ['now', { tickers: ['AAPL'] }, await ui.bands.now({ tickers: ['AAPL'] })],
      ['screen', { when: 'rsi_zone = neutral' }, await ui.bands.screen({ when: 'rsi_zone = neutral' })],
      ['changes', { since: '2018-05-09' }, await ui.bands.changes({ since: '2018-05-09' })],
    ]
    for (const [name, params, answer] of questions) {
      const reply = await post(`/api/${name}`, params)
      expect(reply.status, reply.body).toBe(200)
      expect(JSON.parse(reply.body), name).toEqual(JSON.parse(JSON.stringify(answer)))
    }
    const bars = JSON.parse((await post('/api/bars', { tickers: ['AAPL'] })).body)
    expect(bars.at(-1)).toMatchObject({ ticker: 'AAPL', date: '2018-05-11' })
  })

  test('is a tally drawn as a report draws it', async () => {
    const { body } = await post('/draw/tally', { tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold' })
    expect(body).toContain('Too few: 20 days later up in 60%')
    expect(body).toContain('class="forest short stacked"')
    expect(body).not.toMatch(/ style=|<script/)
  })

  test('is a report page, in a sandbox of its own', async () => {
    const params = { tickers: ['AAPL'], field: 'rsi_zone', band: 'oversold', hold: '20', reps: 99 }
    const made = await post('/report/backtest', params)
    const { page } = JSON.parse(made.body)
    expect(page).toMatch(/^\/report\/\d+$/)
    const { status, headers, body } = await asked(ui, page, { headers: { cookie } })
    expect(status).toBe(200)
    expect(headers['content-security-policy']).toBe("sandbox allow-scripts allow-downloads; frame-ancestors 'self'")
    expect(body).toContain('on the page: backtest, AAPL, field rsi_zone')
    expect(body).toContain('id="result"')
    expect((await asked(ui, page)).status).toBe(401)
    expect((await asked(ui, '/report/99', { headers: { cookie } })).status).toBe(404)
    expect((await post('/report/screen', {})).status).toBe(404)
    const found = JSON.parse((await post('/api/backtest', params)).body)
    expect(found).toEqual(JSON.parse(JSON.stringify(await ui.bands.backtest(params as never))))
  })

  test('stops a long question, and answers the next', async () => {
    const long = post('/report/sweep', { tickers: ['AAPL', 'GSPC'], field: 'all', resamples: 1_000_000 })
    await new Promise(resolve => setTimeout(resolve, 300))
    expect((await post('/stop', {})).status).toBe(200)
    const { status, body } = await long
    expect([status, JSON.parse(body)]).toEqual([503, expect.objectContaining({ error: 'busy' })])
    expect((await post('/report/study', { tickers: ['AAPL'], field: 'rsi_zone', reps: 99 })).status).toBe(200)
  })

  test('keeps watch lists and named conditions as the commands do', async () => {
    const changed = async (action: string, params: object) => {
      const { status, body } = await post(`/lists/${action}`, params)
      return [status, JSON.parse(body)]
    }
    const tech = { name: 'tech', condition: null, tickers: ['AAPL', 'GSPC'] }
    expect(await changed('add', { name: 'tech', tickers: ['aapl', 'GSPC'] })).toEqual([200, tech])
    expect(JSON.parse((await typed(`watch show tech --json --db ${db}`)).out)).toMatchObject({ tickers: tech.tickers })
    const dip = { name: 'dip', condition: 'rsi_zone = oversold', meaning: 'rsi_zone = oversold' }
    expect(await changed('add_condition', { name: '@Dip', condition: 'rsi_zone=oversold' })).toEqual([200, dip])
    expect((await post('/api/screen', { when: '@dip' })).status).toBe(200)
    expect((await changed('all', {}))[1].map((list: { name: string }) => list.name)).toEqual(['dip', 'tech'])
    expect(await changed('remove', { name: 'tech', tickers: ['GSPC'] })).toEqual([200, { ...tech, tickers: ['AAPL'] }])
    expect(await changed('remove', { name: 'tech' })).toEqual([200, null])
    expect(await changed('remove_condition', { name: '@dip' })).toEqual([200, { name: 'dip', users: [] }])
    for (const [action, params, says] of [
      ['add', { name: '1', tickers: ['AAPL'] }, 'name'],
      ['add', { name: 'x', tickers: ['<img>'] }, 'ticker'],
      ['add', { nam: 'x' }, 'nam'],
      ['add_condition', { name: 'x', condition: 'rsi_zoen = oversold' }, 'rsi_zone'],
      ['remove', { name: 'none' }, 'none'],
    ] as const)
      expect((await changed(action, params))[1].message, action).toContain(says)
    expect((await changed('add', { name: '1', tickers: ['AAPL'] }))[0]).toBe(400)
    expect((await changed('drop', {}))[0]).toBe(404)
  })

  test('has a field in a form for each parameter', () => {
    for (const { name, first, others } of forms()) {
      const names = [...first, ...others].map(field => field.name)
      expect(new Set(names).size, name).toBe(names.length)
      expect(names.length, name).toBeGreaterThan(5)
      for (const { help } of [...first, ...others]) expect(help).not.toContain('--')
    }
    expect(forms().map(({ name }) => name)).toEqual(['study', 'backtest', 'grid', 'compare', 'sweep'])
  })

  test('is a refusal with its sentence', async () => {
    const refusals: readonly [path: string, params: unknown, status: number, says: string][] = [
      ['/api/screen', { when: 'rsi_zoen = oversold' }, 400, 'rsi_zone'],
      ['/api/history', { ticker: '<img onerror=alert(1)>', field: 'rsi_zone' }, 400, 'ticker'],
      ['/api/now', { tickers: ['NOSUCH'] }, 404, 'NOSUCH'],
      ['/api/now', '[]', 400, 'params'],
      ['/api/now', 'x', 400, 'JSON'],
      ['/api/close', {}, 404, 'nothing'],
      ['/api/__proto__', {}, 404, 'nothing'],
      ['/nowhere', {}, 404, 'nothing'],
    ]
    for (const [path, params, status, says] of refusals) {
      const reply = await post(path, params)
      expect([reply.status, JSON.parse(reply.body).message], path).toEqual([status, expect.stringContaining(says)])
    }
    const text = await post('/api/now', {}, { 'content-type': 'text/plain' })
    expect([text.status, JSON.parse(text.body).message]).toEqual([400, expect.stringContaining('is a JSON object')])
    const long = await post('/api/now', `{"x":"${'x'.repeat(1_000_001)}"}`)
    expect([long.status, JSON.parse(long.body).message]).toEqual([400, expect.stringContaining('at most 1000000')])
    expect((await asked(ui, '/', { method: 'PUT', headers: { cookie } })).status).toBe(405)
    expect(ui.faults).toEqual([])
  })
})

test('the address holds the question, without what is usual', () => {
  expect(searchFromQuestion(questionFromSearch(''))).toBe('')
  const asked = { ...questionFromSearch('?ticker=GSPC&tab=now&field='), when: 'a & b = "c"' }
  expect(asked).toMatchObject({ ticker: 'GSPC', tab: 'now', field: '', band: 'oversold' })
  expect(questionFromSearch(searchFromQuestion(asked))).toEqual(asked)
  expect(questionFromSearch('?tab=__proto__&date=x').tab).toBe('matches')
})

describe('bands ui', () => {
  test('prints the address alone, and ends in a clean way at Ctrl-C', async () => {
    const words = [BIN, 'ui', '--port', '0', '--no-open', '--db', db]
    const child = spawn(process.execPath, words, { env: { PATH: process.env.PATH, HOME: folder.path } })
    const said = { out: '', err: '' }
    child.stdout.on('data', part => {
      said.out += part
    })
    child.stderr.on('data', part => {
      said.err += part
    })
    const ended = new Promise(resolve => child.on('close', (code, signal) => resolve([code, signal])))
    await expect.poll(() => said.err).toContain('Ctrl-C ends the page')
    child.kill('SIGINT')
    expect(await ended).toEqual([0, null])
    expect(said.out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}\n$/)
  })

  test('names a line that works when the port is taken', async () => {
    const refused = await typed(`ui --port ${ui.port} --no-open --db ${db}`)
    expectRefusal(refused, 6, `port ${ui.port} is in use`)
    expect(refused.err).toContain('bands ui --port 0')
  })

  test('refuses a server, and a database that is not there', async () => {
    expectRefusal(await typed('ui --remote https://api.example.com', { env: { BANDS_DB: db } }), 2, '--remote')
    expectRefusal(await typed('ui --db /nowhere/x.db'), 3, 'there is no database at /nowhere/x.db')
  })
})
