import type { Command } from '../command.js'

export const command: Command = {
  examples: ['bands logout', 'bands logout --profile work'],
  notes: [
    'Forgets the key of a profile; the profile stays in config.json. Revoking a key is the business of its server.',
  ],
  async run(context) {
    const { logout } = await import('../profiles/logout.js')
    const row = await logout(context)
    await context.show({
      document: () => ({ schema: 'bands.logout/1', ...row }),
      columns: ['profile', 'origin'],
      rows: () => [{ ...row }],
      blocks: () => [{ notes: [`the key of profile ${row.profile} for ${row.origin} is forgotten`] }],
    })
  },
}
