import type { Options } from 'better-sqlite3'
import { compiledModule, driver } from '../../src/store/sqlite/driver.js'

/** SQLite without bands: what another program, or a fault, does to a file. */
export class Database extends driver() {
  constructor(path: string, options: Options = {}) {
    super(path, { ...options, nativeBinding: compiledModule() as string })
  }
}
