/**
 * Loads a service that runs already, with your card and your applicants, and ends with an exit code
 * that a pipeline can use.
 *
 *   npm run bench -- load --url URL --slug SLUG --applicants FILE --keys FILE
 *     [--rate 200,500,1000 | --connections 1,16,64] [options]
 *
 *   --url URL            address of the service, or of what stands in front of it
 *   --slug SLUG          the deployment to score with
 *   --applicants FILE    feature values, as JSON (an array of objects) or NDJSON; sent in turn
 *   --keys FILE          API keys with the scope score, one a line; used in turn
 *   --rate N,N,…         open loop: so many requests a second, whatever becomes of them
 *   --connections N,N,…  closed loop: each connection waits for its answer, then sends the next
 *   --arrivals KIND      of --rate: constant (unless said otherwise) or poisson
 *   --seconds N          for each rate or number of connections (60)
 *   --warm-up N          seconds before each, which count for nothing (5)
 *   --batch N            N applicants in each request (one, and no batch)
 *   --idempotency-keys   a key of its own for each request, as the clients send it
 *   --references         X-Reference-Id, a different one for each request
 *   --allow-warnings     measure although the first answers warn
 *   --json FILE          where to write the figures
 *   --max-p99-ms N       ends with 1 where the p99 is higher
 *   --max-failed N%      ends with 1 where more failed: refusals, and requests without an answer
 *
 * It ends with 0 if all was within the thresholds, with 1 if not or if a rate or number of
 * connections got no answer at all, and with 2 if it could not measure.
 */
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { runClosedLoop } from '../lib/closed-loop.ts'
import { checkAnswers } from '../lib/load-check.ts'
import { findFaults, type LoadFigures, makeFigures } from '../lib/load-figures.ts'
import { type LoadOptions, readLoadOptions } from '../lib/load-options.ts'
import { type LoadPlan, makePlan, readApplicants, readKeys, renew } from '../lib/load-plan.ts'
import { printCheck, printFigures, progressLine } from '../lib/load-report.ts'
import { OpenLoop, type Sent } from '../lib/open-loop.ts'

/** Without a terminal a line stays, so there are fewer. */
const PROGRESS_SECONDS = process.stderr.isTTY ? 1 : 10

/** What a step measured, and what was sent before to warm up. */
interface Step {
  readonly figures: LoadFigures
  readonly warmUp: Pick<Sent, 'sent' | 'answers'>
}

async function play(options: LoadOptions): Promise<readonly string[]> {
  const applicants = readApplicants(options.applicantsFile)
  const keySecrets = readKeys(options.keysFile)
  const plan = makePlan({ ...options, applicants, keySecrets })
  const checked = await checkAnswers(plan, applicants, options.areWarningsExpected)
  printCheck(checked)
  const startedAt = new Date().toISOString()
  const steps: Step[] = []
  for (const step of options.steps) {
    const [warmUp, seen] =
      'rate' in step
        ? await playOpen(plan, step.rate, options)
        : await playClosed(plan, step.connections, options)
    if (process.stderr.isTTY) process.stderr.write('\n')
    const { sent, answers } = warmUp ?? NOTHING
    steps.push({ figures: makeFigures(step, seen), warmUp: { sent, answers } })
  }
  printFigures(steps.map(({ figures }) => figures))
  const faults = steps.flatMap(({ figures }) => findFaults(figures, options.thresholds))
  if (options.jsonFile !== null) {
    const { steps: _, ...asked } = options
    const machine = { node: process.version, cores: availableParallelism() }
    const rows = steps.map(({ figures, warmUp }) => ({ ...figures, warmUp }))
    const counts = { applicants: applicants.length, keys: keySecrets.length }
    const result = { startedAt, ...machine, ...asked, ...counts, checked, steps: rows, faults }
    writeFileSync(options.jsonFile, `${JSON.stringify(result, null, 2)}\n`)
  }
  return faults
}

const NOTHING = { sent: 0, answers: {} }

async function playOpen(plan: LoadPlan, rate: number, options: LoadOptions) {
  const { arrivals, warmUpSec, seconds } = options
  const loop = await OpenLoop.start({ plan: renew(plan), rate, arrivals })
  await setTimeout(1_000 * warmUpSec)
  // What was sent before counts for nothing, also where it is answered later.
  const warmUp = warmUpSec > 0 ? loop.take() : null
  const beganMs = performance.now()
  for (let second = 1; second <= seconds; second++) {
    await setTimeout(beganMs + 1_000 * second - performance.now())
    if (second % PROGRESS_SECONDS === 0) {
      showProgress(progressLine(`${rate}/s`, { second, seconds }, await loop.look()))
    }
  }
  return [await warmUp, await loop.stop()] as const
}

async function playClosed(plan: LoadPlan, connections: number, options: LoadOptions) {
  const { warmUpSec, seconds } = options
  const run = (sec: number, onSecond?: (sent: Sent) => void) =>
    runClosedLoop({ plan: renew(plan), connections, seconds: sec, ...(onSecond && { onSecond }) })
  const warmUp = warmUpSec > 0 ? await run(warmUpSec) : null
  let second = 0
  const seen = await run(seconds, (sent) => {
    second++
    const line = progressLine(`${connections} connections`, { second, seconds }, sent)
    if (second % PROGRESS_SECONDS === 0) showProgress(line)
  })
  return [warmUp, seen] as const
}

function showProgress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
}

const faults = await play(readLoadOptions(process.argv.slice(2)))
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
