import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { InvalidParameter, NotFound, suggest, Unauthorized } from '../../errors.js'
import { whole } from '../../present/numbers.js'
import { addressOf } from '../../remote/address.js'
import type { Command } from '../command.js'
import { type Config, configPath, HERE } from '../config.js'
import { type ConfigFile, profileName, readConfigFile, writeProfile } from '../config-file.js'
import { type Context, Stopped } from '../context.js'
import { oneRow } from '../output.js'
import { givenKey, keepKey, keyEnd, openServer, type StoredKey, storedKeys } from '../profiles.js'
import type { World } from '../world.js'

const login: Command = {
  examples: [
    'bands login --remote https://api.example.com',
    'cat key.txt | bands login --profile work --remote https://api.example.com',
  ],
  notes: [
    'The key is read from standard input, at a terminal without showing it; never from the command line, which others can see. It is checked with a question that costs nothing, and kept in credentials.json in the configuration folder (bands config), which only its owner can read, for that server alone.',
    'What is asked stays with the database here until --profile, BANDS_PROFILE or "profile" in config.json names the profile; --remote local asks here again.',
  ],
  async run(context) {
    const { credits, ...kept } = await loggedIn(context)
    const { profile, url, tier, key } = kept
    const [limit, remaining] = [credits?.day?.limit ?? null, credits?.day?.remaining ?? null]
    const plan = tier === null ? '' : `, tier ${tier}`
    const left = remaining === null ? '' : `, ${whole(remaining)} of ${whole(limit ?? 0)} credits left today`
    const row = { schema: 'bands.login/1', ...kept, credits_limit: limit, credits_remaining: remaining }
    await context.show({
      ...oneRow(row, { notes: [`profile ${profile}: ${url}${plan}, key ${key}${left}`] }),
      document: () => ({ schema: 'bands.login/1', ...kept, credits }),
    })
    await context.hint(
      `next: bands events AAPL rsi_zone --profile ${profile}`,
      `to ask it always: BANDS_PROFILE=${profile}, or "profile": "${profile}" in ${configPath(context.world.env)}`,
    )
  },
}

const logout: Command = {
  examples: ['bands logout', 'bands logout --profile work'],
  notes: [
    'Forgets the key of a profile; the profile stays in config.json. Revoking a key is the business of its server.',
  ],
  async run(context) {
    const { profile, origin } = await forgottenKey(context)
    const notes = [`the key of profile ${profile} for ${origin} is forgotten`]
    await context.show(oneRow({ schema: 'bands.logout/1', profile, origin }, { notes }))
  },
}

export const commands = { login, logout }

/**
 * Reads a key, asks the server whether it counts, and keeps both. Nothing is kept of a key that is refused. Throws
 * Unauthorized for that, InvalidParameter, ConfigError, and what a server throws that cannot be asked.
 */
async function loggedIn({ config, world }: Context) {
  const { env } = world
  const file = await readConfigFile(env)
  // Looked at now, so that a file that cannot be used is told before anyone types a key.
  await storedKeys(env)
  const { name, url } = serverOf(config, file)
  const { base, origin } = addressOf(url, { allowPlainHttp: config.allow_plain_http })
  const typed = config.key_file === undefined ? null : await givenKey(config, env)
  const key = typed?.key ?? (await readSecret(world, `API key for ${base}: `, 'API key'))
  const server = await openServer(base, key, config, env)
  try {
    await server.checkKey().catch(error => {
      throw error instanceof Unauthorized ? new Unauthorized(`${base} refuses this key: ${error.message}`) : error
    })
    const { tier, credits } = server
    await keepKey(env, name, { profile: name, origin, key })
    await writeProfile(env, { name, url: base, tier })
    return { profile: name, url: base, tier, key: keyEnd(key), credits }
  } finally {
    await server.close()
  }
}

/** Which profile is meant, and the address of its server: the one that is said, otherwise the one it has. */
function serverOf({ remote, profile }: Config, { profile: chosen, profiles }: ConfigFile) {
  const name = profile === undefined ? (chosen?.name ?? 'default') : profileName(profile)
  const known = profiles.get(name)
  const url = remote === HERE ? undefined : (remote ?? known?.url)
  if (url === undefined)
    throw new InvalidParameter(`which server is the key for? bands login --remote URL.`, { param: 'remote' })
  if (profile === undefined && known !== undefined && originOf(known.url) !== originOf(url)) {
    const message = `profile "${name}" is of ${known.url}; give this server a name of its own: --profile NAME.`
    throw new InvalidParameter(message, { param: 'profile', value: name })
  }
  return { name, url }
}

function originOf(url: string): string {
  return addressOf(url, { allowPlainHttp: true }).origin
}

/** Forgets a key: of the profile or the server that is said, otherwise the only one. Throws NotFound where there is none. */
async function forgottenKey({ config, world: { env } }: Context): Promise<StoredKey> {
  const kept = await storedKeys(env)
  const { remote } = config
  const name = config.profile ?? (remote === undefined ? (await readConfigFile(env)).profile?.name : undefined)
  const meant = kept.filter(({ profile, origin }) => {
    if (name !== undefined) return profile === name
    return remote === undefined || remote === HERE || origin === originOf(remote)
  })
  const [only] = meant
  if (only === undefined) {
    const whose = name === undefined ? '' : ` of profile "${name}"`
    const names = kept.map(({ profile }) => profile)
    throw new NotFound(`no key${whose} is kept.`, name === undefined ? [] : suggest(name, names))
  }
  if (meant.length > 1) {
    const names = meant.map(({ profile }) => profile)
    const message = `several keys are kept; choose the one to forget with --profile: ${names.join(', ')}.`
    throw new InvalidParameter(message, { param: 'profile', allowed: names })
  }
  await keepKey(env, only.profile, null)
  return only
}

/** More than any key has. */
const MOST = 4_096

/**
 * One line that nobody else is to see: asked for at a terminal without showing what is typed, otherwise the first line of
 * standard input. Throws Stopped at Ctrl-C, InvalidParameter for nothing.
 */
async function readSecret(world: World, prompt: string, what: string): Promise<string> {
  const input = world.stdin()
  const text = (input as NodeJS.ReadStream).isTTY ? await typed(world, input, prompt) : await piped(input)
  const secret = text.trim()
  if (secret !== '') return secret
  throw new InvalidParameter(`no ${what} on standard input; type it, or pipe it: bands login < FILE.`, { param: 'key' })
}

async function typed(world: World, input: NodeJS.ReadableStream, prompt: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const line = createInterface({ input, output: nowhere, terminal: true, historySize: 0 })
  try {
    // Only now: from here on the terminal shows nothing of what is typed, or was typed ahead.
    await world.err.write(prompt)
    return await new Promise<string>((resolve, reject) => {
      line.once('line', resolve)
      line.once('SIGINT', () => reject(new Stopped('SIGINT')))
      // Ctrl-D on an empty line.
      line.once('close', () => resolve(''))
    })
  } finally {
    line.close()
    await world.err.write('\n')
  }
}

async function piped(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MOST) throw new InvalidParameter('standard input is longer than any API key.', { param: 'key' })
  }
  const [first = '', ...more] = text.trim().split(/\r?\n/)
  if (more.length > 0) throw new InvalidParameter('standard input has several lines; a key is one.', { param: 'key' })
  return first
}
