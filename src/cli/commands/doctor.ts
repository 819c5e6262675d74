import { doctor } from '../../local/doctor.js'
import { databasePath } from '../../open.js'
import { doctorAnswer } from '../answers/doctor.js'
import type { Command } from '../command.js'
import { terminalFacts } from '../terminal.js'

export const command: Command = {
  examples: ['bands doctor', 'bands doctor --json'],
  notes: ['Exits with 5 when a check fails; a warning does not count as one.'],
  async run(context) {
    const { node, modules } = process.versions
    const found = await doctor({
      database: databasePath({ db: context.config.db, env: context.world.env }),
      node,
      abi: modules,
      terminal: terminalFacts(context.world, context.config.colour),
    })
    await context.show(doctorAnswer(found))
    if (found.outcome === 'fail') context.outcome = 5
  },
}
