import { describe, expect, test } from 'vitest'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

/** Several chunks. */
const FILE = `income\n${'1\n'.repeat(120_000)}`

describe.each([lastBackend])('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const as = (token: string, method: 'GET' | 'POST', url: string) =>
    teams.service.call({ method, url, token })

  // A key that leaked would score a portfolio to its end, and its owner could only watch.
  test('a file ends as cancelled once its key is revoked, and says so', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id: keyId, key } = await team.done('POST', '/v1/keys', { name: 'nightly' })
    const sent = await new BatchCaller(teams.service, key).send(slug, FILE)
    expect(sent.statusCode, sent.body).toBe(202)
    expect((await team.call('DELETE', `/v1/keys/${keyId}`)).statusCode).toBe(204)
    const { id } = sent.json()
    const ended = await new BatchCaller(teams.service, team.key).end(id)
    expect(ended).toMatchObject({ status: 'cancelled', error: 'key_revoked' })
    expect(ended.counts.scored).toBeLessThan(120_000)
    const { records } = await team.done('GET', `/v1/audit-log?subject=${id}`)
    expect(records[0]).toMatchObject({ actor: 'service', action: 'batch.cancel' })
  })

  test('a file ends as cancelled once its deployment is switched off', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const batches = new BatchCaller(teams.service, team.key)
    const { id } = (await batches.send(slug, FILE)).json()
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    expect(await batches.end(id)).toMatchObject({
      status: 'cancelled',
      error: 'deployment_inactive',
      message: expect.stringContaining('switched off'),
    })
  })

  // Else a role that may not see files ends them by another name.
  test('the job of a file asks for the role that the file asks for', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const batches = new BatchCaller(teams.service, team.key)
    const { id } = (await batches.send(slug, FILE)).json()
    const refused = '403 insufficient_role'
    for (const role of ['modeler', 'viewer'] as const) {
      const token = teams.readToken(role)
      expect(findOutcome(await as(token, 'GET', `/v1/jobs/${id}`))).toBe(refused)
      expect(findOutcome(await as(token, 'POST', `/v1/jobs/${id}/cancel`))).toBe(refused)
    }
    const auditor = teams.readToken('auditor')
    expect(findOutcome(await as(auditor, 'GET', `/v1/jobs/${id}`))).toBe('200')
    expect(findOutcome(await as(auditor, 'POST', `/v1/jobs/${id}/cancel`))).toBe(refused)
    const lead = teams.readToken('lead_modeler')
    expect(findOutcome(await as(lead, 'POST', `/v1/jobs/${id}/cancel`))).toBe('200')
    expect((await batches.get(id)).status).toBe('cancelled')
  })
})
