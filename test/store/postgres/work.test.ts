import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type JobImporter, openForJob, openQueue } from '../../../src/open/queue.js'
import { openPostgres } from '../../../src/store/postgres/data.js'
import type { HeldJob, Queue } from '../../../src/store/postgres/queue.js'
import { BARS, expectRefusal, type Lent, type Ran, typed } from '../../cli/support/run.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { derivedIn, temporaryFolder } from '../../support/store.js'

describePostgres('a queue', () => {
  const cluster = clusterForAll({ fsync: false })
  let url = ''
  beforeAll(async () => {
    url = await cluster.current.createDatabase()
  })
  const home = temporaryHome()
  const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
    typed(`${line} --db ${url}`, { ...lent, env: { HOME: home } })
  const json = async (line: string) => {
    const { code, out, err } = await ask(`${line} --json --quiet`)
    expect([code, err]).toEqual([0, ''])
    return JSON.parse(out)
  }
  const put = async (line: string): Promise<string> => (await json(`${line} --queue`)).jobs[0].id

  it('is asked for nothing in a file, and is told of where there is none', async () => {
    const file = join(temporaryFolder(), 'bands.db')
    for (const line of [
      'work',
      'work list',
      'work retry 1',
      'work cancel 1',
      'work result 1',
      `import ${BARS} --queue`,
    ])
      expectRefusal(await typed(`${line} --db ${file}`), 2, 'work is spread by a database in PostgreSQL')
    expectRefusal(await ask('work lst'), 2, 'Did you mean "list"')
    expectRefusal(await ask('work list'), 3, 'there is no queue at')
  })

  it('has an import done, a job a file, with the rows and the report of one that is typed', async () => {
    const there = await cluster.current.createDatabase()
    await typed(`import ${BARS} --db ${there}`)
    const { jobs } = await json(`import ${BARS} --queue`)
    expect(jobs.length).toBeGreaterThan(1)
    expect(await json('work list')).toMatchObject({ counts: { waiting: jobs.length, done: 0 } })
    expect(await json('work --until-empty')).toMatchObject({ done: jobs.length, failed: 0, given_back: 0 })
    expect(await derivedIn(url)).toEqual(await derivedIn(there))
    const aapl = jobs.find(({ job }: { job: string }) => job.endsWith('AAPL.csv'))
    const answer = JSON.parse((await ask(`work result ${aapl.id.slice(0, 8)}`)).out)
    expect(answer).toMatchObject({
      schema: 'bands.import/1',
      files: [{ holds: 'bars', tickers: [{ ticker: 'AAPL' }] }],
    })
  })

  it('keeps the answer of a sweep as it is printed, to the byte', async () => {
    const line = 'sweep AAPL --fields rsi_zone --horizon 5 --resamples 99 --reps 99'
    const id = await put(line)
    expect(await json('work --until-empty --jobs 2')).toMatchObject({ done: 1 })
    const printed = await ask(`${line} --json`)
    expect(withoutTrials((await ask(`work result ${id}`)).out)).toBe(withoutTrials(printed.out))
  })

  it('does not begin a job again whose file is bad, and says why in a sentence', async () => {
    const bad = join(temporaryFolder(), 'bad.csv')
    writeFileSync(bad, 'date,open,high,low,close,volume\n2020-01-02,1,2,3,4,5\n')
    const id = await put(`import ${bad}`)
    expect(await ask('work --until-empty --json')).toMatchObject({
      code: 5,
      out: expect.stringContaining('"failed":1'),
    })
    const { jobs } = await json('work list --state failed')
    expect(jobs).toEqual([
      expect.objectContaining({ id, state: 'failed', tries: 1, error: expect.stringContaining('bad.csv:2') }),
    ])
    expectRefusal(await ask(`work result ${id}`), 3, 'has no answer')
    writeFileSync(bad, 'date,open,high,low,close,volume\n2020-01-02,3,4,2,3,5\n')
    expect(await json(`work retry ${id}`)).toMatchObject({ id, state: 'waiting' })
    expect(await json('work --until-empty')).toMatchObject({ done: 1 })
    expect(await json('work list --state failed')).toMatchObject({ jobs: [] })
  })

  it('leaves bad rows in the answer, and writes no file beside it', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'odd.csv')
    writeFileSync(file, 'date,open,high,low,close,volume\n2020-01-02,3,4,2,3,5\n2020-01-03,1,2,3,4,5\n')
    const id = await put(`import ${file} --skip-bad-rows`)
    await json('work --until-empty')
    const { files } = JSON.parse((await ask(`work result ${id}`)).out)
    expect(files).toMatchObject([{ rejected: [{ line: 3 }], rejects: null }])
    expectRefusal(await ask(`import ${file} --queue --skip-bad-rows --rejects out.csv`), 2, '--rejects names a file')
    expectRefusal(await ask('import - --queue'), 2, 'standard input')
    expectRefusal(await ask('sweep AAPL --queue --cells cells.csv'), 2, '--cells names a file')
  })

  it('has a job cancelled that waits, and done after all', async () => {
    const id = await put('rebuild')
    expect(await json(`work cancel ${id.slice(0, 13)}`)).toMatchObject({ state: 'cancelled' })
    expect(await json('work --until-empty')).toMatchObject({ done: 0 })
    expectRefusal(await ask(`work cancel ${id}`), 2, 'is cancelled, and stays so')
    await json(`work retry ${id}`)
    expect(await json('work --until-empty')).toMatchObject({ done: 1 })
    expectRefusal(await ask(`work retry ${id}`), 2, 'is done, and stays so')
    expectRefusal(await ask('work retry nosuch'), 3, 'there is no job')
    expect(JSON.parse((await ask(`work result ${id}`)).out)).toMatchObject({ schema: 'bands.rebuild/1' })
  })

  it('settles once what stands on facts of several, after all who have written', async () => {
    const [one, there] = [await cluster.current.createDatabase(), await cluster.current.createDatabase()]
    const folder = temporaryFolder()
    const { out } = await typed(`simulate 6 --bars 600 --seed 3 --facts ${folder}`)
    const [header, ...rows] = out.trimEnd().split('\n')
    for (const ticker of new Set(rows.map(row => row.split(',')[0]!)))
      writeFileSync(
        join(folder, `${ticker}.csv`),
        [header, ...rows.filter(row => row.startsWith(`${ticker},`))].join('\n'),
      )
    expect((await typed(`import ${folder} --db ${there}`)).code).toBe(0)
    await typed(`import ${folder} --queue --db ${one}`)
    await typed(`work --until-empty --jobs 3 --db ${one}`)
    const { jobs, counts } = JSON.parse((await typed(`work list --json --db ${one}`)).out)
    expect(counts).toMatchObject({ waiting: 0, running: 0, failed: 0 })
    expect(jobs.filter(({ job }: { job: string }) => job === 'settle').length).toBeGreaterThan(0)
    expect(await derivedIn(one)).toEqual(await derivedIn(there))
  })

  it('has a job begin again, alone, whose ticker another has written since it began', async () => {
    const own = await cluster.current.createDatabase()
    const folder = temporaryFolder()
    const lines = readFileSync(join(BARS, 'AAPL.csv'), 'utf8').trimEnd().split('\n')
    const file = (name: string, from: number, to: number): string => {
      writeFileSync(join(folder, name), [lines[0], ...lines.slice(from, to)].join('\n'))
      return join(folder, name)
    }
    const files = [file('a.csv', 1, 700), file('b.csv', 700, lines.length)]
    await typed(`import ${files.join(' ')} --queue --ticker AAPL --db ${own}`)
    const queue = await openQueue({ db: own, env: {} }, { sessions: 2 })
    const writer = { pid: process.pid, host: 'here', started: '' }
    const [one, other] = [(await queue.take(writer))!, (await queue.take(writer))!]
    const open = (job: HeldJob, alone = false) => openForJob({ db: own, env: {} }, job, writer, { alone, threads: 1 })
    const load = async ({ importer, end }: JobImporter, job: HeldJob): Promise<void> => {
      const path = String(job.task.args.flat()[0])
      for await (const report of importer.import([{ name: path, path, bytes: null }], { ticker: 'AAPL' }))
        expect(report.holds).toBe('bars')
      await end(tx => job.complete(tx, '{}')).finally(() => importer.close())
    }
    const [first, second] = [await open(one), await open(other)]
    await load(second, other)
    await expect(load(first, one)).rejects.toThrow('AAPL was written by another job meanwhile')
    await load(await open(one, true), one)
    expect(await queue.counts()).toMatchObject({ done: 2, running: 0 })
    for (const close of [one, other, queue]) await close.close()
    const there = await cluster.current.createDatabase()
    await typed(`import ${files.join(' ')} --ticker AAPL --db ${there}`)
    expect(await derivedIn(own)).toMatchObject({ derived: (await derivedIn(there)).derived, damage: [] })
  })

  it('writes nothing by a worker that has lost its job', async () => {
    const own = await cluster.current.createDatabase()
    await typed(`import ${BARS}/AAPL.csv --queue --db ${own}`)
    const queue = await openQueue({ db: own, env: {} }, { sessions: 2 })
    const writer = { pid: process.pid, host: 'here', started: '' }
    const job = (await queue.take(writer))!
    const { importer, end } = await openForJob({ db: own, env: {} }, job, writer, { alone: false, threads: 1 })
    const path = join(BARS, 'AAPL.csv')
    for await (const { file } of importer.import([{ name: path, path, bytes: null }])) expect(file).toBe(path)
    await cluster.current.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1",
    )
    expect(await untilGivenBack(queue)).toBe(1)
    await expect(end(tx => job.complete(tx, '{}'))).rejects.toThrow()
    await importer.close().catch(() => {})
    await job.close()
    expect(await queue.counts()).toMatchObject({ waiting: 1, done: 0 })
    await queue.close()
    expect(await derivedIn(own)).toMatchObject({ tickers: [] })
  })

  it('writes nothing more of a job that is cancelled while it is under way', async () => {
    const own = await cluster.current.createDatabase()
    await typed(`import ${BARS}/AAPL.csv --queue --db ${own}`)
    const queue = await openQueue({ db: own, env: {} }, { sessions: 1 })
    const job = (await queue.take({ pid: process.pid, host: 'here', started: '' }))!
    expect(await queue.jobs({ state: 'running', limit: 9 })).toMatchObject([
      { id: job.id, tries: 1, worker: { host: 'here' } },
    ])
    expect(await queue.cancel(await queue.job(job.id.slice(0, 8)))).toBe(true)
    await expect(job.transaction(tx => job.complete(tx, '{}'))).rejects.toThrow()
    await job.close()
    expect(await queue.giveBack()).toBe(0)
    expect(await queue.counts()).toMatchObject({ cancelled: 1, running: 0, waiting: 0 })
    await queue.close()
  })

  it('goes past a job that its worker before has not let go of, and counts no try that waited for others', async () => {
    const own = await cluster.current.createDatabase()
    const name = own.split('/').at(-1)!
    await typed(`import ${BARS}/AAPL.csv ${BARS}/GSPC.csv --queue --db ${own}`)
    const queue = await openQueue({ db: own, env: {} }, { sessions: 3 })
    const writer = { pid: process.pid, host: 'here', started: '' }
    const job = (await queue.take(writer))!
    // As by another role, which may not end the session of the worker.
    await cluster.current.sql(`UPDATE bands_queue.job SET state = 'cancelled' WHERE id = '${job.id}'`, name)
    await expect(job.transaction(async () => {})).rejects.toThrow('was cancelled')
    expect(await queue.retry(await queue.job(job.id))).toBe(true)
    expect(await queue.take(writer)).toBeNull()
    const other = (await queue.take(writer))!
    expect(other.id).not.toBe(job.id)
    await other.transaction(tx => other.fail(tx, { error: 'waits for an import', again: 'uncounted' }))
    expect(await queue.job(other.id)).toMatchObject({ state: 'waiting', tries: 0, error: 'waits for an import' })
    await job.close()
    await other.close()
    await cluster.current.sql('UPDATE bands_queue.job SET start_after = now()', name)
    expect(JSON.parse((await typed(`work --until-empty --json --db ${own}`)).out)).toMatchObject({ done: 2, failed: 0 })
    expect(await queue.job(other.id)).toMatchObject({ state: 'done', tries: 1 })
    await queue.close()
  })

  it('says why the last of a job could not be written', async () => {
    const own = await cluster.current.createDatabase()
    const name = own.split('/').at(-1)!
    await typed(`import ${BARS}/GSPC.csv --db ${own}`)
    await typed(`import ${BARS}/AAPL.csv --queue --db ${own}`)
    await cluster.current.sql(
      `UPDATE bands_queue.job SET retry_limit = 0;
      CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER no_room BEFORE INSERT ON bands_data.tickers FOR EACH ROW EXECUTE FUNCTION no_room()`,
      name,
    )
    await typed(`work --until-empty --db ${own}`)
    const { jobs } = JSON.parse((await typed(`work list --json --db ${own}`)).out)
    expect(jobs).toMatchObject([
      { state: 'failed', tries: 1, error: expect.stringContaining('has no room left on its disk') },
    ])
    await cluster.current.sql('DROP TRIGGER no_room ON bands_data.tickers', name)
    await typed(`work retry ${jobs[0].id} --db ${own}`)
    expect(JSON.parse((await typed(`work --until-empty --json --db ${own}`)).out)).toMatchObject({ done: 1, failed: 0 })
  })

  it('does a job however often its database was away, and counts no try of it', async () => {
    const own = await cluster.current.createDatabase()
    const name = own.split('/').at(-1)!
    await typed(`import ${BARS}/GSPC.csv --db ${own}`)
    await typed(`import ${BARS}/AAPL.csv --queue --db ${own}`)
    await cluster.current.sql(
      `UPDATE bands_queue.job SET retry_limit = 0, retry_delay = 0;
      CREATE SEQUENCE times;
      CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('times') < 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER cut_off BEFORE INSERT ON bands_data.tickers FOR EACH ROW EXECUTE FUNCTION cut_off()`,
      name,
    )
    expect(JSON.parse((await typed(`work --until-empty --json --db ${own}`)).out)).toMatchObject({
      ...{ done: 1, failed: 0, given_back: 2 },
    })
    const { jobs } = JSON.parse((await typed(`work list --json --db ${own}`)).out)
    expect(jobs).toMatchObject([{ state: 'done', tries: 1 }])
  })

  it('is counted for a server: what waits, nothing where there is none, and none for whoever may not look', async () => {
    const [own, none] = [await cluster.current.createDatabase(), await cluster.current.createDatabase()]
    await typed(`import ${BARS}/AAPL.csv --db ${own}`)
    await typed(`import ${BARS}/AAPL.csv --db ${none}`)
    await typed(`import ${BARS} --queue --db ${own}`)
    const [name] = own.split('/').slice(-1)
    await cluster.current.sql(
      'CREATE ROLE asking LOGIN; GRANT USAGE ON SCHEMA bands_data TO asking; GRANT SELECT ON ALL TABLES IN SCHEMA bands_data TO asking',
      name,
    )
    const queued = async (url: string) => {
      const store = await openPostgres(url, { readonly: true })
      return store.engine!.queued().finally(() => store.close())
    }
    expect(await queued(own)).toMatchObject({ jobs: { waiting: 2, running: 0, done: 0 }, oldest: expect.any(Number) })
    expect(await queued(none)).toEqual({
      jobs: { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 },
      oldest: 0,
    })
    const asking = own.replace('bands@', 'asking@')
    expect(await queued(asking)).toBeNull()
    expectRefusal(await typed(`work list --db ${asking}`), 6, 'does not let this user do that')
    await cluster.current.sql(
      'GRANT USAGE ON SCHEMA bands_queue TO asking; GRANT SELECT ON ALL TABLES IN SCHEMA bands_queue TO asking',
      name,
    )
    expect(await queued(asking)).toMatchObject({ jobs: { waiting: 2 } })
    expect((await typed(`work list --json --db ${asking}`)).code).toBe(0)
    expectRefusal(await typed(`work --until-empty --db ${asking}`), 6, 'does not let this user do that')
  })

  it('ends with a signal, after the job that is under way', async () => {
    expect(await ask('work --json', { signal: 'SIGTERM' })).toMatchObject({
      code: 0,
      out: expect.stringContaining('"done":0'),
    })
  })
})

/** The ledger of trials lies there. */
function temporaryHome(): string {
  const path = mkdtempSync(join(tmpdir(), 'bands-'))
  afterAll(() => rmSync(path, { recursive: true }))
  return path
}

/** A session that is ended may take a moment. */
async function untilGivenBack(queue: Queue): Promise<number> {
  for (;;) {
    const lost = await queue.giveBack()
    if (lost > 0) return lost
    await sleep(20)
  }
}

/** The ledger counts every look. */
function withoutTrials(document: string): string {
  return document.replace(/"trials":\{[^}]*\}/, '')
}
