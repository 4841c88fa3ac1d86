import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT, readText } from '../support/structure/documents.ts'

const run = promisify(execFile)

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly link?: boolean
}

/** Packages of the lock file that the service or its image may have, as `name@version`. */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readText('package-lock.json')) as {
    packages: Readonly<Record<string, Locked>>
  }
  const found = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  return [...new Set(found)].sort()
}

// Whoever asks whether a vulnerable package is inside reads this list, and nothing else.
test('npm run sbom lists every production dependency, and no other', async () => {
  const { stdout } = await run('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  })
  const document = JSON.parse(stdout)
  expect(document).toMatchObject({ bomFormat: 'CycloneDX', metadata: expect.any(Object) })
  const components: { readonly purl: string; readonly 'bom-ref': string }[] = document.components
  const listed = components.map(({ purl }) => {
    const [, name = '', version = ''] = /^pkg:npm\/(.+)@([^@?]+)/.exec(purl) ?? []
    return `${decodeURIComponent(name)}@${version}`
  })
  const expected = productionPackages()
  expect(expected.length).toBeGreaterThan(50)
  expect([...new Set(listed)].sort()).toEqual(expected)
  // What depends on what holds together, too.
  const refs = new Set(components.map((component) => component['bom-ref']))
  const edges: { ref: string; dependsOn: string[] }[] = document.dependencies
  const [own, ...others] = edges
  expect(own?.ref).toBe(document.metadata.component['bom-ref'])
  expect(document.metadata.component.name).toBe('scoreline')
  expect(new Set(others.map(({ ref }) => ref))).toEqual(refs)
  expect(edges.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([])
})
