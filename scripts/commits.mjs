// node scripts/commits.mjs [FILE]: holds the subjects of commits to one line of at most 65 characters in the imperative: all
// since the rule began, or the message in a file, as git's hook commit-msg asks (git config core.hooksPath scripts/hooks).
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The last commit before the rule. */
const BEFORE = '5099b9c'
const LONGEST = 65
/** First words that end like a past or a third person, and are an imperative. */
const IMPERATIVE =
  /^(Embed|Feed|Need|Seed|Speed|Shed|Bring|Ring|String|Pass|Process|Address|Access|Compress|Cross|Discuss|Dismiss|Express|Focus|Guess|Miss|Press|Stress|Toss)$/

function faultOf(subject) {
  const [first = ''] = subject.split(' ')
  if (/^(Merge|Revert|fixup!|squash!)/.test(subject)) return null
  if (subject.length > LONGEST) return `has ${subject.length} characters, and ${LONGEST} are allowed`
  if (!/^[A-Z]/.test(subject)) return 'begins with a small letter'
  if (subject.endsWith('.')) return 'ends with a full stop'
  if (/(ed|ing|[^s]s|ss)$/.test(first) && !IMPERATIVE.test(first)) return `begins with "${first}", no imperative`
  return null
}

function subjects() {
  const [file] = process.argv.slice(2)
  if (file !== undefined) return [readFileSync(file, 'utf8').split('\n')[0]]
  const git = (...words) =>
    execFileSync('git', words, {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  try {
    return git('log', '--format=%s', `${BEFORE}..HEAD`).trim().split('\n').filter(Boolean)
  } catch {
    process.stderr.write('subjects of commits are not read: the history does not reach back to where the rule began\n')
    return []
  }
}

for (const subject of subjects()) {
  const fault = faultOf(subject)
  if (fault === null) continue
  process.stderr.write(`commit "${subject}" ${fault}; write it like "Fix negative size in tar header"\n`)
  process.exitCode = 1
}
