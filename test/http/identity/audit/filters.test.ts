import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

describe.each([lastBackend])('the audit log on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const actions = async (query: string): Promise<string[]> => {
    const { records } = await team.done('GET', `/v1/audit-log?${query}`)
    return records.map(({ action }: { action: string }) => action)
  }

  // "Who did that in March" must not need the whole log.
  test('answers who, what and when', async () => {
    const admin = teams.teamUsers.admin.userId
    const token = teams.readToken('admin')
    const start = new Date().toISOString()
    const { slug } = await team.deploy(numberedSpec(1))
    const url = `/v1/deployments/${slug}`
    await teams.service.call({ method: 'PATCH', url, token, body: { name: 'Other' } })
    await team.done('GET', '/v1/scores?reference=nobody')
    const from = `from=${encodeURIComponent(start)}`
    expect(await actions(`${from}&actor=${admin}`)).toEqual(['deployment.update'])
    expect(await actions(`${from}&action=deployment.`)).toEqual([
      ...['deployment.update', 'deployment.create'],
    ])
    expect(await actions(`${from}&action=model.deploy`)).toEqual(['model.deploy'])
    expect(await actions(`to=${encodeURIComponent(start)}&subject=${slug}`)).toEqual([])
    // A search without a hit is a read like any other.
    expect(await actions(`${from}&kind=reads`)).toEqual(['score.search'])
    expect(await actions(from)).not.toContain('score.search')
    expect((await actions(`${from}&kind=all`))[0]).toBe('score.search')
  })

  test('is CSV with the addresses of people, of those who left, too', async () => {
    const { id } = await team.done('POST', '/v1/members', {
      email: 'left@lender.example',
      password: 'a long password',
      role: 'viewer',
    })
    await team.call('DELETE', `/v1/members/${id}`)
    const headers = { accept: 'text/csv' }
    const url = `/v1/audit-log?subject=${id}`
    const csv = await teams.service.call({ method: 'GET', url, token: team.owner, headers })
    const [head, ...rows] = csv.body.split('\r\n')
    expect(head).toBe(
      'id,created_at,actor,actor_email,action,subject,subject_email,reason,before,after',
    )
    expect(rows).toHaveLength(3)
    for (const row of rows.slice(0, 2)) expect(row).toContain(`,${id},left@lender.example,`)
  })

  // Whoever audits must not need a role that may promote models.
  test('is read by an auditor, who reads everything and changes nothing', async () => {
    const token = teams.readToken('auditor')
    const { slug } = await team.deploy(numberedSpec(1))
    const get = (url: string) => teams.service.call({ method: 'GET', url, token })
    for (const url of ['audit-log', 'members', 'keys', 'webhooks', 'service-accounts', 'batches']) {
      expect(findOutcome(await get(`/v1/${url}`)), url).toBe('200')
    }
    const url = `/v1/deployments/${slug}`
    const change = await teams.service.call({ method: 'PATCH', url, token, body: { name: 'x' } })
    expect(findOutcome(change)).toBe('403 insufficient_role')
  })
})
