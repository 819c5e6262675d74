// node scripts/sbom.mjs: the bill of materials (CycloneDX) of the built package. `npm sbom` lists what a checkout installs; the
// package carries only those packages that dist/LICENSES.txt names, which the build bundles.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const licences = readFileSync('dist/LICENSES.txt', 'utf8')
const carried = new Set(
  [...licences.matchAll(/^(\S+) (\d+\.\d+\.\d+\S*) \(.+\)$/gm)].map(([, name, version]) => `${name}@${version}`),
)
const all = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 2 ** 26 }),
)
const nameOf = ({ group, name, version }) =>
  `${group === undefined || name.startsWith('@') ? '' : `${group}/`}${name}@${version}`
const components = all.components.filter(component => carried.has(nameOf(component)))
const found = new Set(components.map(nameOf))
const lost = [...carried].filter(name => !found.has(name))
if (lost.length > 0) throw new Error(`npm sbom does not list ${lost.join(', ')}`)

const refs = new Set([all.metadata.component['bom-ref'], ...components.map(component => component['bom-ref'])])
// In the package they are no longer development dependencies.
const plain = components.map(({ scope: _scope, properties: _properties, ...component }) => component)
const dependencies = all.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(other => refs.has(other)) }))
// npm names it after the folder of the checkout.
const { name } = JSON.parse(readFileSync('package.json', 'utf8'))
const metadata = { ...all.metadata, component: { ...all.metadata.component, name } }
process.stdout.write(`${JSON.stringify({ ...all, metadata, components: plain, dependencies }, null, 2)}\n`)
