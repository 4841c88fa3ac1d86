/**
 * How soon a change is in force in all replicas: 100 promotions, 100 rollbacks and 100 revocations,
 * each made at one of two replicas, until the other one, and the first, serve it. Time counts from
 * the answer to the change. Once with Redis, one change after the other; once with Redis killed,
 * all at once, as each takes up to the time-to-live then.
 *
 *   npm run bench -- propagation [--changes 100] [--ttl 60]
 *
 * Needs `redis-server`, of which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { card, plainFeature } from '../../test/support/cards/cards.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { post } from '../../test/support/start/process.ts'
import { startRedis } from '../lib/backends.ts'
import { done, Fleet, needed } from '../lib/fleet.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '100' },
    ttl: { type: 'string', default: '60' },
  },
})
const changes = Number(values.changes)
const ttlSec = Number(values.ttl)
/** Between two looks at a change; without Redis there are as many looks at once as changes. */
const LOOK_MS = { published: 1, unpublished: 200 } as const

type Kind = 'promotion' | 'rollback' | 'revocation'

/** A deployment with a challenger, and keys to revoke. */
interface Subject {
  readonly slug: string
  readonly key: string
  readonly keyId: string
}

const [first, second] = [0, 1] as const

async function makeSubject(fleet: Fleet, token: string, number: number): Promise<Subject> {
  const url = fleet.formatUrl(first)
  const deploy = (version: string, isDeployed: boolean) =>
    done(`${url}/v1/models/deploy`, token, {
      spec: { ...card([plainFeature('income')]), name: `card ${number}`, version },
      environment: 'production',
      auto_deploy: isDeployed,
    })
  const { deployment } = await deploy('1.0', true)
  const { slug } = deployment as { slug: string }
  await deploy('2.0', false)
  const { key, id } = await done(`${url}/v1/keys`, token, { name: 'bench' })
  const subject = { slug, key: String(key), keyId: String(id) }
  for (const position of [first, second]) {
    if ((await served(fleet, position, subject)) !== '1.0') throw new Error('not served')
  }
  return subject
}

/** Version that answers, or the code of the refusal. */
async function served(fleet: Fleet, position: number, { slug, key }: Subject): Promise<unknown> {
  const { body } = await post(`${fleet.formatUrl(position)}/v1/score/${slug}`, { income: 1 }, key)
  return body['model_version'] ?? body['error']
}

const EXPECTED: Readonly<Record<Kind, string>> = {
  promotion: '2.0',
  rollback: '1.0',
  revocation: 'invalid_api_key',
}

/** Makes the change at the first replica. */
async function change(fleet: Fleet, token: string, kind: Kind, subject: Subject): Promise<void> {
  const url = fleet.formatUrl(first)
  const { slug, keyId } = subject
  if (kind === 'promotion') {
    const added = await done(`${url}/api/v1/scorecards/${slug}/challengers`, token, {
      challenger_version: '2.0',
      traffic_pct: 10,
      mode: 'shadow',
    })
    const { id } = added['challenger'] as { id: string }
    // Adding is a change too; only the promotion is measured.
    await setTimeout(20)
    await done(`${url}/v1/deployments/${slug}/promote`, token, { challenger_id: id })
  } else if (kind === 'rollback') {
    await done(`${url}/v1/deployments/${slug}/rollback`, token, { reason: 'bench' })
  } else {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${url}/v1/keys/${keyId}`, { method: 'DELETE', headers })
    if (status !== 204) throw new Error(`revocation: ${status}`)
  }
}

/** @returns milliseconds from the answer until both replicas serve the change */
async function measure(
  fleet: Fleet,
  token: string,
  { kind, subject, lookMs }: { kind: Kind; subject: Subject; lookMs: number },
): Promise<number> {
  await change(fleet, token, kind, subject)
  const answeredAtMs = performance.now()
  const delays = [first, second].map(async (position) => {
    while ((await served(fleet, position, subject)) !== EXPECTED[kind]) await setTimeout(lookMs)
    return performance.now() - answeredAtMs
  })
  return Math.max(...(await Promise.all(delays)))
}

const table: Record<string, unknown> = {}
const measured: Measured[] = []

function report(name: string, delaysMs: readonly number[]): void {
  const ms = (value: number) => Number(value.toFixed(1))
  measured.push({ name, rounds: delaysMs.map((delayMs) => ({ delayMs })) })
  table[name] = {
    changes: delaysMs.length,
    'p50 ms': ms(percentile(delaysMs, 0.5)),
    'p99 ms': ms(percentile(delaysMs, 0.99)),
    'max ms': ms(Math.max(...delaysMs)),
  }
}

const serverUrl = needed('TEST_DATABASE_URL')
const env = { SPEC_CACHE_TTL_SECONDS: `${ttlSec}` }
const redis = await startRedis()
const fleet = await Fleet.start({ replicas: 2, serverUrl, redisUrl: redis.url, env })
try {
  const token = await fleet.signIn()
  for (const isPublished of [true, false]) {
    const subjects: Subject[] = []
    for (let number = 0; number < changes; number++) {
      subjects.push(await makeSubject(fleet, token, isPublished ? number : changes + number))
    }
    if (!isPublished) await redis.kill()
    for (const kind of ['promotion', 'rollback', 'revocation'] as const) {
      const lookMs = isPublished ? LOOK_MS.published : LOOK_MS.unpublished
      const delaysMs: number[] = []
      const underWay: Promise<void>[] = []
      for (const subject of subjects) {
        const one = measure(fleet, token, { kind, subject, lookMs }).then(
          (delayMs) => void delaysMs.push(delayMs),
        )
        if (isPublished) await one
        else underWay.push(one)
      }
      await Promise.all(underWay)
      report(
        `${kind}, ${isPublished ? 'by message' : `Redis away, time-to-live ${ttlSec} s`}`,
        delaysMs,
      )
    }
  }
  console.log(`Node ${process.version}, two replicas, time until a change is in force in both`)
  console.table(table)
  storeResult('propagation', { replicas: 2, changes, ttlSec }, [{ name: 'propagation', measured }])
} finally {
  await fleet.remove()
  await redis.remove()
}
