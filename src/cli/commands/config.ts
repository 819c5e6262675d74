import { configAnswer } from '../answers/config.js'
import type { Command } from '../command.js'

export const command: Command = {
  examples: ['bands config', 'bands config --json'],
  notes: [
    'Each setting with what told it: an option, otherwise a variable of the environment, otherwise the profile in config.json, otherwise its default. A server is named by --remote, --profile, BANDS_REMOTE, BANDS_PROFILE or "profile" in config.json, the first that is there; --db asks the database here before what only the environment or the file names. A key comes from --key-file, BANDS_API_KEY or bands login.',
    'config.json is JSON with comments: {"profile": "work", "profiles": {"work": {"url": "https://api.example.com", "tier": "pro"}}}',
  ],
  async run(context) {
    const { settingsOf } = await import('../profiles/settings.js')
    await context.show(configAnswer(await settingsOf(context)))
  },
}
