import { InvalidParameter, parameter, sentence } from '../../errors.js'
import { databasePath } from '../../open/where.js'
import { copyDatabase } from '../../open.js'
import { DATABASE } from '../../params/kinds.js'
import { needed, open, optionsOf } from '../../params/row.js'
import { count, whole } from '../../present/numbers.js'
import type { Amounts, CopyProgress } from '../../store/copy.js'
import { megabytes } from '../../store/sqlite/migrations.js'
import type { Command } from '../command.js'
import { oneRow } from '../output.js'

const COPY = {
  from: open(DATABASE, 'what is copied: a file, or the URL of one of PostgreSQL; the database in use unless given'),
  to: needed(DATABASE, 'where it goes: the same; made if it is missing, otherwise empty'),
}

const copy: Command = {
  options: [
    ...optionsOf(COPY),
    ['--replace', 'put it in the place of what there is'],
    ['--wait', 'wait while another process is writing'],
  ],
  examples: [
    'bands store copy --from bands.db --to postgres://bands@db.example/bands',
    'bands store copy --from postgres://bands@db.example/bands --to bands.db',
  ],
  notes: [
    'From a file into PostgreSQL, back, or into another of the same kind: bars, facts, events, pulled pages, and what an import has yet to do. Nothing is derived again; packed columns go as they are, all of one moment, also while the source is written.',
    'What the target has already, by its hashes, is not sent again: a copy that was stopped goes on with the same line. Until it is through the target says that it is a part, and answers nothing. At the end all of the target is read again and every hash computed.',
    'Accounts, trials and watch lists lie beside the data, and are not copied.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const { from, to } = given.read(COPY)
    const { choice } = context
    const [source, target] = [from === undefined ? choice : { ...choice, db: from }, { ...choice, db: to }]
    const paths = [source, target].map(databasePath)
    if (paths[0] === paths[1]) {
      const words = sentence`${parameter('to')} is ${paths[0]!}, which is what is to be copied; name another one.`
      throw new InvalidParameter(words, { param: 'to', value: to })
    }
    const report = await copyDatabase(source, target, {
      replace: given.flag('replace'),
      wait: given.flag('wait'),
      onProgress: progress => context.step(() => progressText(progress)),
    })
    const { copied, there, removed, hashes } = report
    const gone = removed === 0 ? [] : [`removed: ${count(removed, 'ticker')} that ${report.from} has not`]
    await context.show(
      oneRow(
        { schema: 'bands.store-copy/1', from: report.from, to: report.to, ...flat(copied, there), removed, hashes },
        {
          notes: [
            `copied: ${amountsText(copied)}`,
            ...(there.tickers === 0 ? [] : [`there already: ${amountsText(there)}`]),
            ...gone,
            `${report.to}: ${count(hashes, 'hash', 'hashes')} computed again, all as in ${report.from}`,
          ],
        },
      ),
    )
  },
}

/** One row, as CSV has it. */
function flat(copied: Amounts, there: Amounts): Record<string, number> {
  const before = Object.entries(there).map(([what, amount]) => [`${what}_there`, amount])
  return { ...copied, ...Object.fromEntries(before) }
}

function amountsText({ tickers, bars, events, facts, pulled }: Amounts): string {
  const more = [
    ...(facts === 0 ? [] : [`${whole(facts)} facts`]),
    ...(pulled === 0 ? [] : [`${whole(pulled)} pulled events`]),
  ]
  return [count(tickers, 'ticker'), count(bars, 'bar'), count(events, 'event'), ...more].join(', ')
}

function progressText({ stage, done, of, bytes }: CopyProgress): string {
  return stage === 'verifying' ? `verifying  ${of} tickers` : `copying  ${done}/${of} tickers  ${megabytes(bytes)}`
}

export const commands = { 'store copy': copy }
