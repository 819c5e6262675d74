import { type Material, type StudyPart, studyPart } from '../study/window.js'
import type { Handler } from '../threads.js'

/** Studies a window, or draws the path. */
export function begin(material: Material): Handler {
  return { answer: (part: StudyPart) => ({ result: studyPart(material, part) }) }
}
