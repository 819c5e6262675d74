import { builtText } from '../../built.js'
import { InvalidParameter } from '../../errors.js'
import { strategySchema } from '../../params/strategy.js'
import { wordValue } from '../../params/values.js'
import { pageSchemas } from '../../wire/schemas.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { tableOf } from '../draw/table.js'
import { type Answer, json } from '../output.js'

type Schema = Readonly<Record<string, unknown>>

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

export const command: Command = {
  arguments: [['[NAME]', 'the answer, as tally of bands.tally/1, or strategy; all names are listed unless given']],
  examples: ['bands schema', 'bands schema tally', 'bands schema strategy'],
  notes: [
    'A JSON Schema (draft 2020-12) of what a command prints with --json, or of the strategy file of a backtest. Keys may be added to an answer, so readers should let unknown ones through.',
  ],
  async run(context, given) {
    const schemas = allSchemas()
    const word = given.argument(0)
    if (word === undefined) return context.show(namesAnswer(schemas))
    const name = wordValue('name', word, Object.keys(schemas))
    await printSchema(context, schemas[name]!)
  },
}

/** By name, in the order of the names. */
function allSchemas(): Record<string, Schema> {
  const strategy = { $schema: DRAFT, title: 'strategy', ...strategySchema() }
  const all = Object.entries<Schema>({ ...answerSchemas(), ...pageSchemas(), strategy })
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Of the answers that name their schema: the build reads them from the types. */
function answerSchemas(): Record<string, Schema> {
  return JSON.parse(builtText('schemas.json')) as Record<string, Schema>
}

/** A schema is JSON, whatever is asked for; it has no rows. */
function printSchema(context: Context, schema: Schema): Promise<void> {
  const { format } = context
  if (format !== null && format !== 'table' && format !== 'json')
    throw new InvalidParameter(`output "${format}" has no form for a schema; it is JSON.`, {
      param: 'output',
      value: format,
    })
  return context.out.write(json(schema, format !== 'json' || context.out.terminal))
}

function namesAnswer(schemas: Readonly<Record<string, Schema>>): Answer {
  const rows = Object.entries(schemas).map(([name, { title }]) => ({
    name,
    schema: typeof title === 'string' && title !== name ? title : null,
  }))
  return {
    document: () => ({ schema: 'bands.schemas/1', schemas: rows }),
    columns: ['name', 'schema'],
    rows: () => rows,
    blocks: () => [
      {
        table: tableOf(rows, [
          ['NAME', row => row.name],
          ['SCHEMA', row => row.schema],
        ]),
      },
    ],
  }
}
