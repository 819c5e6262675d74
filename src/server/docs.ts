import { Html, html } from './docs/html.js'
import { operationsOf, operationTables } from './docs/operations.js'
import { authentication, errors, fields, headers, schemas, tiers } from './docs/reference.js'
import { STYLE } from './docs/style.js'
import { prose } from './docs/words.js'
import type { OpenApiDocument } from './openapi/document.js'
import { sha256 } from './sha256.js'

export interface DocsPage {
  html: string
  /** For the header Content-Security-Policy: this page's own style, and nothing else from anywhere. */
  csp: string
}

/** One readable page, made of the document alone: no script, nothing that is loaded, whatever the document says. */
export function docsPage(document: OpenApiDocument): DocsPage {
  const { title, version } = document.info
  const sections = sectionsOf(document)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}</title>
<style>${STYLE_TAG}</style>
</head>
<body>
<header>
<h1>${title} <span class="faint">${version}</span></h1>
${prose(document.info.description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI ${document.openapi}.</p>
</header>
<nav aria-label="Contents"><ul>
${sections.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>\n`)}</ul></nav>
<main>
${sections.map(sectionHtml)}</main>
</body>
</html>
`
  return { html: page.text, csp: CSP }
}

interface Section {
  id: string
  title: string
  body: Html
}

function sectionsOf(document: OpenApiDocument): Section[] {
  return [
    { id: 'authentication', title: 'Authentication', body: authentication(document) },
    { id: 'tiers', title: 'Tiers and limits', body: tiers(document) },
    ...operationsOf(document).map(({ path, operation }) => ({
      id: operation.operationId,
      title: `GET ${path}`,
      body: operationTables(document, operation),
    })),
    { id: 'errors', title: 'Errors', body: errors(document) },
    { id: 'headers', title: 'Headers of answers', body: headers(document) },
    { id: 'fields', title: 'Fields and their bands', body: fields(document) },
    { id: 'schemas', title: 'Schemas', body: schemas(document) },
  ]
}

function sectionHtml({ id, title, body }: Section): Html {
  return html`<section id="${id}">\n<h2><a href="#${id}">${title}</a></h2>\n${body}</section>\n`
}

/** The hash is of what stands between the tags, to the letter. */
const STYLE_TAG = new Html(STYLE)
const CSP = [
  "default-src 'none'",
  `style-src 'sha256-${sha256(STYLE).toString('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
