// The site of docs/, as it is: a page is written once, and read on GitHub as well. A link that leads nowhere fails the build.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')
/** The copy that build.mjs makes of docs/. */
const DOCS = resolve(import.meta.dirname, '../pages')
const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const repository = about.repository.url.replace(/^git\+|\.git$/g, '')

/** The pages in the order of docs/index.md, by what a reader wants to do. */
function sidebar() {
  const rows = readFileSync(join(DOCS, 'index.md'), 'utf8').matchAll(/^\| (.+?) \| \[[^\]]+\]\(([\w-]+)\.md\)/gm)
  const tasks = [...rows].map(([, text, page]) => ({ text, link: `/${page}` }))
  const words = ['fields', 'cli', 'http', 'glossary'].map(page => ({ text: titleOf(page), link: `/${page}` }))
  return [
    { text: 'What do you want to do?', link: '/', items: tasks },
    { text: 'Look up', items: words },
  ]
}

function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(join(DOCS, `${page}.md`), 'utf8'))[1]
}

/** Links to files that are no pages lead to the repository. Throws for a file that is not there. */
function toRepository(md) {
  md.core.ruler.push('to-repository', state => {
    for (const token of state.tokens.flatMap(block => block.children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href === null || /^(#|[a-z]+:)/.test(href)) continue
      const [path] = href.split('#')
      const file = join(dirname(state.env.path), path)
      const inDocs = relative(DOCS, file)
      if (inDocs.endsWith('.md') && !inDocs.startsWith('..')) continue
      const inRoot = join('docs', inDocs)
      if (!existsSync(join(ROOT, inRoot))) throw new Error(`${state.env.path} has a dead link: ${href}`)
      token.attrSet('href', `${repository}/blob/main/${inRoot}`)
    }
  })
}

export default {
  title: 'bands',
  description: about.description,
  srcDir: 'pages',
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: false,
  markdown: { html: false, languageAlias: { crontab: 'sh' }, config: toRepository },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: repository }],
  },
}
