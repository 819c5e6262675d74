import { builtText } from '../../core/built.js'
import { dataScript, Html, html } from '../../core/html.js'
import { pageScript, policyHash } from '../report/report.js'
import type { Form } from './forms.js'

export interface Page {
  html: string
  policy: string
}

/** What the page shows before its first question. */
export interface PageStart {
  version: string
  /** The newest day with bars; null without data. */
  as_of: string | null
  tickers: readonly string[]
  sample: boolean
  forms: readonly Form[]
  fields: readonly { name: string; bands: readonly string[]; summary: string }[]
}

/** The page of `bands ui`. Its policy allows its own script and style, by their hashes, and requests to this server. */
export function uiPage(start: PageStart): Page {
  const style = builtText('ui.css')
  const script = pageScript('ui.js')
  const policy = [
    "default-src 'none'",
    `script-src '${policyHash(script)}'`,
    `style-src '${policyHash(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const page = document(
    html`<style>${new Html(style)}</style>`,
    html`<div id="app"></div>
${dataScript('id="first"', start)}
<script>${new Html(script)}</script>`,
  )
  return { html: page, policy }
}

/** A page of one sentence. */
export function messagePage(text: string): Page {
  const page = document(html``, html`<main><h1>bands</h1><p>${text}</p></main>`)
  return { html: page, policy: "default-src 'none'; frame-ancestors 'none'" }
}

/** A complete HTML document, with `head` added to its head. */
function document(head: Html, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>bands</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`.text
}
