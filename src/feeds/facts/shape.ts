import type * as z from 'zod'
import { BadData } from '../../errors.js'

/** A part of a vendor's document in the shape that it must have; throws BadData that names the first place that has not. */
export function shaped<Shape extends z.ZodType>(
  file: string,
  shape: Shape,
  value: unknown,
  what: string,
  at: readonly string[] = [],
): z.infer<Shape> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const place = [...at, ...path].join('.')
  throw new BadData({ file }, `this looks like ${what}, but ${place || 'it'} is not as it should be (${message})`)
}
