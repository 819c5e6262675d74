import { dirname, join } from 'node:path'
import { formatDay } from '../../../core/model/day.js'
import { count } from '../../../core/numbers.js'
import { COUNT } from '../../../core/params/kinds.js'
import { optionsOf, withDefault } from '../../../core/params/row.js'
import { EXPORT_TABLES, type ExportTable, tableColumns } from '../../../data/local/export.js'
import { listsPath } from '../../open/paths.js'
import type { Cell, Heading, Paragraph } from '../../present/description.js'
import type { Args, Command } from '../command.js'
import type { Context } from '../context.js'
import type { SqlAnswer, SqlColumn, SqlSession } from '../duckdb.js'
import { type Row, writeRows } from '../formats.js'
import { windowStructs } from '../manifest.js'
import type { Answer } from '../output.js'

const LIMIT_OPTION = { limit: withDefault(COUNT, 20, 'rows of a table, or all; other outputs have every row') }

const sql: Command = {
  arguments: [['[QUERY]', 'one SELECT (default: list the views and their columns)', ['QUERY']]],
  options: [
    ['--folder <FOLDER>', 'the Parquet files of the views (default a folder next to the database)'],
    ...optionsOf(LIMIT_OPTION),
  ],
  examples: [
    'bands sql',
    'bands sql "SELECT band, count(*) AS n FROM events GROUP BY band"',
    'bands sql "FROM bars WHERE date >= \'2018-05-01\'" --csv',
  ],
  notes: [
    'The views events, series and bars have the rows and columns of bands export. Their Parquet files are brought up to date first. docs/sql.md has recipes.',
    'It needs DuckDB: npm install --global @duckdb/node-api. A query reads only these views; it cannot write, and cannot read other files.',
  ],
  /** Answers a query with DuckDB, or lists the views without one. */
  async run(context, args) {
    context.refuseRemote()
    const query = args.argument(0)
    if (query === undefined) return context.show(viewsAnswer(context))
    const { limit } = args.read(LIMIT_OPTION)
    const { SqlSession } = await import('../duckdb.js')
    // DuckDB is loaded first, so that a missing package is reported before files are written.
    const session = context.closeAtEnd(await SqlSession.open(context.config.threads))
    await openViews(context, args, session, namedTables(query))
    const answerQuery = async () => showAnswer(context, await session.query(query, EXPORT_TABLES), limit)
    await runInterruptibly(context, session, answerQuery)
  },
}

/** The tables that a query names, which are then brought up to date; all for a query that names none. */
function namedTables(query: string): readonly ExportTable[] {
  const named = EXPORT_TABLES.filter(table => new RegExp(`\\b${table}\\b`, 'i').test(query))
  return named.length === 0 ? EXPORT_TABLES : named
}

/** Brings the Parquet files of the tables up to date, and makes their views. */
async function openViews(context: Context, args: Args, session: SqlSession, tables: readonly ExportTable[]) {
  const [{ namedFolder, folderViews }, { writePartitions }] = await Promise.all([
    import('../manifest.js'),
    import('../partitions.js'),
  ])
  const local = await context.local()
  const folder = namedFolder(args.text('folder') ?? defaultFolder(context), 'folder')
  // From here on a signal ends the command at the next ticker, without a half-written file.
  context.deferSignals()
  let writtenFiles = 0
  for (const table of tables) {
    const onTicker = (ticker: string, done: number): void =>
      context.step(() => `${table}  ${ticker}  ${count(done, 'ticker')}`)
    const onWait = (): void => context.step(() => `${table}  waiting for another process`)
    const options = { folder, partition_by: 'ticker', partitions: null, onTicker, onWait } as const
    const { written } = await writePartitions(local, table, {}, options)
    writtenFiles += written
  }
  if (writtenFiles > 0) await context.remark(`wrote ${count(writtenFiles, 'file')} to ${folder.typedName}`)
  await session.addViews(folderViews(folder).filter(({ table }) => tables.includes(table)))
}

/** `bands.db` → `bands.parquet`; each as-of day has its own. That of the sample is next to the user's database. */
function defaultFolder({ opened, databaseChoice, config }: Context): string {
  const { path, sample } = opened!
  const stem = sample ? join(dirname(listsPath(databaseChoice)), 'sample') : path.replace(/\.db$/, '')
  return `${stem}${config.as_of === null ? '' : `.${formatDay(config.as_of)}`}.parquet`
}

/** Runs a query so that a signal interrupts it; otherwise the signal would wait for its end. */
async function runInterruptibly(context: Context, session: SqlSession, work: () => Promise<void>): Promise<void> {
  let stopped: unknown = null
  const watch = setInterval(() => {
    try {
      context.step(() => 'sql')
    } catch (cause) {
      stopped = cause
      session.interrupt()
    }
  }, 100)
  try {
    await work()
  } catch (cause) {
    throw stopped ?? cause
  } finally {
    clearInterval(watch)
  }
}

/** Shows the rows of a query. CSV and NDJSON are written as the rows come, so that memory stays flat. */
async function showAnswer(context: Context, { columns, blocks }: SqlAnswer, limit: number): Promise<void> {
  const { format, config } = context
  if (format === 'csv' || format === 'ndjson') {
    const cells = columns.map(({ name }) => ({ name, kind: 'text' as const, of: (row: Row) => cellValue(row[name]) }))
    return writeRows(format, rowsOf(blocks), cells, context.out, { raw: config.csv_raw })
  }
  const rows: Row[] = []
  let totalRows = 0
  for await (const block of blocks) {
    totalRows += block.count
    const maxRows = context.isForPeople ? limit - rows.length : block.count
    if (maxRows > 0) for (const row of block.rows().slice(0, maxRows)) rows.push(row)
  }
  await context.show({ ...answerOfRows(columns, rows), paragraphs: [rowsTable(columns, rows)] })
  const omitted = totalRows - rows.length
  if (omitted > 0) await context.remark(`${count(omitted, 'row')} left out: --limit all shows them, --csv writes them.`)
}

async function* rowsOf(blocks: SqlAnswer['blocks']): AsyncGenerator<Row> {
  for await (const block of blocks) yield* block.rows()
}

/** A value for a cell: a text or number unchanged, a list or structure as JSON. */
function cellValue(value: unknown): string | number | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'number' || typeof value === 'string') return value
  return JSON.stringify(value)
}

function answerOfRows(columns: readonly SqlColumn[], rows: readonly Row[]): Omit<Answer, 'paragraphs'> {
  const described: SqlColumn[] = columns.map(({ name, type }) => ({ name, type }))
  const names = columns.map(({ name }) => name)
  return { document: { schema: 'bands.sql/1', columns: described, rows }, columns: names, rows }
}

function rowsTable(columns: SqlAnswer['columns'], rows: readonly Row[]): Paragraph {
  const heads = columns.map(({ name, isNumber }): Heading => {
    return { title: name, verbatimTitle: true, kind: isNumber ? 'count' : 'text' }
  })
  const cells = rows.map(row => columns.map(({ name }): Cell => ({ kind: 'text', content: shortText(row[name]) })))
  return { heading: [], parts: [{ table: { caption: '', columns: heads, rows: cells } }] }
}

/** The text of a value for a table, a fraction with six digits; null for no value. */
function shortText(value: unknown): string | null {
  const content = cellValue(value)
  if (typeof content !== 'number') return content
  return String(Number.isInteger(content) ? content : Number(content.toPrecision(6)))
}

const SQL_TYPES = { text: 'VARCHAR', date: 'DATE', integer: 'INTEGER', number: 'DOUBLE' } as const

const VIEW_ROWS: Readonly<Record<ExportTable, string>> = {
  events: 'one row per event',
  series: 'one row per bar and timeframe, with its indicators and bands',
  bars: 'one row per daily bar',
}

/** The answer that lists the views and their columns. The STRUCT `returns` has `return_5d`, `return_21d` and so on. */
function viewsAnswer({ fields }: Context): Answer {
  const views = EXPORT_TABLES.map(view => {
    const columns = tableColumns(view, {}, fields)
    const plainColumns = columns.map(({ name, kind }) => ({ view, column: name, type: SQL_TYPES[kind] as string }))
    const structs = windowStructs(columns.map(({ name }) => name))
    const structColumns = structs.map(({ name }) => ({ view, column: name, type: 'STRUCT' }))
    return { view, columns: [...plainColumns, ...structColumns] }
  })
  const rows = views.flatMap(({ columns }) => columns)
  const describedColumns = ['view', 'column', 'type'].map(name => ({ name, type: 'VARCHAR' }))
  const paragraphs = views.map(({ view, columns }) => {
    const byType = Map.groupBy(columns, ({ type }) => type)
    const lines = [...byType].map(([type, group]) => `${type}: ${group.map(({ column }) => column).join(', ')}`)
    return { heading: [view, VIEW_ROWS[view]], parts: [{ notes: lines }] }
  })
  return { ...answerOfRows(describedColumns, rows), paragraphs }
}

export const commands = { sql }
