import { type Material, studyWindow } from '../study/window.js'
import type { Handler } from '../threads.js'

/** Studies a window. */
export function begin(material: Material): Handler {
  return { answer: (horizon: number) => ({ result: studyWindow(material, horizon) }) }
}
