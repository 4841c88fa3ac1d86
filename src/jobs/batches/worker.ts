import { parentPort, workerData } from 'node:worker_threads'
import type { CompiledModel } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import {
  type DrainedBlock,
  type Erases,
  encodeByHour,
  hashOfReference,
  withoutReferences,
} from '../../log/index.ts'
import { systemClock } from '../../platform/clock.ts'
import { ChallengerFailures } from '../../scoring/challenger-failures.ts'
import { makeServing } from '../../scoring/make-serving.ts'
import type { ServingDeployment } from '../../scoring/serving.ts'
import { handOver, receiveBytes } from './byte-pipe.ts'
import { checksumAfter } from './checksums.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import { newReader } from './input/new-reader.ts'
import type { ReadBytes, RecordReader } from './input/record.ts'
import type { BatchTask, FromProcess, HandedPortion, ToThread } from './process-messages.ts'

/** Longest read of the service: it is in memory there. */
const READ_BYTES = 1024 * 1024

const task: BatchTask = workerData

let findPlace: () => string | null = () => null

const ready = open()
// Its failure answers the first chunk.
ready.catch(() => undefined)

parentPort?.on('message', async (message: ToThread) => {
  if (message.kind === 'erased') {
    for (const { hash, untilMs } of message.references) erased.set(hash, untilMs)
    return
  }
  try {
    if (message.kind === 'score') await scoreNext(message.requestId, message.scoredAtMs)
    else send({ kind: 'encoded', blocks: await encodedAgain(message.requestId) })
  } catch (error) {
    const isKnown = error instanceof AppError
    send({
      kind: 'failed',
      of: message.kind,
      code: isKnown ? error.code : 'internal_error',
      message: error instanceof Error ? error.message : 'unknown',
    })
  }
})

/** Erased references of the team, by `hashOfReference`: until when they are erased. */
const erased = new Map<string, number>()
/** Records of the last chunks by their requests, for an erasure that comes before their commit. */
const payloads = new Map<string, Buffer>()
/** While one is stored, the next one is scored. */
const PAYLOADS_MAX = 2

interface Open {
  readonly scorer: ChunkScorer
  readonly reader: RecordReader
  readonly models: ReadonlyMap<string, CompiledModel>
}

async function open(): Promise<Open> {
  const { batchId, by, state, specs, options, fileBytes, position } = task
  const deployment = await makeServing(state, {
    store: {
      readSpec: async (modelId) => specs.get(modelId) ?? null,
      // A batch gives no reasons; the log names the baseline of the state.
      baseline: async () => null,
    },
    held: new Map(),
    onFault: () => undefined,
  })
  const failures = new ChallengerFailures(systemClock, () => undefined)
  const scorer = new ChunkScorer({ batchId, by, deployment, options, failures })
  const { features, recordsMax } = scorer
  const { format } = options
  const reader = newReader(format, { read, fileBytes, features, position, recordsMax })
  findPlace = () => reader.place
  return { scorer, reader, models: listModels(deployment) }
}

let isFirst = task.isAtStart

async function scoreNext(requestId: string, scoredAtMs: number): Promise<void> {
  const { scorer, reader } = await ready
  // Results of a file without applicants have a header all the same.
  const portion =
    (await reader.next()) ?? (isFirst ? { records: [], position: task.position } : null)
  if (portion === null) {
    send({ kind: 'chunk', chunk: null })
    return
  }
  const { position, records } = portion
  const { payload, results, errors, ...counts } = scorer.score(records, {
    requestId,
    scoredAtMs,
    isFirst,
  })
  isFirst = false
  if (payload !== null) keep(requestId, payload)
  const { unknownColumns, total } = reader
  const facts = { ...counts, position, unknownColumns, total }
  const chunk: HandedPortion = {
    ...facts,
    blocks: payload === null ? [] : await makeBlocks(payload),
    resultBytes: results.length,
    errorBytes: errors.length,
    resultSum: checksumAfter(results),
    errorSum: checksumAfter(errors),
  }
  send({ kind: 'chunk', chunk })
  handOver(results)
  handOver(errors)
}

function keep(requestId: string, payload: Buffer): void {
  payloads.set(requestId, payload)
  const [oldest] = payloads.keys()
  if (payloads.size > PAYLOADS_MAX && oldest !== undefined) payloads.delete(oldest)
}

/** The log of one of the last chunks with applicants. */
async function encodedAgain(requestId: string): Promise<DrainedBlock[]> {
  const payload = payloads.get(requestId)
  if (payload === undefined) throw new Error('the record of a chunk is no longer here')
  return makeBlocks(payload)
}

/** The log of a chunk, without what is erased by now. */
async function makeBlocks(payload: Buffer): Promise<DrainedBlock[]> {
  const { models } = await ready
  const kept = erased.size === 0 ? payload : withoutReferences(payload, erases).payload
  return encodeByHour([kept], models)
}

const erases: Erases = (teamId, scoredAtMs) => (reference) => {
  const untilMs = erased.get(hashOfReference(teamId, reference))
  return untilMs !== undefined && scoredAtMs <= untilMs
}

/** It waits for each portion: an answer does not say which read it is of. */
const read: ReadBytes = async (from, bytes) => {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let filled = 0
  while (filled < bytes) {
    const portion = whole.subarray(filled, filled + READ_BYTES)
    send({ kind: 'read', from: from + filled, bytes: portion.length, place: findPlace() })
    const found = receiveBytes(portion)
    if (found === null) throw new Error("the file can't be read")
    filled += found
    if (found < portion.length) break
  }
  return whole.subarray(0, filled)
}

function send(message: FromProcess): void {
  parentPort?.postMessage(message)
}

function listModels({ champion, challengers }: ServingDeployment): Map<string, CompiledModel> {
  const all = [champion, ...challengers.flatMap(({ serving }) => serving ?? [])]
  return new Map(all.map(({ modelId, modelScore }) => [modelId, modelScore.model]))
}
