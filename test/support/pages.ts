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

/** An option of a help text: its first line and those below it that go on. */
const OPTION = /^ {2}--.*\n(?: {6,}.*\n)*/gm
const END = 'Options of every command, and exit codes: bands help options'
/** An option with the same words in at least so many commands is described once for all. */
const SHARED = 3

/** docs/cli.md: the help of every command, as `bands COMMAND --help all` prints it; options of several commands once. */
export async function commandsPage(): Promise<string> {
  const helps = await Promise.all(
    CATALOGUE.map(async entry => {
      const help = textFor({ helpFor: entry, command: await entry.load(), isWhole: true }, 80)
      return { name: entry.name, help: `${help.replace(END, '').trimEnd()}\n` }
    }),
  )
  const counts = new Map<string, { option: string; n: number }>()
  for (const option of helps.flatMap(({ help }) => help.match(OPTION) ?? [])) {
    const { n = 0 } = counts.get(words(option)) ?? {}
    counts.set(words(option), { option, n: n + 1 })
  }
  const isShared = (option: string): boolean => counts.get(words(option))!.n >= SHARED
  const shared = [...counts.values()].filter(({ n }) => n >= SHARED).map(({ option }) => words(option))
  const commands = helps.map(({ name, help }) => {
    const names = (help.match(OPTION) ?? []).filter(isShared).map(option => /--[\w-]+/.exec(option)![0])
    const own = help
      .replace(OPTION, option => (isShared(option) ? '' : option))
      .replace(/^[A-Z][^\n]*\n(?=\n|$(?![\s\S]))/gm, heading => keptHeading(heading))
    const also = names.length === 0 ? '' : `\n\nand ${names.map(option => `\`${option}\``).join(', ')}`
    return `## bands ${name}\n\n\`\`\`text\n${own.trimEnd()}\n\`\`\`${also}`
  })
  const opening = [
    '# Commands',
    'The help of every command, written here by `npm run docs`. `bands help options` has the options that every command takes.',
    '## Options of several commands',
    ['| Option | Is |', '|---|---|', ...shared.toSorted().map(row)].join('\n'),
  ]
  return `${[...opening, ...commands].join('\n\n')}\n`
}

/** A row of the table: `--after DATE` and its description. */
function row(text: string): string {
  const [, name, about] = /^(--[\w-]+(?: [A-Z:=]+)?) (.*)$/.exec(text)!
  return `| \`${name}\` | ${about} |`
}

function words(option: string): string {
  return option.trim().replace(/\s+/g, ' ')
}

/** Headings above options that are described elsewhere have nothing below them; sentences stay. */
function keptHeading(line: string): string {
  return /[.:]$/.test(line.trim()) || line.trim().split(' ').length > 8 ? line : ''
}
