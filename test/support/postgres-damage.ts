import { openPostgres } from '../../src/store/postgres/data.js'
import { type Edited, WORLD } from '../contracts/damage.js'
import { pulledSeries } from '../contracts/store.js'
import type { Cluster } from './postgres.js'
import { pulledIn } from './pulled.js'
import { loadedInto } from './store.js'

/** Databases that are damaged by editing their rows. */
interface Ways {
  /** Where they are edited. */
  front: Cluster
  /** A new one. @returns its address */
  made(): Promise<string>
  copy(name: string): Promise<string>
}

/** What the contract about damage needs of a database of PostgreSQL. @param ways as they are once tests run */
export function damagedIn(ways: () => Ways): Edited {
  let whole: Promise<string> | undefined
  const make = async (): Promise<string> => {
    const { front, made } = ways()
    const url = await made()
    const name = new URL(url).pathname.slice(1)
    const store = await openPostgres(url, { readonly: false })
    await loadedInto(store, WORLD)
    await pulledIn(store).put(pulledSeries('AAPL'))
    await store.close()
    await front.sql(EDITED, name)
    return name
  }
  return {
    ofFirst: "ticker = 'SIM0001'",
    key: 'ticker',
    withField(path, value) {
      if (value === null) return `(fields::jsonb - '${path[0]}')::text`
      return `jsonb_set(fields::jsonb, '{${path.join(',')}}', '${value}')::text`
    },
    every: 5,
    async edit(sql) {
      whole ??= make()
      const { front, copy } = ways()
      const url = await copy(await whole)
      if (sql !== '')
        await front.sql(`SET search_path = bands_data, public; ${moving(sql)}`, new URL(url).pathname.slice(1))
      return url
    },
    open: (url, readonly) => openPostgres(url, { readonly }),
  }
}

/** A row of another ticker lies in the partition of that: no server moves it to another by itself. */
function moving(sql: string): string {
  const [, table, ticker, which] = /^UPDATE (\w+) SET ticker = ('\w+') WHERE (.*)$/.exec(sql) ?? []
  if (table === undefined) return sql
  return `CREATE TEMPORARY TABLE moved AS SELECT * FROM ${table} WHERE ${which}; DELETE FROM ${table} WHERE ${which};
    UPDATE moved SET ticker = ${ticker}; INSERT INTO ${table} SELECT * FROM moved`
}

const EDITED = `CREATE FUNCTION edited(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
  RETURN set_byte(bytes, 9, get_byte(bytes, 9) # 17)`
