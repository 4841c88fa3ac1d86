import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { ROLES } from '../../src/http/access/caller.ts'
import { VARIABLE_FILES } from '../support/structure/variable-files.ts'

const ROOT = new URL('../../', import.meta.url)
const CHART = 'docker/helm/scoreline/'

const text = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: other projects define the schemas of manifests.
type Document = any

const chart: Document = parse(text(`${CHART}Chart.yaml`))
const values: Document = parse(text(`${CHART}values.yaml`))
const schema: Document = JSON.parse(text(`${CHART}values.schema.json`))
const templates = readdirSync(new URL(`${CHART}templates/`, ROOT)).map((name) => ({
  name,
  body: text(`${CHART}templates/${name}`),
}))
const template = (name: string) =>
  templates.find((one) => one.name === name)?.body ?? expect.fail(`there is no ${name}`)
const manifests: Document[] = parseAllDocuments(text('docker/kubernetes/scoreline.yaml')).map(
  (document) => document.toJS(),
)
const manifest = (kind: string) => manifests.find((one) => one.kind === kind)
const [container] = manifest('StatefulSet').spec.template.spec.containers
const isValid = new Ajv({ allowUnionTypes: true }).compile(schema)

/** What the client of buckets reads by itself. */
const OF_BUCKETS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']

const variablesRead = new Set([
  ...OF_BUCKETS,
  ...VARIABLE_FILES.flatMap((path) => text(path).match(/'[A-Z][A-Z_]+'/g) ?? []).map((name) =>
    name.slice(1, -1),
  ),
])

// A misspelt variable has no effect, and no error says so.
test('the service reads every variable that the chart sets or names', () => {
  const set = [
    ...Object.keys(values.config),
    ...[...template('configmap.yaml').matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name = '']) => name),
    ...schema.properties.config.propertyNames.allOf[1].not.enum,
    ...(text(`${CHART}values.yaml`).match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? []),
  ]
  expect(set.length).toBeGreaterThan(20)
  expect(set.filter((name) => !variablesRead.has(name))).toEqual([])
})

// Whoever sets single sign-on up by the chart must reach all of it.
test('each variable of single sign-on is a value of the chart, or a secret', () => {
  const names = [...variablesRead].filter((name) =>
    /^(OIDC_|PASSWORD_LOGIN|BREAK_GLASS)/.test(name),
  )
  const rendered = [...template('configmap.yaml').matchAll(/^ {2}([A-Z_]+):/gm)]
  const set = rendered.map(([, name]) => name)
  expect(names.length).toBeGreaterThan(7)
  expect(names.filter((name) => !set.includes(name))).toEqual(['OIDC_CLIENT_SECRET'])
  const roles = schema.properties.oidc.properties.roleMap.additionalProperties.enum
  expect(roles.toSorted()).toEqual([...ROLES].sort())
})

describe('the schema of the values', () => {
  const changed = (change: (copy: Document) => void): Document => {
    const copy = structuredClone(values)
    change(copy)
    return copy
  }

  test('takes the published values', () => {
    isValid(values)
    expect(isValid.errors).toBeNull()
  })

  test('names each value of the first level, so that all are checked', () => {
    const known = Object.keys(schema.properties).filter((name) => name !== 'global')
    expect(known.toSorted()).toEqual(Object.keys(values).toSorted())
  })

  // A lender brings an authority, secrets as files, and the proxy of a managed database.
  test('takes volumes, variables, containers, secrets as files and an authority', () => {
    const own = changed((copy) =>
      Object.assign(copy, {
        extraVolumes: [{ name: 'vault', csi: { driver: 'secrets-store.csi.k8s.io' } }],
        extraVolumeMounts: [{ name: 'vault', mountPath: '/vault', readOnly: true }],
        extraEnv: [{ name: 'JWT_SECRET_FILE', value: '/vault/jwt' }],
        extraContainers: [{ name: 'proxy', image: 'proxy:2.1.0' }],
        initContainers: [{ name: 'wait', image: 'wait:1.0.0' }],
        tls: { caSecret: 'lender-ca', caKey: 'ca.crt' },
      }),
    )
    own.secrets.asFiles = ['DATABASE_URL', 'REDIS_URL', 'JWT_SECRET']
    own.networkPolicy.egressRules = [{ ports: [{ port: 5432 }] }]
    isValid(own)
    expect(isValid.errors).toBeNull()
  })

  // Helm renders what it does not know without a word.
  test.each<[string, (copy: Document) => void]>([
    ['a misspelt value', (copy) => Object.assign(copy, { replica: 3 })],
    [
      'a volume without a name',
      (copy) => Object.assign(copy, { extraVolumes: [{ emptyDir: {} }] }),
    ],
    [
      'a file for a variable that is read from no file',
      (copy) => Object.assign(copy.secrets, { asFiles: ['LOG_LEVEL'] }),
    ],
    ['a misspelt value below', (copy) => Object.assign(copy.ingress, { enable: true })],
    ['a text for a switch', (copy) => Object.assign(copy.ingress, { enabled: 'no' })],
    ['a secret among the settings', (copy) => Object.assign(copy.config, { JWT_SECRET: 'x' })],
    ...OF_BUCKETS.map((name): [string, (copy: Document) => void] => [
      `${name} among the settings`,
      (copy) => Object.assign(copy.config, { [name]: 'x' }),
    ]),
    [
      'a store of batches that the reserve of the spool does not know',
      (copy) => Object.assign(copy.config, { BATCH_MIN_FREE_BYTES: '1' }),
    ],
    ['a store of batches as a path', (copy) => Object.assign(copy.batches, { store: '/batches' })],
    ['a port that the probes do not know', (copy) => Object.assign(copy.config, { PORT: 80 })],
    ['a variable in small letters', (copy) => Object.assign(copy.config, { log_level: 'info' })],
    ['a role that does not exist', (copy) => Object.assign(copy.oidc.roleMap, { '/a': 'root' })],
    [
      'a volume that many pods share',
      (copy) => {
        copy.spool.accessModes = ['ReadWriteMany']
      },
    ],
    [
      'too little time to end',
      (copy) => {
        copy.terminationGracePeriodSeconds = 5
      },
    ],
  ])('refuses %s', (_, change) => {
    expect(isValid(changed(change))).toBe(false)
  })
})

test('chart, manifests and compose file agree on version, image, port, user and volume', () => {
  const { version } = JSON.parse(text('package.json'))
  expect(chart.appVersion).toBe(version)
  expect(`${values.image.repository}:${values.image.tag || chart.appVersion}`).toBe(container.image)
  const [compose] = parseAllDocuments(text('docker/compose.yaml'), { merge: true })
  expect(compose?.toJS().services['scoreline-1'].image).toBe(container.image)
  const pods = template('statefulset.yaml')
  const [{ containerPort }] = container.ports
  expect(pods).toContain(`containerPort: ${containerPort}`)
  expect(values.podAnnotations['prometheus.io/port']).toBe(`${containerPort}`)
  expect(text('docker/Dockerfile')).toContain(`PORT=${containerPort}`)
  expect(pods.match(/(?:runAsUser|runAsGroup|fsGroup): (\d+)/g)).toEqual([
    'runAsUser: 65532',
    'runAsGroup: 65532',
    'fsGroup: 65532',
  ])
  expect(pods).toContain(`mountPath: ${container.volumeMounts[0].mountPath}`)
  const [claim] = manifest('StatefulSet').spec.volumeClaimTemplates
  expect(values.spool.size).toBe(claim.spec.resources.requests.storage)
  expect(`${values.spool.maxBytes}`).toBe(container.env[0].value)
  expect(`${values.spool.maxBytes + 1024 ** 3}`).toBe(container.env[1].value)
  expect(template('configmap.yaml')).toContain(
    'BATCH_MIN_FREE_BYTES: {{ add .Values.spool.maxBytes 1073741824 |',
  )
})

test('chart and manifests agree on probes, resources, the end of a pod and scaling', () => {
  const { startupProbe: startup, livenessProbe: liveness, readinessProbe: readiness } = container
  expect(values.probes).toEqual({ startup, liveness, readiness })
  expect(values.resources).toEqual(container.resources)
  const pod = manifest('StatefulSet').spec.template.spec
  expect(values.terminationGracePeriodSeconds).toBe(pod.terminationGracePeriodSeconds)
  expect(values.preStopSleepSeconds).toBe(container.lifecycle.preStop.sleep.seconds)
  const { spec } = manifest('HorizontalPodAutoscaler')
  expect(values.autoscaling).toEqual({
    enabled: true,
    min: spec.minReplicas,
    max: spec.maxReplicas,
    cpuPercent: spec.metrics[0].resource.target.averageUtilization,
    scaleDownSeconds: spec.behavior.scaleDown.stabilizationWindowSeconds,
  })
  expect(values.disruptionBudget.maxUnavailable).toBe(
    manifest('PodDisruptionBudget').spec.maxUnavailable,
  )
})

// A secret that is a file and a variable at the same time stops the start.
test('secrets as files are the ones that the service reads from files, and no variables beside', () => {
  const offered: string[] = schema.properties.secrets.properties.asFiles.items.enum
  const read = [...text('docs/configuration.md').matchAll(/`([A-Z_]+)_FILE`/g)].map(
    ([, name]) => name,
  )
  expect(offered.toSorted()).toEqual([...new Set(read)].sort())
  const pods = template('statefulset.yaml')
  expect(pods).toMatch(
    /if not \.Values\.secrets\.asFiles \}\}\n\s+- secretRef: \{ name: \{\{ include "scoreline\.secret"/,
  )
})

test('pods start anew when their settings or Secrets change', () => {
  const pods = template('statefulset.yaml')
  expect(pods).toMatch(/checksum\/config: .*configmap\.yaml.*sha256sum/)
  expect(pods).toMatch(/checksum\/secrets: .*scoreline\.secretsData.*sha256sum/)
})

// The pods of an upgrade must not come before their tables.
test('tables are made by a job before pods, as a role that pods need not have', () => {
  const job = template('migrate.yaml')
  expect(job).toContain('helm.sh/hook: pre-install,pre-upgrade')
  expect(job).toMatch(/- migrate\n.*\n\s+- --grant-to\n\s+- \{\{ \. \| quote \}\}/)
  expect(job).toContain('secretKeyRef: { name: {{ .secret }}, key: {{ .key }} }')
  expect(job).not.toContain('scoreline.selector')
})

// A volume that goes with its pod takes answered scores with it.
test('volumes stay when pods or the release go, and pods write nowhere else', () => {
  const pods = template('statefulset.yaml')
  expect(pods).toMatch(/whenScaled: Retain\n\s+whenDeleted: Retain/)
  expect(pods).toContain('readOnlyRootFilesystem: true')
  expect(pods).toContain('runAsNonRoot: true')
  expect(pods).toContain('capabilities: { drop: [ALL] }')
})

test('the ingress forwards what the balancer of the compose file forwards, and no probe', () => {
  const haproxy = text('docker/haproxy.cfg')
  const [, begins = ''] = /acl public path_beg (.+)/.exec(haproxy) ?? []
  const [, exact = ''] = /acl public path (.+)/.exec(haproxy) ?? []
  const paths: { path: string; pathType: string }[] = values.ingress.paths
  const forwarded = [...begins.split(' '), ...exact.split(' ')].map((path) =>
    path.replace(/^(\/console|\/docs)\/$/, '$1'),
  )
  expect(paths.map(({ path }) => path).sort()).toEqual([...new Set(forwarded)].sort())
  const wide = paths.filter(({ path, pathType }) => path === '/' && pathType === 'Prefix')
  expect(wide).toEqual([])
  expect(JSON.stringify(paths)).not.toMatch(/livez|readyz|metrics/)
})

// A template that names a value which does not exist renders as nothing.
test('each value that a template names exists', () => {
  const named = templates.flatMap(({ name, body }) =>
    [...body.matchAll(/\.Values((?:\.[A-Za-z]+)+)/g)].map(([, path = '']) => ({ name, path })),
  )
  const missing = named.filter(({ path }) => {
    const [, ...steps] = path.split('.')
    let at: Document = values
    for (const step of steps) at = at?.[step]
    return at === undefined
  })
  expect(named.length).toBeGreaterThan(40)
  expect(missing).toEqual([])
})

test('the settings of the chart are ones that the service starts with', () => {
  expect(() => loadConfig(values.config)).not.toThrow()
})
