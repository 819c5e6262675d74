// Man pages from the help of the commands: `man bands`, `man bands-events`.

import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Writes man/bands.1 and one page a command below `dist`. */
export async function writeManPages(dist, version) {
  const { manual } = createRequire(import.meta.url)(join(dist, 'cli/main.js'))
  const { commands, options, notes } = await manual()
  const folder = join(dist, 'man')
  mkdirSync(folder, { recursive: true })
  const write = (name, summary, body) => {
    const page = name.replaceAll(' ', '-')
    const head = `.TH ${page.toUpperCase()} 1 "" "bands ${version}"\n.SH NAME\n${page} \\- ${roff(summary)}\n`
    writeFileSync(join(folder, `${page}.1`), `${head}${body}`)
  }
  for (const command of commands) write(`bands ${command.name}`, command.summary, commandPage(command))
  write('bands', 'when did a stock change band, and what followed?', topPage(commands, options, notes))
}

function commandPage({ usage, examples, arguments: words, notes, sections }) {
  return [
    section('SYNOPSIS', roff(usage)),
    section('EXAMPLES', literal(examples)),
    words.length > 0 ? section('ARGUMENTS', list(words)) : '',
    notes.length > 0 ? section('NOTES', notes.map(roff).join('\n.PP\n')) : '',
    ...sections.map(({ title, items }) => section(title.toUpperCase(), list(items))),
    section('SEE ALSO', '.BR bands (1)\nhas the options of every command and the exit codes.'),
  ].join('')
}

function topPage(commands, options, notes) {
  return [
    section('SYNOPSIS', 'bands COMMAND [options]'),
    section('COMMANDS', list(commands.map(({ name, summary }) => [`bands ${name}`, summary]))),
    section('OPTIONS OF EVERY COMMAND', list(options)),
    section('NOTES', notes.map(roff).join('\n.PP\n')),
    section('SEE ALSO', commands.map(({ name }) => `.BR bands-${name.replaceAll(' ', '-')} (1)`).join(',\n')),
  ].join('')
}

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
