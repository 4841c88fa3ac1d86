import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { BatchStore } from '../../../../src/jobs/batches/store.ts'
import { BatchCaller, csvLine, jsonLines } from '../../../support/batches/batches.ts'
import { findTeam } from '../../../support/batches/example.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const FILE = 'id,income\nA-1,1\nA-2,-1\nA-3,\n'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { env: { BATCH_MAX_BYTES: '1000000' } })
  const { team } = teams
  let caller: BatchCaller
  let teamId: string

  beforeAll(async () => {
    caller = new BatchCaller(teams.service, team.owner)
    teamId = findTeam(team.owner)
  })

  const newDeployment = async (environment = 'production') =>
    (await team.deploy(numberedSpec(1), environment)).slug

  /** Puts a file into the folder of a team. */
  const put = (path: string, text: string, ofTeam = teamId) => {
    const folder = join(teams.service.config.dataDir, 'batches', ofTeam)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  const start = (slug: string, path: string, rest: object = {}) =>
    caller.call('POST', '', { deployment: slug, input: { path }, ...rest })

  test('lines that are no applicants stand apart with their numbers and codes', async () => {
    const slug = await newDeployment()
    const lines = ['{"id":"A-1","income":1}', '{"id":"A-2","income":true}', 'no', '{"income":2}']
    const batch = await caller.score(slug, `${lines.join('\n')}\n`, { format: 'ndjson' })
    expect(batch).toMatchObject({ status: 'done', counts: { scored: 2, errors: 2, warned: 0 } })
    expect(await caller.lines(batch.id, 'errors')).toEqual([
      {
        line: 2,
        id: 'A-2',
        error: 'invalid_request',
        message: 'income must be a number, a text, or null for missing, but is a boolean',
      },
      {
        line: 3,
        id: null,
        error: 'invalid_request',
        message: 'the line is not valid JSON (at line 1, column 1)',
      },
    ])
    const results = await caller.lines(batch.id, 'results')
    expect(results.map(({ line, id, record_index: at }) => [line, id, at])).toEqual([
      [1, 'A-1', 0],
      [4, null, 1],
    ])
  })

  test('every applicant is in the score log and in the statistics', async () => {
    const slug = await newDeployment()
    const batch = await caller.score(slug, FILE, { query: '&results=ndjson' })
    const results = await caller.lines(batch.id, 'results')
    for (const { request_id: requestId, record_index: record, score, pd, id } of results) {
      const logged = await team.done('GET', `/v1/scores/${requestId}?record=${record}`)
      expect(logged).toMatchObject({ is_batch: true, total: 3 })
      expect(JSON.stringify(logged)).toContain(`"${id}"`)
      expect(JSON.stringify(logged)).toContain(`"score":${score}`)
      expect(JSON.stringify(logged)).toContain(`"pd":${pd}`)
    }
    const stats = await team.done('GET', `/v1/deployments/${slug}/stats`)
    expect(stats.summary.total_requests).toBe(3)
    const found = await team.done('GET', '/v1/scores?reference=A-2')
    expect(JSON.stringify(found)).toContain(results[0].request_id)
  })

  test('results as CSV have a header, points and warnings', async () => {
    const slug = await newDeployment()
    const query = '&include_contributions=true'
    const { id } = await caller.score(slug, 'id,income\n"a,b",1\nA-2,what\n', { query })
    const [header, first, second, end] = String(await caller.bytes(id)).split('\r\n')
    expect(header).toBe(
      'line,id,score,risk_grade,pd,points_income,warnings,request_id,record_index',
    )
    expect(first).toMatch(/^2,"a,b",1002,G1,[\d.e-]+,2,,req_\w+,0$/)
    expect(second).toMatch(/^3,A-2,1000,G1,[\d.e-]+,0,"\[\{""type"":""no_bin_match"",/)
    expect(end).toBe('')
  })

  // A promotion amid a portfolio would give one applicant another card than the next.
  test('the state of the deployment at the start scores the whole file', async () => {
    const slug = await newDeployment()
    const challenger = await team.challenge(slug, numberedSpec(2), 10)
    const { cache_version: version } = await team.deployment(slug)
    const response = await caller.send(slug, FILE, { query: '&results=ndjson&routing_key=fixed' })
    await team.promote(slug, challenger.id)
    const batch = await caller.end(response.json().id)
    expect(batch.cache_version).toBe(version)
    const scores = (await caller.lines(batch.id, 'results')).map(({ score }) => score)
    // One model of the live split has the whole file.
    expect([
      [1002, 1001, 1003],
      [2004, 2002, 2006],
    ]).toContainEqual(scores)
  })

  test('in shadow mode every result has the scores of the challengers', async () => {
    const slug = await newDeployment()
    await team.challenge(slug, numberedSpec(2), 10)
    await team.done('PATCH', `/v1/deployments/${slug}/traffic`, {
      action: 'toggle_shadow',
      shadow_mode: true,
    })
    const { id } = await caller.score(slug, FILE, { query: '&results=ndjson' })
    const results = await caller.lines(id, 'results')
    expect(results.map(({ score, shadow_scores: of }) => [score, of[0].score])).toEqual([
      [1002, 2004],
      [1001, 2002],
      [1003, 2006],
    ])
  })

  test('strict mode puts applicants with a missing feature apart', async () => {
    const slug = await newDeployment()
    const batch = await caller.score(slug, FILE, { query: '&strict_mode=true' })
    expect(batch.counts).toEqual({ scored: 2, errors: 1, warned: 0 })
    expect(await caller.lines(batch.id, 'errors')).toEqual([
      {
        line: 4,
        id: 'A-3',
        error: 'strict_mode_violation',
        message: 'income is missing: strict mode wants every feature',
      },
    ])
  })

  test('a file of the folder of the team has its results beside it', async () => {
    const slug = await newDeployment()
    put('portfolio.csv', FILE)
    const batch = await caller.end((await start(slug, 'portfolio.csv')).json().id)
    expect(batch).toMatchObject({
      status: 'done',
      input: { path: 'portfolio.csv' },
      results: { path: `portfolio.csv.${batch.id}`, parts: 1 },
    })
    const folder = join(teams.service.config.dataDir, 'batches', teamId)
    expect(readdirSync(join(folder, batch.results.path ?? ''))).toEqual(['results-000001.csv'])
  })

  test.each([
    '../other.csv',
    'a/../../b.csv',
    '/etc/passwd.csv',
    'a//b.csv',
    'a\\b.csv',
    './a.csv',
  ])('the path %s never leaves the folder of the team', async (path) => {
    const response = await start(await newDeployment(), path)
    expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_request'])
  })

  test('a result and the file of another environment are not there to be scored', async () => {
    const slug = await newDeployment()
    put('mine.csv', FILE)
    const { id } = await caller.end((await start(slug, 'mine.csv')).json().id)
    const response = await start(slug, `mine.csv.${id}/results-000001.csv`)
    const missing = (await start(slug, 'none.csv')).json()
    expect(response.json().message).toBe(missing.message)
    expect([response.statusCode, response.json().error]).toEqual([422, 'invalid_file'])
  })

  test('a path whose results would have too long a name is refused at the start', async () => {
    const path = `${'x'.repeat(230)}.csv`
    const response = await start(await newDeployment(), path)
    expect([response.statusCode, response.json().error]).toEqual([400, 'invalid_request'])
    expect(response.json().message).toContain('its last part may have ')
  })

  test('a link out of the store is not followed', async () => {
    put('inside.csv', FILE)
    const folder = join(teams.service.config.dataDir, 'batches', teamId)
    symlinkSync('/etc/hostname', join(folder, 'outside.csv'))
    const response = await start(await newDeployment(), 'outside.csv')
    expect([response.statusCode, response.json().error]).toEqual([422, 'invalid_file'])
  })

  test("another team's file and batches answer as those that are not there", async () => {
    const slug = await newDeployment()
    const { id } = await caller.score(slug, FILE)
    const other = new BatchCaller(teams.service, teams.otherTeam.key)
    for (const end of ['', '/results', '/errors']) {
      const [foreign, missing] = await Promise.all([
        other.call('GET', `/${id}${end}`),
        other.call('GET', `/job_0VLGm5Tt4Kp8SgDb2XwNq7${end}`),
      ])
      expect(foreign.statusCode).toBe(404)
      expect({ ...foreign.json(), request_id: '' }).toEqual({ ...missing.json(), request_id: '' })
    }
    expect((await other.call('POST', `/${id}/cancel`)).statusCode).toBe(404)
    expect((await other.call('GET', '')).json()).toEqual({ batches: [] })
    expect((await other.send(slug, FILE)).json().error).toBe('deployment_not_found')
    put('theirs.csv', FILE, teams.otherTeamId)
    const theirs = await start(slug, `../../${teams.otherTeamId}/theirs.csv`)
    expect(theirs.statusCode).toBe(400)
  })

  test('a key sees and starts batches of its environment alone', async () => {
    const [production, staging] = [await newDeployment(), await newDeployment('staging')]
    const order = { scopes: ['score'], environment: 'staging' }
    const key = await teams.service.createKey(team.owner, order)
    const keyed = new BatchCaller(teams.service, key)
    expect((await keyed.send(production, FILE)).json().error).toBe('deployment_not_found')
    const { id } = await keyed.score(staging, FILE)
    const { id: hidden } = await caller.score(production, FILE)
    expect((await keyed.call('GET', `/${hidden}`)).statusCode).toBe(404)
    const listed = (await keyed.call('GET', '')).json().batches.map((one: { id: string }) => one.id)
    expect(listed).toContain(id)
    expect(listed).not.toContain(hidden)
  })

  test('the list comes in pages, newest first', async () => {
    const slug = await newDeployment()
    const ids = [await caller.score(slug, FILE), await caller.score(slug, FILE)].map(({ id }) => id)
    const first = (await caller.call('GET', '?limit=1')).json()
    expect(first.batches[0].id).toBe(ids[1])
    const second = (await caller.call('GET', `?limit=1&cursor=${first.next_cursor}`)).json()
    expect(second.batches[0].id).toBe(ids[0])
  })

  test('start and cancellation are in the audit log, also a cancellation of the job', async () => {
    const slug = await newDeployment()
    const lines = Array.from({ length: 40_000 }, (_, row) => csvLine([row, row % 3]))
    const long = `id,income\n${lines.join('')}`
    const sent = [await caller.send(slug, long), await caller.send(slug, long)]
    const [one, other] = sent.map((response) => response.json().id)
    const cancelled = (await caller.call('POST', `/${other}/cancel`)).json()
    expect(cancelled).toMatchObject({ id: other, status: 'cancelled' })
    await team.done('POST', `/v1/jobs/${one}/cancel`)
    // Twice changes nothing.
    await caller.call('POST', `/${other}/cancel`)
    const { records } = await team.done('GET', '/v1/audit-log')
    const actions = (id: string) =>
      records
        .filter(({ subject }: { subject: string }) => subject === id)
        .map(({ action }: { action: string }) => action)
    expect(actions(one)).toEqual(['batch.cancel', 'batch.create'])
    expect(actions(other)).toEqual(['batch.cancel', 'batch.create'])
    // What was scored until then can be read.
    const { counts } = await caller.get(one)
    const rows = String(await caller.bytes(one)).split('\r\n')
    expect(rows.length).toBe(counts.scored === 0 ? 1 : counts.scored + 2)
  })

  test('a file above the bound is refused, sent or named', async () => {
    const slug = await newDeployment()
    const large = `income\n${'1\n'.repeat(500_000)}`
    expect((await caller.send(slug, large)).statusCode).toBe(413)
    put('large.csv', large)
    const named = await start(slug, 'large.csv')
    expect([named.statusCode, named.json().error]).toEqual([422, 'invalid_file'])
  })

  test.each([
    ['', 'no column has the name of a feature of the model: check the header'],
    ['&id_field=number', 'the header has no column "number", which id_field names'],
  ])('a header that does not fit fails the batch with the reason (%s)', async (query, message) => {
    const file = query === '' ? 'a;b\n1;2\n' : 'income\n1\n'
    const batch = await caller.score(await newDeployment(), file, { query })
    expect(batch).toMatchObject({ status: 'failed', error: 'invalid_file', message })
  })

  // The rest of another file would be results of no file at all.
  test('a file that is changed while it is scored fails the batch', async () => {
    const slug = await newDeployment()
    const line = `${JSON.stringify({ income: 1, filler: 'x'.repeat(180) })}\n`
    put('changing.ndjson', line.repeat(4_500))
    const { id } = (await start(slug, 'changing.ndjson')).json()
    put('changing.ndjson', line.replaceAll('x', 'y').repeat(4_500))
    expect(await caller.end(id)).toMatchObject({ status: 'failed', error: 'input_changed' })
  })

  // The answer to a commit can be lost: the file of a batch that is there must stay.
  test('a file stays, and its batch runs, where the answer to the commit was lost', async () => {
    const slug = await newDeployment()
    const add = BatchStore.prototype.add
    const spy = vi.spyOn(BatchStore.prototype, 'add')
    spy.mockImplementationOnce(async function lose(this: BatchStore, ...order) {
      await add.apply(this, order)
      throw new AppError('unavailable', 'the connection is lost')
    })
    const response = await caller.send(slug, FILE)
    spy.mockRestore()
    expect(response.statusCode, response.body).toBe(202)
    expect(await caller.end(response.json().id)).toMatchObject({
      status: 'done',
      counts: { scored: 3 },
    })
  })

  test('a file is not kept in the store where its batch was refused', async () => {
    const slug = await newDeployment()
    const spy = vi.spyOn(BatchStore.prototype, 'add').mockResolvedValueOnce(false)
    const folder = join(teams.service.config.dataDir, 'batches', teamId, 'batches')
    // The first file of the team makes it.
    const before = existsSync(folder) ? readdirSync(folder) : []
    expect((await caller.send(slug, FILE)).statusCode).toBe(503)
    spy.mockRestore()
    const added = readdirSync(folder).filter((name) => !before.includes(name))
    expect(added.flatMap((name) => readdirSync(join(folder, name)))).toEqual([])
    expect(readdirSync(join(teams.service.config.dataDir, 'uploads'))).toEqual([])
  })

  test.each([
    ['text/csv; charset=iso-8859-1', 415],
    ['text/csv; charset="UTF-8"', 202],
    ['multipart/form-data; boundary=x', 415],
  ])('a file of the type %s is answered with %i', async (type, status) => {
    const response = await teams.service.inject({
      method: 'POST',
      url: `/v1/batches/upload?deployment=${await newDeployment()}`,
      headers: { authorization: `Bearer ${caller.token}`, 'content-type': type },
      payload: FILE,
    })
    expect(response.statusCode, response.body).toBe(status)
  })

  test('a file that is compressed as a whole is named so', async () => {
    const batch = await caller.score(await newDeployment(), gzipSync(FILE))
    expect(batch).toMatchObject({
      status: 'failed',
      error: 'invalid_file',
      message: 'the file is compressed by gzip: unpack it first',
    })
  })

  test('references of results as CSV are no formulas, and numbers stay numbers', async () => {
    const slug = await newDeployment()
    const lines = ['{"id":"=1+1","income":1}', '{"id":-7,"income":1}']
    const { id } = await caller.score(slug, `${lines.join('\n')}\n`, {
      format: 'ndjson',
      query: '&results=csv',
    })
    const [, first, second] = String(await caller.bytes(id)).split('\r\n')
    expect(first).toMatch(/^1,'=1\+1,1002,/)
    expect(second).toMatch(/^2,-7,1002,/)
  })

  test('a result has the fields of a batch over HTTP and its place, in every line', async () => {
    const slug = await newDeployment()
    const { id } = await caller.score(slug, FILE, { query: '&results=ndjson' })
    const text = String(await caller.bytes(id))
    for (const line of jsonLines(text)) {
      expect(Object.keys(line)).toEqual([
        ...['id', 'score', 'risk_grade', 'pd', 'warnings', 'line', 'request_id', 'record_index'],
      ])
    }
  })
})
