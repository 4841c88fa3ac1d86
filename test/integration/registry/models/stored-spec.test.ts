import { hash } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../../src/platform/db/open.ts'
import { PostgresServingStore } from '../../../../src/scoring/store.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { backends } from '../../../support/start/databases.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

// V8's JSON.parse would give one team's spec the property names of another's.
describe.each(backends)('on $name', (backend) => {
  test('a stored spec is read with the names it was sent with, whatever was read before', async () => {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    const kept = { ...backend, create: async () => ({ ...database, drop: async () => {} }) }
    const service = await TestService.start(kept)
    const login = await service.call({ url: '/api/auth/login', body: OWNER })
    const specs = ['a\\', 'a"'].map((name) => ({ ...card([plainFeature('income')]), [name]: 1 }))
    const ids: string[] = []
    for (const spec of specs) {
      const body = { spec, environment: 'production', auto_deploy: false }
      const token = login.json().access_token
      ids.push((await service.call({ url: '/v1/models/deploy', token, body })).json().model_id)
    }
    await service.close()

    const { db, close } = await openDatabase({
      url: database.databaseUrl,
      directory: `${database.dataDir}/postgres`,
      onCrash: (error) => {
        throw error
      },
    })
    onTestFinished(close)
    const store = new PostgresServingStore(db)
    for (const [index, id] of ids.entries()) {
      const stored = await store.readSpec(id)
      expect(stored?.spec).toEqual(specs[index])
      const sha256 = hash('sha256', JSON.stringify(specs[index]), 'buffer')
      expect(Buffer.from(stored?.sha256 ?? []).equals(sha256)).toBe(true)
    }
  })
})
