import { loginAnswer } from '../answers/login.js'
import type { Command } from '../command.js'
import { configPath } from '../profiles/folder.js'

export const command: Command = {
  examples: [
    'bands login --remote https://api.example.com',
    'cat key.txt | bands login --profile work --remote https://api.example.com',
  ],
  notes: [
    'The key is read from standard input, at a terminal without showing it; never from the command line, which others can see. It is checked with a question that costs nothing, and kept in credentials.json in the configuration folder (bands config), which only its owner can read, for that server alone.',
    'What is asked stays with the database here until --profile, BANDS_PROFILE or "profile" in config.json names the profile; --remote local asks here again.',
  ],
  async run(context) {
    const { login } = await import('../profiles/login.js')
    const found = await login(context)
    await context.show(loginAnswer(found))
    await context.hint(
      `next: bands events AAPL rsi_zone --profile ${found.profile}`,
      `to ask it always: BANDS_PROFILE=${found.profile}, or "profile": "${found.profile}" in ${configPath(context.world.env)}`,
    )
  },
}
