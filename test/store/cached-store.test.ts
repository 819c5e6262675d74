import { join } from 'node:path'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { rememberedContract } from '../contracts/remembered.js'
import { temporaryFolder } from '../support/store.js'

rememberedContract('sqlite', async () => {
  const path = join(temporaryFolder(), 'bands.db')
  return async readonly => openSqlite(path, { readonly })
})
