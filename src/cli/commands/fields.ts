import { FIELDS } from '../../fields/index.js'
import type { Command } from '../command.js'
import type { Answer } from '../output.js'

export const command: Command = {
  examples: ['bands fields', 'bands fields --json'],
  async run(context) {
    await context.show(fieldsAnswer())
  },
}

function fieldsAnswer(): Answer {
  const rows = FIELDS.map(({ name, tier, needs, bands, summary }) => ({ field: name, tier, needs, bands, summary }))
  return {
    document: () => ({ schema: 'bands.fields/1', fields: rows }),
    columns: ['field', 'tier', 'needs', 'bands', 'summary'],
    rows: () => rows,
    blocks: screen => {
      const table = {
        columns: [{ title: 'FIELD' }, { title: 'TIER' }, { title: 'NEEDS' }, { title: 'BANDS' }],
        rows: FIELDS.map(field => [field.name, field.tier, field.needs, field.bands.join(' ')]),
      }
      if (screen.words) return [{ table }]
      // On a terminal the vocabularies, which are longer than a line, stand below each field.
      return FIELDS.map(({ name, tier, needs, bands, summary }) => ({
        title: [name, tier, `from ${needs}`],
        notes: [summary, `  ${bands.join(' ')}`],
      }))
    },
  }
}
