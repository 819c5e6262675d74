import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { firstInQuick } from './support/full.js'
import { temporaryFolder } from './support/store.js'

const SCRIPT = 'scripts/commits.mjs'

function judged(subject: string): { status: number | null; stderr: string } {
  const file = join(temporaryFolder(), 'message')
  writeFileSync(file, `${subject}\n\nWhy it is so: a body may be of any length, and ends with a full stop.\n`)
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, file], { encoding: 'utf8' })
  return { status, stderr }
}

describe('the subject of a commit', () => {
  const GOOD = ['Seed the draws', 'Fix negative size in tar header', 'Process damaged pages', 'Revert "Fixed it"']

  test.each(firstInQuick(GOOD))('may be %o', subject => expect(judged(subject)).toEqual({ status: 0, stderr: '' }))

  const BAD = [
    ['Fixed negative size', 'begins with "Fixed", no imperative'],
    ['Fixes negative size', 'begins with "Fixes", no imperative'],
    ['Adding a page', 'begins with "Adding", no imperative'],
    ['fix negative size', 'begins with a small letter'],
    ['Fix negative size.', 'ends with a full stop'],
    [`Fix ${'very '.repeat(13)}long`, 'has 73 characters, and 65 are allowed'],
  ] as const

  test.each(firstInQuick(BAD))('is refused where it is %o', (subject, fault) => {
    const { status, stderr } = judged(subject)
    expect(status).toBe(1)
    expect(stderr).toContain(`commit "${subject}" ${fault}; write it like "Fix negative size in tar header"`)
  })
})
