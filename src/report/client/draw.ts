import type uPlot from 'uplot'
import type { Bars, Chart } from '../charts/spec.js'
import { bandClass, markPath, outlinePath, stripeRuns } from '../charts/svg.js'
import { colour } from './colours.js'

/** Height of the strip of bands, CSS pixels. */
export const STRIPE = 9

/** Bins as wide as their edges say, whatever the distance of their middles. */
export function barsPath(u: uPlot, { edges, values, outline }: Bars): uPlot.Series.Paths {
  const place = (key: 'x' | 'y') => ({
    from: u.scales[key]!.min ?? 0,
    to: u.scales[key]!.max ?? 1,
    place: (value: number) => u.valToPos(value, key, true),
  })
  const path = new Path2D(outlinePath(edges, values, place('x'), place('y'), outline))
  return outline ? { stroke: path } : { stroke: path, fill: path }
}

/** Which band held when, along the foot. */
export function drawStripes(u: uPlot, { stripes }: Chart): void {
  if (stripes === null) return
  const { top, height } = u.bbox
  const high = STRIPE * devicePixelRatio
  clipped(u, context => {
    for (const [code, runs] of stripeRuns(stripes)) {
      context.fillStyle = colour(bandClass(code, stripes.bands.length))
      for (const { from, to } of runs) {
        const left = u.valToPos(from, 'x', true)
        context.fillRect(left, top + height - high, Math.max(u.valToPos(to, 'x', true) - left, 0.5), high)
      }
    }
  })
}

export function drawRules(u: uPlot, { rules }: Chart): void {
  const { left, top, width, height } = u.bbox
  clipped(u, context => {
    context.strokeStyle = colour('rule')
    context.lineWidth = devicePixelRatio
    context.beginPath()
    for (const at of rules.x) {
      const x = u.valToPos(at, 'x', true)
      context.moveTo(x, top)
      context.lineTo(x, top + height)
    }
    for (const at of rules.y) {
      const y = u.valToPos(at, 'y', true)
      context.moveTo(left, y)
      context.lineTo(left + width, y)
    }
    context.stroke()
  })
}

export function drawMarks(u: uPlot, { marks }: Chart): void {
  clipped(u, context => {
    for (const { tone, shape, at, values } of marks) {
      context.fillStyle = colour(tone)
      context.strokeStyle = colour('page')
      context.lineWidth = 1
      at.forEach((day, i) => {
        const [x, y] = [u.valToPos(day, 'x') * devicePixelRatio, u.valToPos(values[i]!, 'y') * devicePixelRatio]
        context.save()
        context.translate(u.bbox.left + x, u.bbox.top + y)
        context.scale(devicePixelRatio, devicePixelRatio)
        const path = new Path2D(markPath(shape, 0, 0))
        context.fill(path)
        context.stroke(path)
        context.restore()
      })
    }
  })
}

function clipped(u: uPlot, draw: (context: CanvasRenderingContext2D) => void): void {
  const { left, top, width, height } = u.bbox
  u.ctx.save()
  u.ctx.beginPath()
  u.ctx.rect(left, top, width, height)
  u.ctx.clip()
  draw(u.ctx)
  u.ctx.restore()
}
