import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { BatchCaller } from '../../support/batches/batches.ts'
import { findOutcome } from '../../support/expect/answers.ts'
import { lastBackend } from '../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

/** Long enough for a proof of the caller to be due. */
const DUE_MS = 700

describe.each([lastBackend])('a caller who is revoked meanwhile on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  /** Parts that come with a pause between them, in which the caller is revoked. */
  async function* paused<Part>(parts: readonly Part[], revoke: () => Promise<unknown>) {
    for (const [index, part] of parts.entries()) {
      if (index === 1) {
        await revoke()
        await delay(DUE_MS)
      }
      yield part
    }
  }

  const account = async () => {
    const { id, token } = await team.done('POST', '/v1/service-accounts', {
      name: 'exports',
      role: 'admin',
    })
    return { token, revoke: () => team.call('DELETE', `/v1/service-accounts/${id}`) }
  }

  // A dismissed administrator must not go on with the download of the whole log.
  test('gets no further part of an export', async () => {
    const { token, revoke } = await account()
    const { logExports } = teams.service.services
    const original = logExports.export
    logExports.export = async function* () {
      yield* paused(['{"n":1}\n', '{"n":2}\n'], revoke)
    }
    try {
      const url = '/v1/log/export'
      const headers = { authorization: `Bearer ${token}` }
      const read = teams.service.inject({ method: 'GET', url, headers })
      await expect(read).rejects.toThrow()
    } finally {
      logExports.export = original
    }
    const again = await teams.service.call({ method: 'GET', url: '/v1/log/export', token })
    expect(findOutcome(again)).toBe('401 unauthorized')
  })

  test('gets no further part of the results of a file', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id } = await new BatchCaller(teams.service, team.key).score(slug, 'income\n1\n')
    const { id: keyId, key } = await team.done('POST', '/v1/keys', { name: 'reader' })
    const { batches } = teams.service.services
    const original = batches.results
    const revoke = () => team.call('DELETE', `/v1/keys/${keyId}`)
    const parts = [Buffer.from('{"n":1}\n'), Buffer.from('{"n":2}\n')]
    batches.results = async () => ({ format: 'ndjson', chunks: paused(parts, revoke) })
    try {
      const url = `/v1/batches/${id}/results`
      const headers = { authorization: `Bearer ${key}` }
      await expect(teams.service.inject({ method: 'GET', url, headers })).rejects.toThrow()
    } finally {
      batches.results = original
    }
  })
})
