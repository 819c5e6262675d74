import { InvalidParameter } from '../../errors.js'
import { showServing } from '../answers/serve.js'
import type { Command } from '../command.js'
import { serveOptions } from '../serving.js'

export const command: Command = {
  options: [
    ['--host <ADDRESS>', 'where to listen; 127.0.0.1 unless given, which only this machine reaches'],
    ['--port <N>', '8080 unless given; 0 takes any that is free'],
    ['--errors <SHAPE>', 'flat as specified, or nested as the official clients of the service read them'],
    ['--today <WHAT>', 'the day that ranges count back from: data (the newest bar) or clock (UTC)'],
    ['--tls-cert <FILE>', 'certificate chain, PEM'],
    ['--tls-key <FILE>', 'its private key, PEM'],
    ['--metrics <WHO>', 'who is shown /metrics: loopback or any'],
    ['--log-level <LEVEL>', 'trace, debug, info, warn, error or silent; info unless given'],
    ['--max-connections <N>', 'more than these are turned away; 1000 unless given'],
  ],
  examples: [
    'bands serve',
    'bands serve --port 0 --errors nested --log-level warn',
    'bands serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem',
  ],
  notes: [
    'Who asks needs a key: bands accounts create, bands keys create. The account of the key decides the tier.',
    'Listens for other machines (--host) only with TLS, or with --allow-plain-http.',
    'Tells on stdout where it listens, then logs one JSON line a request on stderr. Ctrl-C or SIGTERM lets running requests end; a second one does not.',
  ],
  async run(context, given) {
    context.refuseRemote()
    if (context.config.from.tier === '--tier') {
      const message = '--tier does not apply to serve: the account of each key has its tier (bands accounts set-tier).'
      throw new InvalidParameter(message, { param: 'tier' })
    }
    await showServing(context, await serveOptions(given, context.config))
  },
}
