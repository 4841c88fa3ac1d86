import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { makeReport } from '../../../../src/cli/batch.ts'
import { jsonLines } from '../../../support/batches/batches.ts'
import { sampleApplicants } from '../../../support/cards/cards.ts'
import { startWithSample } from '../../../support/start/running.ts'

/** A stream that keeps what is written to it. */
class Kept extends Writable {
  text = ''

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += String(chunk)
    done()
  }
}

test('the command line scores a file with a bar, and shows, lists and ends batches', async () => {
  const { url, endpoint, key } = await startWithSample({}, onTestFinished)
  const slug = endpoint.slice(endpoint.lastIndexOf('/') + 1)
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-batch-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'applicants.ndjson')
  const sample = sampleApplicants()
  const lines = sample.map(({ id, applicant }) => JSON.stringify({ id, ...applicant }))
  writeFileSync(file, `${lines.join('\n')}\nno applicant\n`)
  const [out, errors] = [join(directory, 'results.ndjson'), join(directory, 'errors.ndjson')]
  const watcher = new Kept()
  const stdout = new Kept()
  const run = (...args: string[]) =>
    makeReport([...args, '--url', url], { call: 'batch', token: key, stdout, watcher, pollMs: 50 })

  const scoring = ['run', file, '--deployment', slug, '--out', out, '--errors', errors]
  const report = await run(...scoring)
  expect(report, report.stderr).toMatchObject({ code: 0, stdout: '' })
  expect(report.stderr).toMatch(
    /^Batch job_\w+ is done: 1,000 scored, 1 with errors, 0 with warnings/,
  )
  expect(watcher.text).toMatch(/\[#{30}\] 100 %/)
  const results = jsonLines(readFileSync(out, 'utf8'))
  expect(results.map(({ id, score }) => [id, score])).toEqual(
    sample.map(({ id, score }) => [id, score]),
  )
  expect(jsonLines(readFileSync(errors, 'utf8'))).toMatchObject([{ line: lines.length + 1 }])

  const { stdout: id } = await run('run', file, '--deployment', slug, '--no-wait')
  expect((await run('cancel', id.trim())).stdout).toMatch(/ is (cancelled|done): /)
  const listed = await run('list')
  expect(listed.stdout.split('\n')).toHaveLength(4)
  const shown = JSON.parse((await run('show', id.trim(), '--json')).stdout)
  expect(shown).toMatchObject({ id: id.trim(), deployment_id: slug })

  expect(await run('show', 'job_unknown')).toMatchObject({
    code: 1,
    stderr: 'The service answers 404: the team has no such batch, or its results were removed.\n',
  })
  expect((await run('run', directory, '--deployment', slug)).code).toBe(1)
  const unknown = join(directory, 'none.csv')
  expect((await run('run', unknown, '--deployment', slug)).code).toBe(1)
  expect((await run('run')).code).toBe(2)
})

test('without a token the command line says which variable must hold it', async () => {
  const context = { call: 'batch', token: undefined, stdout: new Kept(), watcher: null, pollMs: 1 }
  expect(await makeReport(['list', '--url', 'http://127.0.0.1:1'], context)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'SCORELINE_TOKEN must hold an API key with the scope score, or an access token.\n',
  })
})

// A service that begins anew, or fails over, must not end the watch over an hour of work.
test('a run goes on when the service is away for some looks, and ends with a refusal', async () => {
  const answers = [503, 'lost', 502, 200, 404]
  const batch = { id: 'job_1', status: 'running', progress: { done: 0, total: 0 } }
  const body = { ...batch, finished_at: null, counts: { scored: 0, errors: 0, warned: 0 } }
  const server = createServer(async (request, response) => {
    const answer = request.method === 'POST' ? 202 : answers.shift()
    for await (const _ of request);
    if (answer === 'lost') response.destroy()
    else
      response.writeHead(Number(answer)).end(JSON.stringify({ ...body, message: `no ${answer}` }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-batch-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'applicants.csv')
  writeFileSync(file, 'income\n1\n')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const context = { call: 'batch', token: 'a', stdout: new Kept(), watcher: null, pollMs: 1 }
  const report = await makeReport(['run', file, '--deployment', 'dep_1', '--url', url], context)
  expect(report).toMatchObject({ code: 1, stderr: 'The service answers 404: no 404.\n' })
  expect(answers).toEqual([])
})
