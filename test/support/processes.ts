import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DIST = join(ROOT, 'dist')

/** Bundles a TypeScript program of the tests into a file that node runs, so that real processes run today's sources. */
export async function bundled(program: string, folder: string): Promise<string> {
  const outfile = join(folder, 'program.cjs')
  await build({
    entryPoints: [join(ROOT, program)],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    // Of a package with two forms, the one that can be bundled.
    mainFields: ['module', 'main'],
    target: 'node22',
    define: { 'import.meta.url': 'bandsFileUrl', 'import.meta.dirname': 'bandsFolder' },
    // As if it lay where the product does, so that it finds what lies beside that.
    banner: {
      js: `const [bandsFolder, bandsFileUrl] = ${JSON.stringify([DIST, pathToFileURL(join(DIST, 'program.js')).href])};`,
    },
    logLevel: 'error',
  })
  return outfile
}

export interface Started {
  child: ChildProcess
  /** Lines of its output that are whole. */
  lines(): string[]
  /** Settles with its exit code, null when it was killed. */
  ended: Promise<number | null>
}

/** Starts such a file; packages are found where the project has them. */
export function started(file: string, words: readonly string[]): Started {
  const child = spawn(process.execPath, [file, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return {
    child,
    lines: () =>
      text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .filter(Boolean),
    ended: new Promise(resolve => child.on('close', code => resolve(code))),
  }
}
