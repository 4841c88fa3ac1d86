import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeReport } from '../../../src/cli/export.ts'
import { createCliServices } from '../../../src/cli/services.ts'
import { loadConfig } from '../../../src/config.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { findEnvironment, keeping } from '../../support/start/operator.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase
  let id: string

  beforeAll(async () => {
    database = await backend.create()
    const service = await TestService.start(keeping(backend.name, database))
    id = await (await Team.of(service)).register(numberedSpec(1))
    await service.close()
  })
  afterAll(() => database.drop())

  const run = (...args: string[]) =>
    makeReport(args, {
      call: 'scoreline export',
      open: () =>
        createCliServices(loadConfig(findEnvironment(database)), (error) => {
          throw error
        }),
    })

  // The operator belongs to no team, and exports the models of all teams.
  test('a registered model is written to standard output or to a file', async () => {
    const stated = await run('--model', id)
    expect(stated).toEqual({ code: 0, stdout: JSON.stringify(numberedSpec(1)), stderr: '' })
    const file = join(database.dataDir, '..', 'card.pmml')
    const written = await run('--model', id, '--format', 'pmml', '--out', file)
    expect(written).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(readFileSync(file, 'utf8')).toContain('<Scorecard modelName="Ladder"')
  })

  test.each(['mod_none', `nonsense'`, ''])(
    'the model %j does not exist, and the report says so',
    async (model) => {
      const { code, stdout, stderr } = await run('--model', model)
      expect([code, stdout, stderr]).toEqual([1, '', 'There is no model with this id.\n'])
    },
  )

  test("the report names a file that can't be written", async () => {
    const { code, stderr } = await run('--model', id, '--out', join(database.dataDir, 'no', 'x'))
    expect(code).toBe(1)
    expect(stderr).toMatch(/no\/x can't be written: ENOENT/)
  })
})
