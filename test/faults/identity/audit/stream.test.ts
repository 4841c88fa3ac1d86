import { expect, onTestFinished, test } from 'vitest'
import { post } from '../../../support/start/process.ts'
import { startWithSample } from '../../../support/start/running.ts'

/** The lines of the audit stream among all that a process printed. */
function streamedBy(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line)).filter(({ stream }) => stream === 'audit')
}

// A collector that misses a record, or has one that was rolled back, misleads who investigates.
test('every committed record is streamed once, in the form of the export, and no other', async () => {
  const env = { AUDIT_STREAM: 'stdout', LOG_LEVEL: 'info' }
  const { process, url, token } = await startWithSample(env, onTestFinished)
  const member = { email: 'm@lender.example', password: 'a long password', role: 'viewer' }
  expect((await post(`${url}/v1/members`, member, token)).status).toBe(201)
  expect((await post(`${url}/v1/members`, member, token)).status).toBe(409)
  const headers = { authorization: `Bearer ${token}` }
  const text = await (await fetch(`${url}/v1/audit-log/export`, { headers })).text()
  const exported = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const actions = exported.map(({ action }) => action)
  expect(actions).toContain('member.create')
  expect(actions.at(-1)).toBe('audit_log.export')
  await expect.poll(() => streamedBy(process.stdout).length).toBe(exported.length)
  const streamed = streamedBy(process.stdout)
  const byId = (one: Record<string, unknown>, other: Record<string, unknown>) =>
    String(one['id']) < String(other['id']) ? -1 : 1
  const own = streamed.map(({ stream: _, team_id: team, ...record }) => {
    expect(team).toMatch(/^team_/)
    return record
  })
  expect(own.sort(byId)).toEqual(exported.sort(byId))
})

test('without AUDIT_STREAM nothing is streamed', async () => {
  const { process } = await startWithSample({}, onTestFinished)
  expect(streamedBy(process.stdout)).toEqual([])
})
