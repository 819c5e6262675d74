// What is measured: the build of this checkout, that of any commit, or a folder that holds one.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './folder.mjs'

const HERE = fileURLToPath(new URL('..', import.meta.url))

/** This checkout, as it is built. */
export function ownBuild() {
  return buildIn(HERE)
}

/** @param name a commit, or the folder of a checkout that is built */
export function buildOf(name, print) {
  if (existsSync(join(name, 'dist'))) return buildIn(resolve(name))
  const commit = git(HERE, 'rev-parse', '--verify', `${name}^{commit}`)
  const root = join(FOLDER, `build-${commit.slice(0, 12)}`)
  if (!existsSync(root)) {
    print(`building ${commit.slice(0, 9)} …`)
    git(HERE, 'worktree', 'add', '--detach', root, commit)
    process.on('exit', () => git(HERE, 'worktree', 'remove', '--force', root))
    packages(root, HERE)
    execFileSync('npm', ['run', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return buildIn(root)
}

/** The same packages are lent; others are installed. */
function packages(there, here) {
  const lock = folder => readFileSync(join(folder, 'package-lock.json'), 'utf8')
  if (lock(there) === lock(here)) symlinkSync(join(here, 'node_modules'), join(there, 'node_modules'))
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: there, stdio: ['ignore', 'ignore', 'inherit'] })
}

function buildIn(root) {
  if (!existsSync(join(root, 'dist', 'cli', 'main.js'))) throw new Error(`nothing is built in ${root}: npm run build`)
  const bands = [process.execPath, join(root, 'bin', 'bands.js')]
  return { root, bands: (...words) => [...bands, ...words], library: join(root, 'dist', 'index.js'), ...commitOf(root) }
}

/** Changes that are not committed are another build than the commit. */
function commitOf(root) {
  try {
    const commit = git(root, 'rev-parse', '--short=9', 'HEAD')
    const isChanged = git(root, 'status', '--porcelain', '--untracked-files=no', '--', 'src', 'bin', 'scripts') !== ''
    return { commit, name: isChanged ? `${commit} with changes` : commit, isChanged }
  } catch {
    return { commit: null, name: root, isChanged: true }
  }
}

function git(cwd, ...words) {
  return execFileSync('git', words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
