import { sqliteDriver } from '../../src/data/store/sqlite/connection.js'

/** SQLite without bands: what another program, or a fault, does to a file. */
export class Database extends sqliteDriver() {}
