import { status } from '../../local/status.js'
import { statusAnswer } from '../answers/status.js'
import type { Command } from '../command.js'

export const command: Command = {
  examples: ['bands status', 'bands status --json'],
  async run(context) {
    await context.show(statusAnswer(await status((await context.local()).cache)))
  },
}
