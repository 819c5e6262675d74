import { type Html, html } from '../html.js'

/** Why numbers are missing, one line a reason. */
export function reasons(told: readonly { where: string; reasons: Record<string, string> }[]): Html {
  const places = new Map<string, { what: string; reason: string; of: string[] }>()
  for (const { where, reasons } of told) {
    for (const [key, reason] of Object.entries(reasons)) {
      const what = key.replace(/[_.]/g, ' ')
      const known = places.get(`${what}: ${reason}`)
      if (known === undefined) places.set(`${what}: ${reason}`, { what, reason, of: [where] })
      else known.of.push(where)
    }
  }
  if (places.size === 0) return html``
  return html`<div class="why"><p>Why some numbers are missing:</p>
<ul>${[...places.values()].map(({ what, reason, of }) => {
    const names = of.filter(Boolean).join(', ')
    return html`<li>${what}${names !== '' && ` (${names})`}: ${reason}</li>`
  })}</ul></div>`
}
