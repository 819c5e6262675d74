import { expect, it, onTestFinished } from 'vitest'
import { Database } from '../support/database.js'
import { serve, simulatedGround } from '../support/serve.js'

it('a damaged ticker costs nothing and is named in the log, and all others are answered', async () => {
  const ground = await simulatedGround()
  onTestFinished(() => ground.remove())
  const db = new Database(ground.db)
  db.exec("UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'")
  db.exec(
    "DELETE FROM chunks WHERE part = 'events' AND timeframe = 'daily' AND ticker_id = (SELECT id FROM tickers WHERE ticker = 'SIM0002')",
  )
  db.close()
  const server = await serve(ground)
  onTestFinished(() => server.stop())
  const { key, id } = await server.account('alice', 'pro')
  const of = (ticker: string, timeframe = 'daily') =>
    server.get(`/v1/events?ticker=${ticker}&field=rsi_zone&timeframe=${timeframe}`, key)
  for (const path of ['SIM0001', 'SIM0002']) {
    const refused = await of(path)
    expect([refused.status, refused.headers['x-requests-used']]).toEqual([503, '0'])
    expect(refused.text).not.toContain(ground.db)
  }
  expect((await server.get('/v1/scan/oversold', key)).status).toBe(503)
  expect((await server.accounts.usedCredits(id, Date.now())).day).toBe(0)
  expect((await of('SIM0003')).status).toBe(200)
  expect((await of('SIM0002', 'weekly')).status).toBe(200)
  expect((await server.get('/readyz')).status).toBe(200)
  expect(server.logged()).toContain('SIM0001: what is said of it (dates, prices, source) is not what was written')
  expect(server.logged()).toContain('SIM0002: its daily events are missing')
})
