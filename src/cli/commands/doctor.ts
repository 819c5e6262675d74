import { doctor } from '../../local/doctor.js'
import { databasePath } from '../../open.js'
import { doctorAnswer } from '../answers/doctor.js'
import { checksBeside } from '../checks.js'
import type { Command } from '../command.js'
import { terminalFacts } from '../terminal.js'

export const command: Command = {
  examples: ['bands doctor', 'bands doctor --json', 'bands doctor --remote https://api.example.com'],
  notes: [
    'Where a server is chosen, it is asked whether it knows the key, which costs nothing.',
    'Exits with 5 when a check fails; a warning does not count as one.',
  ],
  async run(context) {
    const { config, world } = context
    const { node, modules } = process.versions
    const found = await doctor({
      database: databasePath({ db: config.db, env: world.env }),
      node,
      abi: modules,
      beside: await checksBeside(config, world.env),
      terminal: terminalFacts(world, config.colour),
    })
    await context.show(doctorAnswer(found))
    if (found.outcome === 'fail') context.outcome = 5
  },
}
