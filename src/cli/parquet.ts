import { ByteWriter, ParquetWriter, type SchemaElement, type Writer } from 'hyparquet-writer'
import { parseDay } from '../model/day.js'
import type { Column } from '../model/event.js'
import type { Sink } from './formats.js'

/** Rows that are kept until they are written as one row group: what bounds the memory. */
const ROW_GROUP = 50_000

type Value = string | number | null

/**
 * Parquet (snappy), in row groups. Texts are UTF-8 strings, dates DATE, integers INT32, numbers DOUBLE; every column may
 * be null. A table without rows is a file without row groups.
 */
export async function writeParquet<Row>(
  rows: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  sink: Sink,
): Promise<void> {
  const writer = writerTo(sink)
  const file = new ParquetWriter({ writer, schema: schemaOf(columns), createdBy: 'bands' })
  let group: Value[][] = columns.map(() => [])
  for await (const row of rows) {
    for (let i = 0; i < columns.length; i++) group[i]!.push(cellOf(columns[i]!, row))
    if (group[0]!.length < ROW_GROUP) continue
    await writeGroup(file, columns, group)
    group = columns.map(() => [])
  }
  await writeGroup(file, columns, group)
  await file.finish()
}

async function writeGroup<Row>(
  file: ParquetWriter,
  columns: readonly Column<Row>[],
  group: readonly Value[][],
): Promise<void> {
  if (group[0]!.length === 0) return
  // The type of a column stands in the schema alone: the writer takes only one of the two.
  const columnData = columns.map(({ name }, i) => ({ name, data: group[i]! }))
  await file.write({ columnData, rowGroupSize: ROW_GROUP })
}

function schemaOf(columns: readonly Column<never>[]): SchemaElement[] {
  const leaves = columns.map(({ name, kind }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...TYPES[kind] }))
  return [{ name: 'root', num_children: columns.length }, ...leaves]
}

const TYPES = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  date: { type: 'INT32', converted_type: 'DATE' },
  integer: { type: 'INT32' },
  number: { type: 'DOUBLE' },
} as const satisfies Record<Column<never>['kind'], Partial<SchemaElement>>

function cellOf<Row>(column: Column<Row>, row: Row): Value {
  const value = column.of(row)
  return column.kind === 'date' && typeof value === 'string' ? parseDay(value) : value
}

/** The bytes of each row group go out when it is complete; the buffer is used again for the next. */
function writerTo(sink: Sink): Writer {
  const writer = new ByteWriter()
  const flush = async (): Promise<void> => {
    const bytes = writer.getBytes().slice()
    writer.index = 0
    await sink.write(bytes)
  }
  return Object.assign(writer, { flush, finish: flush })
}
