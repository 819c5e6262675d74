import { itemList, manual } from '../../src/app/cli/help.js'
import { FIELDS, type Field } from '../../src/core/fields/index.js'

/** Where a field comes from, as a heading. */
const SOURCES = { bars: 'from prices', facts: 'from facts of the ticker', sector: 'from facts of its sector' }

/** docs/fields.md: every field, its rule and its bands, from the fields themselves. */
export function fieldsPage(): string {
  const groups = Map.groupBy(FIELDS, ({ tier, needs }) => `## ${capital(tier)}, ${SOURCES[needs]}`)
  const parts = [
    '# Fields',
    'Written by `npm run docs` from `src/core/fields/`. Bands are listed from the lowest to the highest.',
    ...[...groups].flatMap(([heading, fields]) => [heading, ...fields.map(described)]),
  ]
  return `${parts.join('\n\n')}\n`
}

/** The bands are listed where the rule does not name them in their order. */
function described({ name, summary, bands, rule }: Field): string {
  const inOrder = new RegExp(bands.map(band => `\\b${band}\\b`).join('.*'))
  const isListed = inOrder.test(rule)
  return `**\`${name}\`** ${summary}${isListed ? '' : ` (${bands.join(', ')})`}: ${rule}`
}

/** The page that describes the commands of a first word better than the notes of their help. */
const PAGES: Readonly<Record<string, string>> = {
  ...pagesOf('questions.md', 'conditions events tally now transitions screen scan explain'),
  ...pagesOf('daily-job.md', 'changes watch'),
  ...pagesOf('study.md', 'study sweep trials'),
  ...pagesOf('backtest.md', 'backtest compare'),
  ...pagesOf('data.md', 'import simulate facts status verify backup restore rebuild remove rename unlock'),
  ...pagesOf('get-data.md', 'fetch update providers'),
  ...pagesOf('remote.md', 'pull login logout'),
  ...pagesOf('server.md', 'serve accounts keys'),
  ...Object.fromEntries(['copy', 'layout', 'grant'].map(word => [`accounts ${word}`, 'scale-out.md'])),
  ...pagesOf('scripting.md', 'export config schema completion'),
  ...pagesOf('own-fields.md', 'fields'),
}

function pagesOf(page: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map(word => [word, page]))
}

type Help = Awaited<ReturnType<typeof manual>>['commands'][number]
type Item = Help['sections'][number]['items'][number]

/** A description of an option or argument in at least so many commands is written once for all. */
const SHARED = 2

/** docs/cli.md: arguments and options of every command. */
export async function commandsPage(): Promise<string> {
  const { commands } = await manual()
  const shared = sharedOf(commands.flatMap(itemsOf))
  const opening = [
    '# Commands',
    'Written by `npm run docs` from the help of the commands. `bands COMMAND --help all` has notes and examples, `bands help\noptions` the options that every command takes. `,…` means several, with commas.',
    '## Options and arguments of several commands',
    `\`\`\`text\n${itemList([...shared].toSorted(), 110)}\`\`\``,
  ]
  return `${[...opening, ...commands.map(help => section(help, shared))].join('\n\n')}\n`
}

/** Arguments and options, marked where they take several values. */
function itemsOf({ usage, arguments: words, sections }: Help): Item[] {
  const options = sections.flatMap(({ items }) => items).map(optionItem)
  return [
    ...words.map(([word, about]): Item => [usage.includes(`${word}...`) ? `${word}...` : word, about]),
    ...options,
  ]
}

function optionItem([name, about]: Item): Item {
  const SEVERAL = ' (several: A,B)'
  return about.endsWith(SEVERAL) ? [`${name},…`, about.slice(0, -SEVERAL.length)] : [name, about]
}

/** By name, the description that most commands have. */
function sharedOf(items: readonly Item[]): Map<string, string> {
  const counts = [...Map.groupBy(items, item => item.join(': ')).values()].filter(({ length }) => length >= SHARED)
  return new Map(counts.toSorted((a, b) => a.length - b.length).map(([item]) => item!))
}

function section(help: Help, shared: ReadonlyMap<string, string>): string {
  const { name, summary, usage } = help
  const page = PAGES[name] ?? PAGES[name.split(' ')[0]!]
  const isShared = ([word, about]: Item): boolean => shared.get(word) === about
  const own = itemList(
    itemsOf(help).filter(item => !isShared(item)),
    110,
  )
  const also = itemsOf(help)
    .filter(item => isShared(item) && item[0].startsWith('-'))
    .map(([word]) => `\`${/--[\w-]+/.exec(word)![0]}\``)
  const line = usage.replace(/ \[options\]$/, '')
  return [
    `## bands ${name}`,
    `${capital(summary)}.${page === undefined ? '' : ` [More](${page})`}`,
    ...(own === '' && line === `bands ${name}` ? [] : [`\`\`\`text\n${line}\n${own}\`\`\``]),
    ...(also.length === 0 ? [] : [`Also ${also.join(', ')}`]),
  ].join('\n\n')
}

function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}
