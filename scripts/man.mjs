// Man pages from the help of the commands: `man bands`, `man bands-events`; the commands of a group share one, `bands-watch`.

import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Writes fixed-texts.json, man/bands.1, and one page a command, or a group of them, below `dist`. */
export async function writeManPages(dist, version) {
  const { manual } = createRequire(import.meta.url)(join(dist, 'cli/main.js'))
  const { fixedTexts, commands, groups, options, notes } = await manual()
  const texts = { '--version': `bands ${version}\n`, ...fixedTexts }
  writeFileSync(join(dist, 'fixed-texts.json'), JSON.stringify(texts))
  const folder = join(dist, 'man')
  mkdirSync(folder, { recursive: true })
  const write = (name, summary, body) => {
    const page = name.replaceAll(' ', '-')
    const head = `.TH ${page.toUpperCase()} 1 "" "bands ${version}"\n.SH NAME\n${page} \\- ${roff(summary)}\n`
    writeFileSync(join(folder, `${page}.1`), `${head}${body}`)
  }
  for (const [name, ...parts] of pagesOf(commands)) {
    const summary = groups[name] ?? parts[0].summary
    write(
      `bands ${name}`,
      summary,
      parts.length === 1 && parts[0].name === name ? commandPage(parts[0]) : groupPage(parts),
    )
  }
  write('bands', 'when did a stock change band, and what followed?', topPage(commands, options, notes))
}

/** By their first word, in the order of the help. */
function pagesOf(commands) {
  const pages = new Map()
  for (const command of commands) {
    const [name] = command.name.split(' ')
    pages.set(name, [...(pages.get(name) ?? []), command])
  }
  return [...pages].map(([name, parts]) => [name, ...parts])
}

function groupPage(commands) {
  const usages = commands.map(({ usage }) => `.B ${roff(usage)}\n.br`).join('\n')
  const parts = commands.map(({ name, summary, examples, arguments: words, notes, sections }) => {
    const items = [...words, ...sections.flatMap(({ items }) => items)]
    const body = [roff(`${summary}.`), literal(examples), ...notes.map(roff)].join('\n.PP\n')
    return section(`bands ${name}`.toUpperCase(), items.length > 0 ? `${body}\n${list(items)}` : body)
  })
  return [section('SYNOPSIS', usages), ...parts, SEE_ALSO].join('')
}

function commandPage({ usage, examples, arguments: words, notes, sections }) {
  return [
    section('SYNOPSIS', roff(usage)),
    section('EXAMPLES', literal(examples)),
    words.length > 0 ? section('ARGUMENTS', list(words)) : '',
    notes.length > 0 ? section('NOTES', notes.map(roff).join('\n.PP\n')) : '',
    ...sections.map(({ title, items }) => section(title.toUpperCase(), list(items))),
    SEE_ALSO,
  ].join('')
}

function topPage(commands, options, notes) {
  return [
    section('SYNOPSIS', 'bands COMMAND [options]'),
    section('COMMANDS', list(commands.map(({ name, summary }) => [`bands ${name}`, summary]))),
    section('OPTIONS OF EVERY COMMAND', list(options)),
    section('NOTES', notes.map(roff).join('\n.PP\n')),
    section(
      'SEE ALSO',
      pagesOf(commands)
        .map(([name]) => `.BR bands-${name} (1)`)
        .join(',\n'),
    ),
  ].join('')
}

const SEE_ALSO = section('SEE ALSO', '.BR bands (1)\nhas the options of every command and the exit codes.')

function section(title, body) {
  return `.SH ${title}\n${body}\n`
}

function list(items) {
  return items.map(([word, about]) => `.TP\n.B ${roff(word)}\n${roff(about)}`).join('\n')
}

function literal(lines) {
  return `.nf\n${lines.map(roff).join('\n')}\n.fi`
}

/** Text in which roff finds nothing of its own: backslashes, hyphens that are to be copied, a dot or quote in front. */
function roff(text) {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
}
