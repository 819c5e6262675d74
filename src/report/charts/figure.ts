import { dataScript, type Html, html, type Piece } from '../html.js'
import { bandClass } from './band-class.js'
import { type Chart, isEmpty, type Line } from './spec.js'
import { drawing } from './svg.js'

/** A chart in the page: its name, its legend, the drawing, and the values for the page's script. */
export function figure(chart: Chart, caption: Piece = ''): Html {
  return html`<figure class="chart" id="${chart.id}">
<figcaption><strong>${chart.title}</strong> ${caption}</figcaption>
${!isEmpty(chart) && legend(chart)}
<div class="plot" hidden></div>
<div class="paper">${drawing(chart)}</div>
${!isEmpty(chart) && dataScript('data-chart', chart)}
</figure>`
}

/** Every part of the drawing that has a name. `data-part` tells the script which values are its own. */
function legend({ lines, ribbons, bars, marks, stripes }: Chart): Html {
  const part = (kind: string, i: number, swatch: string, label: string): Html =>
    html`<li data-part="${kind} ${i}"><span class="swatch ${swatch}"></span>${label}</li>`
  return html`<ul class="legend">
${lines.map((line, i) => part('line', i, `${line.tone} ${lineSwatch(line)}`, line.label))}
${ribbons.map(({ tone, label }, i) => part('ribbon', i, `${tone} block soft`, label))}
${bars.map(({ tone, label, outline }, i) => part('bars', i, `${tone} ${outline ? 'stroke' : 'block'}`, label))}
${marks.map(({ tone, label, shape }, i) => part('marks', i, `${tone} ${shape}`, label))}
${stripes?.bands.map((band, code) => html`<li><span class="swatch block ${bandClass(code, stripes.bands.length)}"></span>${band}</li>`)}
</ul>`
}

function lineSwatch({ area, dashed }: Line): string {
  return area ? 'block soft' : dashed ? 'stroke dashed' : 'stroke'
}
