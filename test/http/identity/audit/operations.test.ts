import { beforeAll, describe, expect, test } from 'vitest'
import { OPERATION_FACTS } from '../../../support/scenarios/operation-facts.ts'
import { type Ids, ROUTES, UNKNOWN } from '../../../support/scenarios/routes.ts'
import { type Row, SCENARIOS, type Scenario } from '../../../support/scenarios/scenarios.ts'
import { BODY_BYTES_MAX } from '../../../support/scenarios/shared-scenarios.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

/** Operations that no scenario succeeds with: tests of their own hold their records. */
const ELSEWHERE = new Set([
  // test/http/identity/auth
  ...['auth.sign_on', 'auth.change_password', 'sessions.end'],
])

/** The operations that leave records, with what succeeds with each. */
const AUDITED = Object.entries(ROUTES).flatMap(([row, { operation }]) => {
  const facts = OPERATION_FACTS[operation]
  if (facts === undefined || typeof facts.audit === 'string' || ELSEWHERE.has(operation)) return []
  const endpoint = row.replace(/:(\w+)/g, '{$1}')
  const scenarios = Object.entries(SCENARIOS[endpoint] ?? {}).flatMap(([outcome, rows]) => {
    if (!/^20[0-4]/.test(outcome)) return []
    const list = (typeof rows[0] === 'string' ? [rows] : rows) as readonly Row[]
    return list.map(([, scenario]): readonly [string, Scenario] => [outcome, scenario])
  })
  return [[operation, facts.audit, scenarios] as const]
})

describe.each([lastBackend])('on $name', (backend) => {
  const env = { BODY_LIMIT_BYTES: `${BODY_BYTES_MAX}` }
  const teams = TwoTeams.forSuite(backend, { env })
  let ids: Ids

  beforeAll(async () => {
    const { slug } = await teams.team.deploy(numberedSpec(1))
    ids = { ...UNKNOWN, slug, model: await teams.team.register(numberedSpec(2)) }
  })

  const newest = async () =>
    (await teams.team.done('GET', '/v1/audit-log?kind=all&limit=1')).records[0]?.id
  const actionsSince = async (last: string) => {
    const { records } = await teams.team.done('GET', '/v1/audit-log?kind=all')
    const ids = records.map(({ id }: { id: string }) => id)
    return records
      .slice(0, ids.indexOf(last))
      .map(({ action }: { action: string }) => action) as string[]
  }

  // A route that nobody has decided on would change or show things without a trace.
  test('each operation of the document says which record it leaves, and what a revocation ends', async () => {
    const { paths } = (await teams.service.call({ method: 'GET', url: '/openapi.json' })).json()
    const documented = Object.values(paths).flatMap((path) =>
      Object.values(path as Record<string, { operationId: string }>).map((one) => one.operationId),
    )
    expect(Object.keys(OPERATION_FACTS).sort()).toEqual([...new Set(documented)].sort())
    const known = new Set(Object.values(ROUTES).map(({ operation }) => operation))
    expect(documented.filter((operation) => !known.has(operation))).toEqual([])
  })

  test.each(AUDITED)('%s leaves its record', async (operation, actions, scenarios) => {
    expect(scenarios.length, operation).toBeGreaterThan(0)
    const found: string[] = []
    for (const [, scenario] of scenarios) {
      const last = await newest()
      const answer = await scenario(teams, ids)
      expect(answer.statusCode, answer.body).toBeLessThan(300)
      found.push(...(await actionsSince(last)))
    }
    expect(
      actions.some((action) => found.includes(action)),
      found.join(),
    ).toBe(true)
  })
})
