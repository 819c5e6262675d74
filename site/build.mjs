// node build.mjs [DOCS [OUT]]: builds the site of a folder of pages (default docs/ of the repository) into a folder (default dist/).
import { cpSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'vitepress'

const HERE = import.meta.dirname
const [docs = join(HERE, '../docs'), out = join(HERE, 'dist')] = process.argv.slice(2)
// Vite finds its packages only from pages below this folder.
const pages = join(HERE, 'pages')
rmSync(pages, { recursive: true, force: true })
cpSync(resolve(docs), pages, { recursive: true })
try {
  await build(HERE, { outDir: resolve(out) })
} finally {
  rmSync(pages, { recursive: true, force: true })
}
