import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { LoadFigures } from '../../../bench/lib/load-figures.ts'
import { makePlan } from '../../../bench/lib/load-plan.ts'
import { OpenLoop, type Sent } from '../../../bench/lib/open-loop.ts'
import { post } from '../../support/start/process.ts'
import { type RunningService, startWithSample } from '../../support/start/running.ts'
import { ROOT } from '../../support/structure/documents.ts'

/** What was answered is in the log within two seconds; a busy machine may need longer. */
const SHOWN = { timeout: 60_000, interval: 100 }
/** A card that is neither the bench's nor the sample. */
const SPEC = {
  name: 'Boats',
  version: '1',
  target: 'bad',
  base_points: 500,
  features: [
    {
      name: 'metres',
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 8]', points: 20 },
        { range: '(8, Infinity)', points: -5 },
        { range: 'Missing', points: 0 },
      ],
    },
    {
      name: 'hull',
      type: 'categorical',
      bins: [
        { value: 'steel', points: 12 },
        { value: 'wood%,%plywood', points: -7 },
      ],
    },
  ],
  scaling: { base_score: 600, base_odds: 50, pdo: 20 },
}
const APPLICANTS = Array.from({ length: 30 }, (_, at) => ({
  metres: 4 + (at % 9),
  hull: ['steel', 'wood', 'plywood'][at % 3],
}))

interface LoadResult {
  readonly checked: { readonly requests: number; readonly applicants: number }
  readonly steps: readonly (LoadFigures & { readonly warmUp: Pick<Sent, 'sent' | 'answers'> })[]
  readonly faults: readonly string[]
}

let service: RunningService
const cleaners: (() => Promise<void>)[] = []

beforeAll(async () => {
  service = await startWithSample({}, (clean) => void cleaners.push(clean))
})
afterAll(async () => {
  for (const clean of cleaners) await clean()
})

/** A deployment and keys of the test's own, with a folder for files. */
async function prepare(applicants: readonly object[], keys: number, quota = 1_000_000) {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-load-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const order = { spec: SPEC, environment: 'production', auto_deploy: true }
  const { body } = await post(`${service.url}/v1/models/deploy`, order, service.token)
  const { slug } = body['deployment'] as { slug: string }
  const secrets: unknown[] = []
  while (secrets.length < keys) {
    const key = { name: 'load', rate_limit_per_minute: quota }
    secrets.push((await post(`${service.url}/v1/keys`, key, service.token)).body['key'])
  }
  const files = {
    applicants: join(directory, 'applicants.json'),
    keys: join(directory, 'keys'),
    json: join(directory, 'result.json'),
  }
  writeFileSync(files.applicants, JSON.stringify(applicants))
  writeFileSync(files.keys, secrets.join('\n'))
  return { slug, files }
}

/** Runs the command as an operator does. */
async function runLoad(
  { slug, files }: Awaited<ReturnType<typeof prepare>>,
  options: readonly string[],
  url = service.url,
) {
  const given = [
    '--url',
    url,
    '--slug',
    slug,
    '--applicants',
    files.applicants,
    '--keys',
    files.keys,
  ]
  const command = ['bench/run.ts', 'load', ...given, '--json', files.json, ...options]
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  const code = await new Promise((resolve) => child.once('close', resolve))
  const readResult = () => JSON.parse(readFileSync(files.json, 'utf8')) as LoadResult
  return { code, stdout, stderr, readResult }
}

/** The rows of the log, once it has as many. */
async function readLog(slug: string, rows: number) {
  const url = `${service.url}/v1/log/export?format=ndjson&deployment=${slug}`
  const headers = { authorization: `Bearer ${service.token}` }
  let lines: string[] = []
  const count = async () => {
    const text = await (await fetch(url, { headers })).text()
    lines = text.split('\n').filter((line) => line !== '')
    return lines.length
  }
  await expect.poll(count, SHOWN).toBeGreaterThanOrEqual(rows)
  return lines.map((line) => JSON.parse(line) as { reference: string | null })
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const answeredIn = ({ steps }: LoadResult) =>
  sum(steps.map(({ answered, warmUp }) => answered + (warmUp.answers['200'] ?? 0)))

// Figures that count what nobody answered, or miss an answer, say nothing of a service.
test('an open loop sends its rates, and the log has every answer that it counts, once', async () => {
  const prepared = await prepare(APPLICANTS, 3)
  const options = ['--rate', '40,80', '--seconds', '2', '--warm-up', '1', '--max-failed', '0%']
  const run = await runLoad(prepared, [...options, '--idempotency-keys', '--references'])
  expect(run).toMatchObject({ code: 0, stderr: '' })
  const result = run.readResult()
  expect(result.checked).toEqual({ requests: 4, applicants: APPLICANTS.length, warnings: {} })
  expect(result.faults).toEqual([])
  for (const [at, rate] of [40, 80].entries()) {
    const { sent, answered, failed, latencyUs, histogram } =
      result.steps[at] ?? expect.fail('no step')
    // Two seconds, or longer where the machine is busy; a part of them may count as warm-up there.
    expect(sent).toBeGreaterThanOrEqual(1.5 * rate)
    expect({ answered, failed }).toEqual({ answered: sent, failed: 0 })
    expect(sum(histogram.map(({ count }) => count))).toBe(answered)
    expect(latencyUs?.p50).toBeGreaterThan(0)
    expect(latencyUs?.max).toBeGreaterThanOrEqual(latencyUs?.['p99.99'] ?? Infinity)
    expect(run.stdout).toContain(`${rate}/s`)
  }
  const asked = 3 + APPLICANTS.length
  const rows = await readLog(prepared.slug, asked + answeredIn(result))
  expect(rows).toHaveLength(asked + answeredIn(result))
  const loaded = rows.flatMap(({ reference }) =>
    reference?.startsWith('load-') ? [reference] : [],
  )
  expect(new Set(loaded).size).toBe(3 + answeredIn(result))
})

test('a closed loop counts what its connections were answered, and ends with 1 beyond a threshold', async () => {
  const prepared = await prepare(APPLICANTS, 2)
  const options = ['--connections', '2', '--seconds', '2', '--warm-up', '0']
  const run = await runLoad(prepared, [...options, '--max-p99-ms', '0.001'])
  expect(run.code).toBe(1)
  expect(run.stderr).toMatch(/^2 connections: p99 is \S+ ms, at most 0\.001 ms are allowed\n$/)
  const result = run.readResult()
  const [step = expect.fail('no step')] = result.steps
  expect(step).toMatchObject({ rate: null, connections: 2, failed: 0 })
  expect(step.answered).toBeGreaterThan(0)
  // What was under way at the end has no answer that the load tester saw.
  const asked = 2 + APPLICANTS.length
  const rows = await readLog(prepared.slug, asked + step.answered)
  expect(rows.length).toBeLessThanOrEqual(asked + step.sent)
})

test('a refusal is a figure with its code', async () => {
  const prepared = await prepare(APPLICANTS, 1, 50)
  const options = ['--rate', '50', '--seconds', '3', '--warm-up', '0', '--batch', '1']
  const run = await runLoad(prepared, [...options, '--max-failed', '0.1%'])
  expect(run.code).toBe(1)
  expect(run.stderr).toMatch(/^50\/s: \S+% failed, at most 0\.1% may\n$/)
  const [step = expect.fail('no step')] = run.readResult().steps
  const { answers, sent, failed, failedShare } = step
  expect(answers['429 rate_limited']).toBe(failed)
  expect(failed).toBeGreaterThan(0)
  expect(sent).toBe(failed + (answers['200'] ?? 0))
  expect(failedShare).toBeCloseTo(failed / sent)
})

// A load on the wrong card would measure scores that are all the same, and fast.
test.each([
  { name: 'applicants of another card', applicants: [{ age: 30 }], says: 'no_features' },
  { name: 'a feature that all lack', applicants: [{ metres: 5 }], says: 'missing_feature: hull' },
])('$name are refused with 2, unless they are allowed', async ({ applicants, says }) => {
  const prepared = await prepare(applicants, 1)
  const run = await runLoad(prepared, ['--rate', '10', '--seconds', '1', '--warm-up', '0'])
  expect(run.code).toBe(2)
  expect(run.stderr).toMatch(new RegExp(`^1 of the first 1 applicants .*${says}.*\n$`))
  const allowed = ['--rate', '10', '--seconds', '1', '--warm-up', '0', '--allow-warnings']
  expect(await runLoad(prepared, allowed)).toMatchObject({ code: 0, stderr: '' })
})

test('a key that is refused and a service that is away are a sentence each, with 2', async () => {
  const prepared = await prepare(APPLICANTS, 1)
  const away = await runLoad(prepared, ['--rate', '10'], 'http://127.0.0.1:9')
  expect(away).toMatchObject({ code: 2, stdout: '' })
  expect(away.stderr).toMatch(/^no service answers at http:\/\/127\.0\.0\.1:9: \S.*\n$/)
  writeFileSync(prepared.files.keys, 'sk_live_of_nobody')
  const refused = await runLoad(prepared, ['--rate', '10'])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^\S+ answers 401 invalid_api_key to the key sk_live_of_.*\n$/)
})

/** Answers nothing for so long, then all that came meanwhile. */
const STANDSTILL_MS = 1_000
const RATE = 100

// Whoever waits for an answer before the next request sees one slow answer, and a good p99.
test('an open loop charges a service that stands still for each request that was due meanwhile', async () => {
  let opensAtMs = 0
  const server = createServer((request, response) => {
    request.resume()
    void setTimeout(Math.max(0, opensAtMs - performance.now())).then(() => response.end('{}'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const plan = makePlan({
    url: `http://127.0.0.1:${port}`,
    slug: 'any',
    applicants: [{}],
    keySecrets: ['any'],
    batchRecords: null,
    hasIdempotencyKeys: false,
    hasReferences: false,
  })
  const loop = await OpenLoop.start({ plan, rate: RATE, arrivals: 'constant' })
  const sent = async () => (await loop.look()).sent
  await expect.poll(sent, SHOWN).toBeGreaterThan(0)
  await loop.take()
  opensAtMs = performance.now() + STANDSTILL_MS
  await setTimeout(STANDSTILL_MS)
  const seen = await loop.stop()
  expect(seen.answers).toEqual({ 200: seen.sent })
  expect(seen.sent).toBeGreaterThanOrEqual(0.9 * RATE)
  // Not one of them, but a large part waited for long.
  expect(seen.latencyUs.percentile(90)).toBeGreaterThanOrEqual((1_000 * STANDSTILL_MS) / 3)
  expect(seen.latencyUs.max).toBeGreaterThanOrEqual(900 * STANDSTILL_MS)
})
