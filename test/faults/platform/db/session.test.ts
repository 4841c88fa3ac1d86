import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../../src/platform/db/open.ts'
import { onServer } from '../../../support/global-setup.ts'
import { hasPostgresServer, PostgresServer } from '../../../support/servers/postgres-server.ts'
import { newDataDir } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const SETTINGS = [
  "datestyle = 'SQL, DMY'",
  "bytea_output = 'escape'",
  "default_transaction_isolation = 'serializable'",
  "intervalstyle = 'iso_8601'",
  'extra_float_digits = 0',
  "timezone = 'America/Sao_Paulo'",
  'standard_conforming_strings = off',
  "search_path = 'nowhere'",
]

async function startServer(): Promise<PostgresServer> {
  const server = await PostgresServer.start()
  onTestFinished(() => server.drop())
  return server
}

describe.skipIf(!hasPostgresServer)('on a server of its own', () => {
  test('a cluster that is set the other way round changes no answer', async () => {
    const server = await startServer()
    for (const setting of SETTINGS) await onServer(server.url, `alter system set ${setting}`)
    await onServer(server.url, 'select pg_reload_conf()')
    const service = await TestService.start({
      name: 'PostgreSQL',
      create: async () => ({
        databaseUrl: server.url,
        dataDir: newDataDir(),
        drop: async () => undefined,
      }),
    })
    onTestFinished(() => service.close())
    const owner = await service.signIn()
    const members = await service.call({ method: 'GET', url: '/v1/members', token: owner })
    expect(members.statusCode).toBe(200)
    expect(JSON.stringify(members.json())).toContain('@')
    const create = () =>
      service.call({
        url: '/v1/keys',
        token: owner,
        body: { name: 'once' },
        headers: { 'idempotency-key': 'one-key-for-twenty' },
      })
    const answers = await Promise.all(Array.from({ length: 20 }, create))
    expect(answers.filter(({ statusCode }) => statusCode >= 500)).toEqual([])
    const keys = await service.call({ method: 'GET', url: '/v1/keys', token: owner })
    const named = JSON.stringify(keys.json()).split('"once"').length - 1
    expect(named).toBe(1)
    expect((await create()).statusCode).toBe(201)
  })

  test('a database that is not encoded in UTF8 is refused with a sentence', async () => {
    const server = await startServer()
    const made = "create database latin encoding 'LATIN1' locale 'C' template template0"
    await onServer(server.url, made)
    const url = server.url.replace(/postgres$/, 'latin')
    const opening = openDatabase({ url, directory: newDataDir(), onCrash: () => undefined })
    await expect(opening).rejects.toThrow('its encoding is LATIN1')
  })
})
