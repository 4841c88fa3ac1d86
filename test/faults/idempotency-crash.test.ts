import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { IdempotencyStore } from '../../src/http/idempotency/store.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { onServer } from '../support/global-setup.ts'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { newDataDir } from '../support/start/databases.ts'

const newClaim = () => ({ keyHash: randomBytes(32), bodyHash: randomBytes(32), claimId: 'first' })

async function openStore({ url }: PostgresServer): Promise<IdempotencyStore> {
  const onCrash = (error: Error) => expect.fail(error.message)
  const { db, close } = await openDatabase({ url, directory: newDataDir(), onCrash })
  onTestFinished(close)
  return new IdempotencyStore(db)
}

// A claim does not wait for the disk.
test.skipIf(!hasPostgresServer)(
  'after a crash of the server an answer is there, and each key has one request',
  async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    await onServer(server.url, "alter system set wal_writer_delay = '10s'")
    await onServer(server.url, 'select pg_reload_conf()')
    const before = await openStore(server)
    const [answered, ...slow] = Array.from({ length: 5 }, newClaim)
    if (answered === undefined) return expect.fail('there are claims')
    const answer = randomBytes(100)
    await before.claim(answered)
    expect(await before.keep(answered, answer)).toBe(true)
    for (const claim of slow) expect(await before.claim(claim)).toEqual({ held: null })
    await server.stop()
    await server.resume()
    const after = await openStore(server)
    const again = await after.claim({ ...answered, claimId: 'second' })
    expect(again.held?.answer).toEqual(answer)
    for (const claim of slow) {
      const second = { ...claim, claimId: 'second' }
      const isLost = (await after.claim(second)).held === null
      const kept = [await after.keep(claim, answer), await after.keep(second, answer)]
      expect(kept).toEqual([!isLost, isLost])
    }
  },
)
