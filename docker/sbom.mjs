// Prints what the service consists of, as CycloneDX: `npm run sbom`.
//
// npm's own `--omit dev` also leaves out packages that the service needs, if they are named among
// the tools for development as well, and all that only these need. So this takes npm's whole list,
// and leaves out what npm marks as needed for development alone.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BYTES_MAX = 64 * 1024 * 1024
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LIST = ['sbom', '--package-lock-only', '--no-workspaces', '--sbom-format', 'cyclonedx']
const DEVELOPMENT = 'cdx:npm:package:development'

const options = { cwd: ROOT, maxBuffer: BYTES_MAX, encoding: 'utf8' }
const whole = JSON.parse(execFileSync('npm', [...LIST, '--sbom-type', 'application'], options))
const { name } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

const components = whole.components.filter(
  ({ properties }) => !properties.some((property) => property.name === DEVELOPMENT),
)
const main = { ...whole.metadata.component, name }
const refs = new Set([main, ...components].map((component) => component['bom-ref']))
const dependencies = whole.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))

const document = {
  ...whole,
  metadata: { ...whole.metadata, component: main },
  components,
  dependencies,
}
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
