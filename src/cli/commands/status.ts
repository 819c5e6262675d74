import { statusOf } from '../../open.js'
import { describeStatus } from '../../present/data.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'

export const command: Command = {
  examples: ['bands status', 'bands status --json'],
  async run(context) {
    await context.show(described(describeStatus(await statusOf(await context.here()))))
  },
}
