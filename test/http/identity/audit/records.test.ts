import { createHash } from 'node:crypto'
import { ne, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../../src/platform/db/client.ts'
import { auditLog } from '../../../../src/tables/audit.ts'
import { users } from '../../../../src/tables/auth.ts'
import { deployments } from '../../../../src/tables/deployments.ts'
import { apiKeys } from '../../../../src/tables/keys.ts'
import { models } from '../../../../src/tables/models.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { formatJson, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const AT = Date.parse('2026-03-04T05:06:07.089Z')
const clock = { epochMs: () => AT, monotonicMs: () => performance.now() }
const now = new Date(AT)

const DEPLOY = '/v1/models/deploy'
const spec = card([plainFeature('10'), plainFeature('2')])
const order = { spec, environment: 'staging', description: 'first try', auto_deploy: true }
const registration = { ...order, description: null, auto_deploy: false }
const keyOrder = { name: 'nightly batch', scopes: ['read', 'score'], environment: 'staging' }
/** In an order, with numbers and with characters that a database may be tempted to change. */
const oddSpec = `{"zeta":[1e300,-0.1,"\\u0000\\ud800"],"10":{"2":null,"1":""},${JSON.stringify(spec).slice(1)}`

/** Every row of every table, as text. */
async function everythingIn(db: Database): Promise<string> {
  // Each driver answers rows in a form of its own: a list, or an object with one.
  const queryRows = async (query: string): Promise<Array<Record<string, unknown>>> => {
    const found: unknown = await db.execute(sql.raw(query))
    return Array.isArray(found) ? [...found] : Object(found).rows
  }
  const tables = await queryRows(
    "select table_name from information_schema.tables where table_schema = 'public'",
  )
  const texts: string[] = []
  for (const { table_name: table } of tables) {
    const rows = await queryRows(`select t::text as row from "${table}" t`)
    texts.push(...rows.map(({ row }) => `${table}: ${row}`))
  }
  return texts.join('\n')
}

/** What the service has written. On the embedded database only once the service has ended. */
async function writtenBy(service: TestService) {
  await service.app.close()
  await service.services.close()
  return withDatabase(service.config, async (db) => ({
    models: await db.select().from(models),
    deployments: await db.select().from(deployments),
    keys: await db.select().from(apiKeys),
    // Without those of sign-ins, which belong to no change.
    audit: await db.select().from(auditLog).where(ne(auditLog.action, 'session.sign_in')),
    users: await db.select().from(users),
    everything: await everythingIn(db),
  }))
}

describe.each(backends)('the records of management on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock })
  let answers: Record<
    'session' | 'deployed' | 'registered' | 'odd' | 'key',
    ReturnType<typeof formatJson>
  >
  let written: Awaited<ReturnType<typeof writtenBy>>
  let by: object

  beforeAll(async () => {
    const login = await service.call({ url: '/api/auth/login', body: OWNER })
    const session = formatJson(login)
    const token = session.access_token
    const post = async (url: string, body: object | string) =>
      formatJson(await service.call({ url, token, body }))
    answers = {
      session,
      deployed: await post(DEPLOY, order),
      registered: await post(DEPLOY, registration),
      odd: await post(DEPLOY, `{"spec":${oddSpec},"environment":"production","auto_deploy":true}`),
      key: await post('/v1/keys', keyOrder),
    }
    written = await writtenBy(service)
    const [user] = written.users
    by = { teamId: user?.teamId, actor: user?.id, createdAt: now }
  })

  // Without a record of who did what, no one can say later why an applicant was declined.
  test('each creation has one audit record: who, when, what', () => {
    const { deployed, registered, odd, key } = answers
    const record = (action: string, subject: string, after: object) => ({
      id: expect.stringMatching(/^aud_[0-9A-Za-z]{20,}$/),
      action,
      subject,
      after,
      position: expect.any(Number),
      before: null,
      reason: null,
      ...by,
    })
    const { name, version } = spec
    const spec_sha256 = expect.stringMatching(/^[0-9a-f]{64}$/)
    const model = { name, version, environment: 'staging', spec_sha256 }
    const switches = { is_active: true, strict_mode: false, require_approval: false }
    const deployment = { name, environment: 'staging', ...switches, cache_version: 1 }
    const production = { environment: 'production', description: null }
    const expected = [
      record('model.deploy', deployed.model_id, { ...model, description: 'first try' }),
      record('deployment.create', deployed.deployment.id, {
        ...deployment,
        champion_model_id: deployed.model_id,
      }),
      record('model.deploy', registered.model_id, { ...model, description: null }),
      record('model.deploy', odd.model_id, { ...model, ...production }),
      record('deployment.create', odd.deployment.id, {
        ...deployment,
        environment: 'production',
        champion_model_id: odd.model_id,
      }),
      record('key.create', key.id, { ...keyOrder, prefix: key.prefix }),
    ]
    expect(written.audit).toHaveLength(expected.length)
    expect(written.audit).toEqual(expect.arrayContaining(expected))
  })

  // Answers years later refer to the spec as its author sent it.
  test('a spec is stored as it was sent, with unknown properties and in its order', () => {
    const kept = written.models.find(({ id }) => id === answers.odd.model_id)
    expect(JSON.stringify(kept?.spec)).toBe(JSON.stringify(JSON.parse(oddSpec)))
  })

  test('a model starts active, with its author, its description and the version of its format', () => {
    expect(written.models).toHaveLength(3)
    expect(written.models.find(({ id }) => id === answers.deployed.model_id)).toMatchObject({
      status: 'active',
      environment: 'staging',
      description: 'first try',
      name: spec.name,
      version: spec.version,
      specVersion: '1.0',
      createdAt: now,
      deployedBy: written.users[0]?.id,
    })
  })

  test('a deployment starts active, lenient, with cache version 1 and without shadow mode', () => {
    expect(written.deployments).toHaveLength(2)
    expect(written.deployments.find(({ id }) => id === answers.deployed.deployment.id)).toEqual({
      id: answers.deployed.deployment.slug,
      name: spec.name,
      environment: 'staging',
      isActive: true,
      shadowMode: false,
      strictMode: false,
      requireApproval: false,
      emergencyRollback: true,
      cacheVersion: 1,
      cutoff: null,
      createdAt: now,
      updatedAt: now,
      championModelId: answers.deployed.model_id,
      previousChampionModelId: null,
      teamId: written.users[0]?.teamId,
    })
  })

  // Whoever reads the database or a backup of it must not be able to act for anybody.
  test('no table holds a password, a refresh token or a key, whole or in its secret part', () => {
    const { key, prefix } = answers.key
    const refreshToken = answers.session.refresh_token
    const computeHash = (text: string) => createHash('sha256').update(text).digest('hex')
    const { everything } = written
    for (const secret of [OWNER.password, refreshToken, key, key.slice(prefix.length)]) {
      expect(everything).not.toContain(secret)
    }
    expect(everything).toContain(computeHash(refreshToken))
    expect(everything).toMatch(/users: .*\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(written.keys).toMatchObject([{ keyHash: computeHash(key), keyPrefix: prefix }])
    // The search above finds what is there.
    expect(everything).toContain(keyOrder.name)
  })

  // A user who can alter the log can deny their changes.
  test("the audit log can't be altered or emptied", async () => {
    await withDatabase(service.config, async (db) => {
      for (const statement of [
        sql`update audit_log set actor = 'somebody else'`,
        sql`delete from audit_log`,
        sql`truncate audit_log`,
      ]) {
        const refused = Promise.resolve(db.execute(statement))
        await expect(refused).rejects.toMatchObject({ cause: { code: '23001' } })
      }
      expect(await db.select().from(auditLog)).toHaveLength(written.audit.length + 1)
    })
  })
})

/** Lets no audit record of these actions in. */
const refuse = (actions: string) => async (db: Database) => {
  const check = sql.raw(`check (action not in (${actions}))`)
  await db.execute(sql`alter table audit_log add constraint refused ${check}`)
}

// A change without its record, or a record without its change, would make the log worthless.
test.each(backends)('on $name a change whose record fails does not happen', async (backend) => {
  // The first record of a deploy passes, the second does not: it must take the first with it.
  const refusing = seeded(backend, refuse(`'deployment.create', 'key.create'`))
  const service = await TestService.start(refusing)
  onTestFinished(() => service.close())
  const token = await service.signIn()
  for (const call of [
    { url: DEPLOY, body: order },
    { url: '/v1/keys', body: keyOrder },
  ]) {
    // Nothing of the statement or its parameters may leave the service.
    expect(formatRefusal(await service.call({ ...call, token }))).toEqual({
      status: 500,
      error: 'internal_error',
      message: 'the service failed to handle this request',
    })
  }
  const written = await writtenBy(service)
  expect(written).toMatchObject({ models: [], deployments: [], keys: [], audit: [] })
})
