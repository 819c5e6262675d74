import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBResult, DuckDBType, DuckDBValue, DuckDBValueConverter } from '@duckdb/node-api'
import { BandsError, ConfigError, suggest, wrong } from '../../core/errors.js'
import { isMapping } from '../../core/params/arguments.js'
import type { Row } from './formats.js'
import { type FolderView, sqlList } from './manifest.js'

/** DuckDB of the user's own: an optional package, looked for at run time. It reads only the named files. */

type DuckDb = typeof import('@duckdb/node-api')

const PACKAGE = '@duckdb/node-api'

/** One column of an answer; `type` is DuckDB's name. */
export interface SqlColumn {
  name: string
  type: string
}

export interface SqlAnswer {
  columns: (SqlColumn & { isNumber: boolean })[]
  /** The rows as they come; each block counts its rows before it makes them. */
  blocks: AsyncIterable<{ count: number; rows(): Row[] }>
}

/** Loads the DuckDB installed with bands, otherwise that of the working folder. Throws ConfigError if none starts. */
function loadDuckDb(): DuckDb {
  const program = import.meta.dirname
  const folder = process.cwd()
  for (const from of [program, folder]) {
    try {
      const anyFileThere = join(from, 'x.js')
      return createRequire(anyFileThere)(PACKAGE) as DuckDb
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${PACKAGE}'`))
        throw new ConfigError(`DuckDB is installed, and does not start: ${message}`, { cause })
    }
  }
  const isGlobal = /[\\/]lib[\\/]node_modules[\\/]bands[\\/]/.test(program)
  throw new ConfigError(
    `bands sql needs DuckDB, an optional package that is not installed; this line installs it:\n  npm install ${isGlobal ? '--global ' : ''}${PACKAGE}`,
  )
}

/** Settings for a database in memory that loads no extensions, keeps no secrets and writes no files. */
const SAFE_SETTINGS = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_persistent_secrets: 'false',
  temp_directory: '',
  errors_as_json: 'true',
}

/** An open database in memory. */
export class SqlSession {
  readonly #duckDb: DuckDb
  readonly #connection: DuckDBConnection
  readonly #closeAll: () => void

  private constructor(duckDb: DuckDb, connection: DuckDBConnection, closeAll: () => void) {
    this.#duckDb = duckDb
    this.#connection = connection
    this.#closeAll = closeAll
  }

  /** Opens a database. Throws ConfigError without DuckDB. @param threads undefined for the number of cores */
  static async open(threads: number | undefined): Promise<SqlSession> {
    const duckDb = loadDuckDb()
    const settings = threads === undefined ? SAFE_SETTINGS : { ...SAFE_SETTINGS, threads: String(threads) }
    const instance = await duckDb.DuckDBInstance.create(':memory:', settings)
    const connection = await instance.connect()
    return new SqlSession(duckDb, connection, () => {
      connection.closeSync()
      instance.closeSync()
    })
  }

  /** Makes the views, and locks out every file that they do not read. */
  async addViews(views: readonly FolderView[]): Promise<void> {
    for (const { view } of views) await this.#connection.run(view)
    for (const setting of [
      `allowed_paths = ${sqlList(views.flatMap(({ files }) => files))}`,
      'enable_external_access = false',
      'lock_configuration = true',
    ])
      await this.#connection.run(`SET ${setting}`)
  }

  /** Runs a query. Throws InvalidParameter, with the position in it. @param tables the views, for a misspelt name */
  async query(sql: string, tables: readonly string[]): Promise<SqlAnswer> {
    const result = await this.#run(sql).catch(cause => {
      throw queryError(sql, cause, tables)
    })
    const names = result.deduplicatedColumnNames()
    const types = result.columnTypes()
    const { integerIds, realIds } = this.#numberTypes()
    const columns = types.map((type, i) => ({
      name: names[i]!,
      type: String(type),
      isNumber: integerIds.has(type.typeId) || realIds.has(type.typeId),
    }))
    return { columns, blocks: this.#readBlocks(sql, result, names, types) }
  }

  interrupt(): void {
    this.#connection.interrupt()
  }

  async close(): Promise<void> {
    this.#closeAll()
  }

  /** Runs one statement that only reads; PIVOT may first make a type in memory. Throws InvalidParameter for others. */
  async #run(sql: string): Promise<DuckDBResult> {
    const { StatementType } = this.#duckDb
    if (sql.replace(/--.*$|[\s;]/gm, '') === '') throw wrong('query', 'query is empty.')
    const statements = await this.#connection.extractStatements(sql)
    for (let i = 0; ; i++) {
      const statement = await statements.prepare(i)
      const isLast = i === statements.count - 1
      const { statementType } = statement
      if (!isLast && statementType !== StatementType.CREATE) throw wrong('query', 'query is more than one statement.')
      if (isLast && statementType !== StatementType.SELECT)
        throw wrong(
          'query',
          `query only reads: it is one SELECT, DESCRIBE, SUMMARIZE, PIVOT or SHOW TABLES, and no ${StatementType[statementType]}.`,
        )
      const result = await statement.stream()
      if (isLast) return result
    }
  }

  /** Yields the rows of a result in the blocks of DuckDB. Throws InvalidParameter for an error in the query. */
  async *#readBlocks(sql: string, result: DuckDBResult, names: readonly string[], types: readonly DuckDBType[]) {
    const convert = this.#converter()
    for (;;) {
      const chunk = await result.fetchChunk().catch(cause => {
        throw queryError(sql, cause, [])
      })
      if (chunk === null || chunk.rowCount === 0) return
      const rows = (): Row[] =>
        chunk
          .getRows()
          .map(row => Object.fromEntries(row.map((value, i) => [names[i]!, convert(value, types[i]!, convert)])))
      yield { count: chunk.rowCount, rows }
    }
  }

  /** The ids of DuckDB's number types: whole numbers, and all others. */
  #numberTypes() {
    const { DuckDBTypeId: id } = this.#duckDb
    const integerIds = new Set([
      ...[id.TINYINT, id.SMALLINT, id.INTEGER, id.BIGINT, id.HUGEINT],
      ...[id.UTINYINT, id.USMALLINT, id.UINTEGER, id.UBIGINT, id.UHUGEINT],
    ])
    return { integerIds, realIds: new Set([id.FLOAT, id.DOUBLE, id.DECIMAL]) }
  }

  /** Converts values of DuckDB to JSON: a number that is not finite becomes null, an unsafe integer a text. */
  #converter(): DuckDBValueConverter<unknown> {
    const { JsonDuckDBValueConverter } = this.#duckDb
    const { integerIds, realIds } = this.#numberTypes()
    const convert: DuckDBValueConverter<unknown> = (value: DuckDBValue, type: DuckDBType) => {
      if (value === null) return null
      if (realIds.has(type.typeId)) return Number.isFinite(Number(value)) ? Number(value) : null
      if (integerIds.has(type.typeId)) return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
      return JsonDuckDBValueConverter(value, type, convert as typeof JsonDuckDBValueConverter)
    }
    return convert
  }
}

/** An error of DuckDB as an InvalidParameter, with its position in the query. @param tables the known views */
function queryError(sql: string, cause: unknown, tables: readonly string[]): Error {
  const { message } = cause as Error
  if (cause instanceof BandsError) return cause
  const details = parseErrorJson(message)
  if (details === null) return wrong('query', `query: ${firstLine(message)}.`)
  const { exception_type: type, exception_message: text, position, name, candidates } = details
  if (type === 'Permission') return wrong('query', `query reads only the views ${tables.join(', ')}.`)
  const errorPosition = position === undefined ? null : positionIn(sql, Number(position))
  const knownNames = [...(candidates?.split(/, ?/) ?? []), ...tables]
  const nearest = name === undefined ? [] : suggest(name, knownNames, 1)
  const where = errorPosition === null ? '' : ` line ${errorPosition.line}, column ${errorPosition.column}:`
  const hint = nearest.length === 0 ? '' : ` Did you mean "${nearest[0]}"?`
  const suggestions = nearest.length > 0 ? { suggestions: nearest } : {}
  const offence = name === undefined ? (errorPosition ?? {}) : { value: name, ...suggestions, ...errorPosition }
  return wrong('query', `query:${where} ${firstLine(text ?? message)}.${hint}`, offence)
}

/** The JSON in a message of DuckDB; null if it has none. */
function parseErrorJson(message: string): Record<string, string | undefined> | null {
  try {
    const details: unknown = JSON.parse(message.slice(message.indexOf('{')))
    return isMapping(details) ? (details as Record<string, string | undefined>) : null
  } catch {
    return null
  }
}

/** The first line of a text, without punctuation at its end. */
function firstLine(text: string): string {
  return text.split('\n')[0]!.replace(/[\s.!:]+$/, '')
}

/** The line and column of a position, from 1. @param position in bytes, from 0 */
function positionIn(sql: string, position: number): { line: number; column: number } {
  const lines = Buffer.from(sql).subarray(0, position).toString().split('\n')
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
}
