import { openPostgres } from '../../../src/store/postgres/data.js'
import { damageContract, WORLD } from '../../contracts/damage.js'
import { rememberedContract } from '../../contracts/remembered.js'
import { pulledSeries, storeContract } from '../../contracts/store.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { pulledIn } from '../../support/pulled.js'
import { loadedInto } from '../../support/store.js'

describePostgres('the data store on PostgreSQL', () => {
  const cluster = clusterForAll({ fsync: false })

  storeContract('postgres', async () => {
    const url = await cluster.current.createDatabase()
    const open = () => openPostgres(url, { readonly: false })
    return { store: await open(), again: open }
  })

  rememberedContract('postgres', async () => {
    const url = await cluster.current.createDatabase()
    return readonly => openPostgres(url, { readonly })
  })

  let whole: Promise<string> | undefined
  damageContract('postgres', {
    ofFirst: "ticker = 'SIM0001'",
    key: 'ticker',
    withField(path, value) {
      if (value === null) return `(fields::jsonb - '${path[0]}')::text`
      return `jsonb_set(fields::jsonb, '{${path.join(',')}}', '${value}')::text`
    },
    every: 5,
    async edit(sql) {
      whole ??= made()
      const url = await cluster.current.createDatabase(await whole)
      if (sql !== '')
        await cluster.current.sql(`SET search_path = bands_data, public; ${sql}`, new URL(url).pathname.slice(1))
      return url
    },
    open: (url, readonly) => openPostgres(url, { readonly }),
  })

  /** @returns the name of a database that is copied */
  async function made(): Promise<string> {
    const url = await cluster.current.createDatabase()
    const name = new URL(url).pathname.slice(1)
    const store = await openPostgres(url, { readonly: false })
    await loadedInto(store, WORLD)
    await pulledIn(store).put(pulledSeries('AAPL'))
    await store.close()
    await cluster.current.sql(EDITED, name)
    return name
  }
})

const EDITED = `CREATE FUNCTION edited(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
  RETURN set_byte(bytes, 9, get_byte(bytes, 9) # 17)`
