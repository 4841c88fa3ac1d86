import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DeployResult } from '../../../../schemas/models.ts'
import { expectSuccess, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

describe.each(backends)('copies of models on $name', (backend) => {
  let team: Team

  beforeAll(async () => {
    const service = await TestService.start(backend)
    team = await Team.of(service)
  })
  afterAll(() => team.service.close())

  const copies = (id: string) => `/v1/models/${id}/copies`
  const listParts = async (id: string) => {
    const { body } = await team.call('GET', `/v1/models/${id}`)
    return { model: JSON.parse(body), documents: body.slice(body.indexOf('"spec":')) }
  }

  // What was proven in staging must be what decides in production, to the last bit.
  test('a copy has the specification and the certificate to the byte, and the description', async () => {
    const spec = JSON.stringify(numberedSpec(1, { version: 'copied' })).replace(
      '{',
      '{"zeta":1e300,',
    )
    const sample = 'income,score\\n1,1002\\n'
    const order = `{"spec":${spec},"environment":"staging","auto_deploy":false,"description":"why","sample":"${sample}","accept_unreached":true}`
    const { model_id: id } = await team.done('POST', '/v1/models/deploy', order)
    const body = { environment: 'production', auto_deploy: true }
    const copied = expectSuccess(await team.call('POST', copies(id), body), DeployResult, 201)
    expect(copied).not.toHaveProperty('spec_warnings')
    const [source, copy] = [await listParts(id), await listParts(copied.model_id)]
    expect(copy.documents).toBe(source.documents)
    expect(copy.documents).toContain('"agrees":true')
    expect(copy.model).toMatchObject({
      environment: 'production',
      description: 'why',
      status: 'active',
    })
    expect(await team.score(copied.deployment.slug, { income: 1 })).toMatchObject({ score: 1002 })
    const { records } = await team.done('GET', `/v1/audit-log?subject=${copied.model_id}`)
    expect(records).toMatchObject([{ action: 'model.copy', after: { copied_from: id } }])
  })

  test('a name and version that exist there already are named in spec_warnings', async () => {
    const id = await team.register(numberedSpec(2), 'staging')
    const there = await team.register(numberedSpec(2), 'production')
    const answer = await team.done('POST', copies(id), { environment: 'production' })
    expect(answer.spec_warnings).toEqual([
      {
        path: 'version',
        message: `the model ${there} has this name and version in production already`,
      },
    ])
  })

  test('a copy into the environment of the model is refused, and nothing is registered', async () => {
    const id = await team.register(numberedSpec(3), 'staging')
    const before = (await team.done('GET', '/v1/models')).models.length
    const refused = await team.call('POST', copies(id), { environment: 'staging' })
    expect(formatRefusal(refused)).toMatchObject({
      status: 400,
      details: [{ path: 'environment' }],
    })
    expect((await team.done('GET', '/v1/models')).models).toHaveLength(before)
  })
})
