import { describe, expect, test } from 'vitest'
import { stepCard } from '../../../support/cards/reason-cards.ts'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'
import { openDuckdb } from '../../../support/suites/sql-engines.ts'

const SQL = 'format=sql&dialect=duckdb&table=applicants'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const exported = (id: string, query: string) =>
    team.call('GET', `/v1/models/${id}/export?${query}`)

  test('the columns of reasons have the codes that the service answers', async () => {
    const { slug, modelId } = await team.deploy(stepCard({ method: 'mean_all' }))
    const applicants = [0, 1, 2].flatMap((a) => [0, 1, 2].map((b) => ({ a, b })))
    await team.scoreBatch(slug, applicants)
    await statsWith(team.service, team.owner, slug, applicants.length)
    const order = { model_id: modelId, method: 'mean_all', min_population: 1 }
    const { id } = await team.done('POST', `/v1/deployments/${slug}/reason-baselines`, order)
    const body = { model_id: modelId, baseline_id: id }
    await team.done('PUT', `/v1/deployments/${slug}/reason-baseline`, body)
    const batch = await team.scoreBatch(slug, applicants, { include_reasons: 4 })
    const statement = (await exported(modelId, `${SQL}&reason_baseline=${id}`)).body
    expect(statement).toContain(`baseline ${id}, 9 applicants`)
    const database = await openDuckdb()
    const columns = ['a', 'b'].map((name) => ({ name, type: 'number' as const }))
    await database.fill(
      columns,
      applicants.map(({ a, b }) => [a, b]),
    )
    const rows = await database.query(
      `SELECT reason_1, reason_2, reason_3, reason_4 FROM (${statement})`,
    )
    await database.close()
    const codes = batch.results.map(({ reasons }: { reasons: { code: string }[] }) =>
      [0, 1, 2, 3].map((at) => reasons[at]?.code ?? null),
    )
    expect(rows.map((row) => Object.values(row))).toEqual(codes)
    expect(codes).toContainEqual(['A', 'B', null, null])
    expect(codes).toContainEqual([null, null, null, null])
    const pmml = (await exported(modelId, `format=pmml&reason_baseline=${id}`)).body
    expect(pmml).toContain('reasonCode="A" baselineScore="10"')
  })

  test('a card that needs a baseline has no reasons without it, unless they are asked for', async () => {
    const id = await team.register(stepCard({ method: 'mean_at_cutoff' }))
    const { body } = await exported(id, SQL)
    expect(body).not.toContain('reason_1')
    expect(body).toContain('-- no columns of reasons: the method mean_at_cutoff needs a baseline')
    const refusal = formatRefusal(await exported(id, `${SQL}&reasons=4`))
    expect(refusal).toMatchObject({ status: 422, error: 'not_exportable' })
    expect(refusal.details?.[0]?.path).toBe('reason_baseline')
    expect((await exported(id, 'format=pmml')).body).toContain('useReasonCodes="false"')
  })

  test('the number of columns is the one that is asked for', async () => {
    const id = await team.register(stepCard({ method: 'max' }))
    const bodies = await Promise.all(
      ['', '&reasons=0', '&reasons=2', '&reasons=10'].map((more) => exported(id, SQL + more)),
    )
    const counts = bodies.map(({ body }) => new Set(body.match(/\breason_\d+\b/g)).size)
    expect(counts).toEqual([4, 0, 2, 10])
    for (const wrong of ['reasons=11', 'reasons=-1', 'reasons=x', 'reason_baseline=']) {
      expect(findOutcome(await exported(id, `${SQL}&${wrong}`)), wrong).toBe('400 invalid_request')
    }
    for (const wrong of ['format=pmml&reasons=2', 'format=spec&reason_baseline=rbl_0']) {
      expect(findOutcome(await exported(id, wrong)), wrong).toBe('400 invalid_request')
    }
    const plain = await team.register({ ...stepCard({}), reasons: undefined })
    const refusal = formatRefusal(await exported(plain, `${SQL}&reasons=4`))
    expect(refusal.details?.[0]).toMatchObject({ path: 'reasons' })
    expect(findOutcome(await exported(plain, SQL))).toBe('200')
  })

  test("a baseline of another model or team answers like one that doesn't exist", async () => {
    const { slug, modelId } = await team.deploy(stepCard({ method: 'mean_all' }))
    await team.score(slug, { a: 1 })
    await statsWith(team.service, team.owner, slug, 1)
    const order = { model_id: modelId, method: 'mean_all', min_population: 1 }
    const { id } = await team.done('POST', `/v1/deployments/${slug}/reason-baselines`, order)
    const query = (baseline: string) => `export?${SQL}&reason_baseline=${baseline}`
    const other = await team.register({ ...stepCard({ method: 'mean_all' }), version: '7' })
    const foreign = await teams.otherTeam.register(stepCard({ method: 'mean_all' }))
    const answers = await Promise.all([
      team.call('GET', `/v1/models/${other}/${query(id)}`),
      teams.otherTeam.call('GET', `/v1/models/${foreign}/${query(id)}`),
      team.call('GET', `/v1/models/${modelId}/${query('rbl_0')}`),
    ])
    expect(answers.map(findOutcome)).toEqual(Array(3).fill('404 baseline_not_found'))
    const texts = answers.map((one) => one.json().message)
    expect(new Set(texts).size).toBe(1)
  })
})
