// What every report page carries: one script, and one style sheet.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const CLIENT = fileURLToPath(new URL('../src/app/report/client/', import.meta.url))

/** Writes report.js and report.css; returns what esbuild tells of the packages in them. */
export async function buildReport(dist) {
  const { metafile } = await build({
    entryPoints: ['main.ts', 'report.css'].map(name => ({ in: CLIENT + name, out: 'report' })),
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
