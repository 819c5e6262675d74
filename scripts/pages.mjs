// What the pages carry: a script and a style sheet for reports, and another two for the page of `bands ui`.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const CLIENTS = { report: 'report/client/', ui: 'ui/client/' }

/** Writes NAME.js and NAME.css of each; returns what esbuild tells of the packages in them. */
export async function buildPages(dist) {
  const entryPoints = Object.entries(CLIENTS).flatMap(([name, folder]) =>
    ['main.ts', `${name}.css`].map(file => ({
      in: fileURLToPath(new URL(`../src/app/${folder}${file}`, import.meta.url)),
      out: name,
    })),
  )
  const { metafile } = await build({
    entryPoints,
    outdir: dist,
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: ['es2022', 'chrome112', 'firefox115', 'safari16.4'],
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  return metafile
}
