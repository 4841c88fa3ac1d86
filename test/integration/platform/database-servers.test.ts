import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/platform/db/open.ts'
import { startFakePostgres } from '../../support/servers/fake-postgres.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { newDataDir } from '../../support/start/databases.ts'

async function refusalOf(url: string): Promise<string> {
  const opened = openDatabase({
    url,
    directory: join(newDataDir(), 'postgres'),
    onCrash: () => undefined,
  })
  return opened.then(
    (handle) => handle.close().then(() => 'it opened'),
    (error: Error) => error.message,
  )
}

// Its advisory locks do nothing and say nothing: replicas would damage each other's work.
test('CockroachDB is refused by name before anything is written', { timeout: 20_000 }, async () => {
  const port = await startFakePostgres('CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu)')
  const message = await refusalOf(`postgres://user:hush-hush@127.0.0.1:${port}/scoreline`)
  expect(message).toContain('it is CockroachDB, whose advisory locks lock nothing')
  expect(message).not.toContain('hush-hush')
})

// A driver that tries its hosts for ever would leave the start hanging.
test('of several servers that are all away the start says so at once', async () => {
  const [one, other] = [await freePort(), await freePort()]
  const startedMs = performance.now()
  const message = await refusalOf(
    `postgres://user@127.0.0.1:${one},127.0.0.1:${other}/db?target_session_attrs=primary`,
  )
  expect(message).toContain('none of its servers is a primary that can be reached (NO_PRIMARY)')
  expect(performance.now() - startedMs).toBeLessThan(4_000)
})
