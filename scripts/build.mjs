// Bundles the two entry points into dist/: shared code in chunks, so that a command loads only what it needs.
// Every package is inlined (a dozen small files cost more to find than one chunk to read); of better-sqlite3 only the
// compiled module stays outside, so an installed bands has that one dependency.
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
  minifySyntax: true,
  legalComments: 'linked',
  logLevel: 'warning',
  // CommonJS packages inlined into ES modules still call require for node's own modules.
  banner: {
    js: "import { createRequire as bandsRequire } from 'node:module';const require=bandsRequire(import.meta.url);",
  },
})
