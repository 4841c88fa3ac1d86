import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { formatRefusal } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

describe.each(backends)('exports of access on $name', (backend) => {
  let team: Team

  beforeEach(async () => {
    const service = await TestService.start(backend)
    onTestFinished(() => service.close())
    team = await Team.of(service)
  })

  const lines = async (query = '') => {
    const { body, headers } = await team.call('GET', `/v1/audit-log/export${query}`)
    expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    const texts = body.split('\n').slice(0, -1)
    return texts.map((text) => JSON.parse(text))
  }

  // What a SIEM has missed nobody will look for.
  test('the audit log exports all that the list has, and goes on where the last export ended', async () => {
    for (let number = 0; number < 3; number++) await team.register(numberedSpec(number))
    const { records } = await team.done('GET', '/v1/audit-log')
    const first = await lines()
    expect(first.slice(0, -1)).toEqual(records.toReversed())
    expect(first.at(-1)).toMatchObject({ action: 'audit_log.export', after: { after: null } })
    await team.register(numberedSpec(9))
    const next = await lines(`?after=${first.at(-1).id}`)
    expect(next.map(({ action }) => action)).toEqual(['model.deploy', 'audit_log.export'])
    const unknown = await team.call('GET', '/v1/audit-log/export?after=aud_none')
    expect(formatRefusal(unknown)).toMatchObject({ status: 400, details: [{ path: 'after' }] })
  })

  test('reading a single score and a reference leaves a record, without the reference', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const headers = { 'x-reference-id': 'A-17' }
    const call = { url: `/v1/score/${slug}`, token: team.key, body: { income: 1 }, headers }
    const { request_id } = (await team.service.call(call)).json()
    await statsWith(team.service, team.owner, slug, 1)
    await team.done('GET', `/v1/scores/${request_id}`)
    await team.done('GET', '/v1/scores?reference=A-17')
    const found = (await lines()).slice(-3, -1)
    expect(found).toMatchObject([
      { action: 'score.read', subject: request_id },
      { action: 'score.search', after: { scores: 1 } },
    ])
    expect(JSON.stringify(found)).not.toContain('A-17')
  })

  test('the access review has a row for each member, account and key in force', async () => {
    await team.done('POST', '/v1/service-accounts', { name: '=cmd()', role: 'viewer' })
    const revoked = await team.done('POST', '/v1/keys', { name: 'gone' })
    await team.call('DELETE', `/v1/keys/${revoked.id}`)
    await team.done('POST', '/v1/keys', { name: 'a "quoted", key', scopes: ['score', 'read'] })
    const { body, headers } = await team.call('GET', '/v1/access-review')
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    const rows = body.split('\r\n')
    expect(rows[0]).toBe(
      'kind,id,name,role,scopes,environment,allowed_addresses,created_by,created_at,expires_at,last_used_at',
    )
    expect(rows.slice(1, -1).map((row) => row.split(',')[0])).toEqual([
      ...['member', 'service_account', 'api_key', 'api_key'],
    ])
    // A spreadsheet would run the name as a formula.
    expect(rows[2]).toContain(",'=cmd(),viewer,")
    expect(rows[4]).toContain(',"a ""quoted"", key",,score read,')
    expect(body).not.toContain('gone')
  })
})
