import type { Answer } from '../output.js'
import type { ShownSetting } from '../profiles/settings.js'

/** Every setting with its value and what told it. */
export function configAnswer(settings: readonly ShownSetting[]): Answer {
  return {
    document: () => ({ schema: 'bands.config/1', settings }),
    columns: ['setting', 'value', 'origin'],
    rows: () => settings.map(setting => ({ ...setting })),
    blocks: () => [
      {
        table: {
          columns: [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'ORIGIN', wraps: true }],
          rows: settings.map(({ setting, value, origin }) => [setting, value === null ? '-' : String(value), origin]),
        },
      },
    ],
  }
}
