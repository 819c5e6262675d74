import { CATALOGUE } from '../../src/app/cli/catalogue.js'
import { textFor } from '../../src/app/cli/help.js'
import { FIELDS } from '../../src/core/fields/index.js'

/** docs/fields.md: every field, its rule and its bands, from the fields themselves. */
export function fieldsPage(): string {
  const parts = [
    '# Fields',
    'Made of the declarations in `src/core/fields/` by `npm run docs`. Every length and cut stands in `src/core/model/definitions.ts`.',
    [
      '| Field | Tier | Stands on | Bands |',
      '|---|---|---|---|',
      ...FIELDS.map(({ name, tier, needs, bands }) => `| \`${name}\` | ${tier} | ${needs} | ${bands.join(', ')} |`),
    ].join('\n'),
    "`bars` are prices, `facts` are the ticker's own reports and ratings, `sector` compares it with others of its sector.",
    '## Rules',
    ...FIELDS.map(({ name, summary, rule }) => `**\`${name}\`** ${summary}: ${rule}`),
  ]
  return `${parts.join('\n\n')}\n`
}

/** docs/cli.md: the help of every command, as `bands COMMAND --help` prints it. */
export async function commandsPage(): Promise<string> {
  const commands = await Promise.all(
    CATALOGUE.map(async entry => {
      const help = textFor({ helpFor: entry, command: await entry.load(), isWhole: true }, 80)
      return `## bands ${entry.name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\``
    }),
  )
  const opening =
    '# Commands\n\nThe help of every command, written here by `npm run docs`. `bands help options` has the options that every command takes.'
  return `${[opening, ...commands].join('\n\n')}\n`
}
