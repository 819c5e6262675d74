// Bundles the two entry points into dist/: shared code in chunks, so that a command loads only what it needs.
// better-sqlite3 stays outside (native); everything else is inlined, so an installed bands has one dependency.
import { rmSync } from 'node:fs'
import { build } from 'esbuild'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
await build({
  entryPoints: { index: 'src/index.ts', 'cli/main': 'src/cli/main.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: ['better-sqlite3'],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  logLevel: 'warning',
  // CommonJS packages inlined into ES modules still call require for node's own modules.
  banner: {
    js: "import { createRequire as bandsRequire } from 'node:module';const require=bandsRequire(import.meta.url);",
  },
})
