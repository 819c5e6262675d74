import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { scratch } from './cli/support/run.js'

/** The site of docs/: built from its own lockfile, without the network, and no link in it leads nowhere. */
const REQUIRED = process.env.BANDS_SITE === 'required'
const isInstalled = existsSync('site/node_modules/vitepress')
const folder = scratch()
const out = folder.file('site')
afterAll(folder.remove)

function build(docs: string): { status: number | null; printed: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['site/build.mjs', docs, out], { encoding: 'utf8' })
  return { status, printed: stdout + stderr }
}

/** The file of an address of the site. */
function fileOf(page: string, path: string): string {
  const file = path.startsWith('/') ? path.slice(1) : path === '' ? page : join(dirname(page), path)
  return /\.\w+$/.test(file) ? file : file === '' || file.endsWith('/') ? `${file}index.html` : `${file}.html`
}

describe.skipIf(!isInstalled && !REQUIRED)(
  `the site of docs/${isInstalled ? '' : ' (npm ci --prefix site installs VitePress)'}`,
  () => {
    it('has every page, and links only to what is there', () => {
      const { status, printed } = build('docs')
      expect(status, printed).toBe(0)
      const names = (of: string, ending: string) =>
        readdirSync(of, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith(ending))
      const pages = names(out, '.html')
      expect(pages.filter(name => name !== '404.html').sort()).toEqual(
        names('docs', '.md')
          .map(name => name.replace(/md$/, 'html'))
          .sort(),
      )
      const texts = new Map(pages.map(page => [page, readFileSync(join(out, page), 'utf8')]))
      const dead = [...texts].flatMap(([page, text]) =>
        [...text.matchAll(/<a [^>]*href="([^":]*)"/g)].flatMap(([, href]) => {
          const [path = '', anchor] = href!.split('#')
          const file = fileOf(page, path)
          const target = texts.get(file)
          if (target === undefined) return existsSync(join(out, file)) ? [] : [`${page}: ${href}`]
          return !anchor || target.includes(`id="${decodeURI(anchor)}"`) ? [] : [`${page}: ${href}`]
        }),
      )
      expect(dead).toEqual([])
      expect(existsSync('site/pages')).toBe(false)
    })

    it.each(['missing.md', '../missing.md', 'deploy/missing.yml'])('is not built with a link to %s', link => {
      const docs = folder.file(`docs-${link.replaceAll(/\W/g, '-')}`)
      mkdirSync(docs)
      for (const page of ['fields', 'cli', 'http', 'glossary']) writeFileSync(join(docs, `${page}.md`), `# ${page}\n`)
      writeFileSync(join(docs, 'index.md'), `# Pages\n\n[A page](${link})\n`)
      const { status, printed } = build(docs)
      expect(status).toBe(1)
      expect(printed).toMatch(/dead link/)
      expect(existsSync('site/pages')).toBe(false)
    })
  },
)
