import { statSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_IN, type FieldSet } from '../fields/index.js'
import type { Command } from './command.js'
import { type Config, configFolder } from './config.js'

/** Where fields of a user's own stand, and what a command can be asked for. */
type Named = Pick<Config, 'fields_file'>

/** The specified fields, and after them those of the user's own. Throws BadData at file:line:column. */
export async function fieldsIn({ fields_file: named }: Named, env: NodeJS.ProcessEnv): Promise<FieldSet> {
  const path = named ?? join(configFolder(env).path, 'fields.yaml')
  // Most users have none, and are not to wait for the code that reads them.
  if (named === undefined && statSync(path, { throwIfNoEntry: false }) === undefined) return BUILT_IN
  const [{ ownFieldSet }, { textOf }] = await Promise.all([import('../params/fields-file.js'), import('./tickers.js')])
  return ownFieldSet(await textOf(path), path)
}

/** For a command; where own fields are broken, the specified ones for one that needs no others. */
export async function fieldsFor({ withoutFields }: Command, config: Named, env: NodeJS.ProcessEnv): Promise<FieldSet> {
  try {
    return await fieldsIn(config, env)
  } catch (error) {
    if (withoutFields) return BUILT_IN
    throw error
  }
}

/** While a line is typed nothing is refused: a broken file is told when the command runs. */
export async function fieldsWhileTyped(values: ReadonlyMap<string, string>, env: NodeJS.ProcessEnv): Promise<FieldSet> {
  const named = values.get('--fields-file') || env.BANDS_FIELDS_FILE
  return fieldsIn(named ? { fields_file: named } : {}, env).catch(() => BUILT_IN)
}

/** What is wrong with them, in a sentence; null where nothing is. */
export async function faultOfFields(config: Named, env: NodeJS.ProcessEnv): Promise<string | null> {
  return fieldsIn(config, env).then(
    () => null,
    (thrown: Error) => thrown.message,
  )
}
